"""One event at one node: what happened, and, if it was not delivered, why."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from roamcast.log.explanation import text, words
from roamcast.log.explanation.causes import CONDUCT, Absence, Cause, cause, conduct
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.spread import AT_SENDER, NEVER_US, Spread
from roamcast.log.reader import LogRow


@dataclass(frozen=True)
class Entry:
    """Something that happened to the node, or several equal things in a row."""

    t_us: int
    until_us: int
    what: str
    text: str
    frames: list[int]
    peers: list[int]


@dataclass(frozen=True)
class NearNode:
    """A node that had the event and was in contact with this one then or later, and what it did with the event."""

    node: int
    had_us: int
    way: list[int]
    contact_before_us: int | None
    contact_after_us: int | None
    is_near: bool
    sent_us: list[int]
    decisions: list[Entry]
    distance_m: float | None


@dataclass(frozen=True, repr=False)
class Explanation:
    """What happened to an event at a node. `str` of it is the text for people."""

    node: int
    event: int
    name: str
    status: str
    """published, got, received (without interest), missed, or not interested."""
    cause: str
    """One word, if the event was not delivered: the table in causes.py."""
    summary: str
    about: str
    interest: str
    latency_us: int | None
    way: list[int]
    begins_us: int
    """The publication, or the first row about the event if the log has no publication."""
    is_published: bool
    timeline: list[Entry]
    near: list[NearNode]
    remarks: list[str]

    def __str__(self) -> str:
        return text.explanation(self)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def explain_pair(
    spread: Spread,
    node: int,
    links: Links | None,
    absent: list[Absence],
    subscriptions: list[str],
    distances: dict[int, float | None],
    remarks: list[str],
) -> Explanation:
    """`links` are None if the log has no frames; `subscriptions` are the node's filters at the publication."""
    status = status_of(spread, node)
    why = None if status in ("published", "got") else cause(spread, node, links, absent)
    if status == "received" and why is not None and why.word == "undelivered":
        why = Cause("", [], [], [])  # the timeline shows everything
    return Explanation(
        node=node,
        event=spread.event,
        name=words.event_name(spread.event),
        status=status,
        cause=why.word if why else "",
        summary=_summary(spread, node, status, why),
        about=about(spread),
        interest=_interest(spread, node, subscriptions),
        latency_us=latency_us(spread, node),
        way=spread.way_to(node) if node in spread.had_us else [],
        begins_us=spread.begins_us,
        is_published=spread.published is not None,
        timeline=_timeline(spread, node, absent),
        near=_near(why, distances),
        remarks=[*reach(spread), *_nearest(spread, why), *remarks],
    )


def status_of(spread: Spread, node: int) -> str:
    published = spread.published
    if published is not None and published.publisher == node:
        return "published"
    if node in spread.delivered_us:
        return "got"
    if published is not None and node not in published.subscribers:
        return "received" if node in spread.had_us else "not interested"
    return "missed"


def latency_us(spread: Spread, node: int) -> int | None:
    delivered = spread.delivered_us.get(node)
    return None if delivered is None or spread.published is None else delivered - spread.published.t_us


# ---- the summary


def _summary(spread: Spread, node: int, status: str, why: Cause | None) -> str:
    name = f"event {words.event_name(spread.event)}"
    reached = len([other for other in spread.had_us if other != node])
    if status == "published":
        sends = spread.sends(node)
        sent = f"sent it {words.times(len(sends))}" if sends else "never sent it"
        return f"n{node} published {name} and {sent}; {words.counted(reached, 'other nodes')} had it."
    if status == "got":
        took = latency_us(spread, node)
        way = spread.way_to(node)
        hops = words.counted(len(way) - 1, "hops")
        by = f" from n{way[-2]}, over {hops} ({words.way(way)})" if len(way) > 1 else ""
        return f"n{node} got {name}{'' if took is None else f' {words.duration(took)} after its publication'}{by}."
    if status == "received":
        copies = [row for row in spread.rows_at[node] if row.kind == "receive"]
        return f"n{node} was not interested in {name}; it received it {words.times(len(copies))}."
    clauses = "; ".join(why.clauses[:3]) if why else ""
    if status == "not interested":
        return f"n{node} was not interested in {name} and never received it: {clauses}."
    return f"n{node} never got {name}: {clauses}."


def about(spread: Spread) -> str:
    published = spread.published
    if published is None:
        return f"published by n{spread.event >> 32}; the log does not have its publication"
    event = published.event
    scope = (
        "" if published.in_range is None else f", local ({words.counted(len(published.in_range), 'nodes')} in range)"
    )
    when = f"published by n{published.publisher} at {words.clock(published.t_us)}"
    return f"{when}: {words.content(event)}; {words.validity(event)}{scope}"


def _interest(spread: Spread, node: int, subscriptions: list[str]) -> str:
    published = spread.published
    if published is None:
        return "not known: the log does not have the publication of the event"
    matching = published.filters.get(node, [])
    if not matching:
        if not subscriptions:
            return "no: it had no subscription"
        which = (
            "its subscription does not match"
            if len(subscriptions) == 1
            else f"none of its {len(subscriptions)} matches"
        )
        return f"no: {which} ({'; '.join(subscriptions[:3])})"
    yes = f"yes: {'; '.join(matching[:3])}"
    if node in published.interested or node == published.publisher:
        return yes
    if published.in_range is not None and node not in published.in_range:
        return f"{yes}; but the event is local and n{node} was not in range, so no metric counts it"
    return f"{yes}; but n{node} was asleep or down at that moment, so no metric counts it"


def reach(spread: Spread) -> list[str]:
    """How far the event spread, and what the nodes that had it did with it."""
    published = spread.published
    lines = []
    if published is not None:
        got = len(published.interested & set(spread.delivered_us))
        total = len(published.interested)
        lines.append(
            f"{got:,} of {words.counted(total, 'interested nodes')} got it." if total else "No node was interested."
        )
    did = Counter(conduct(bool(spread.sends(node)), spread.decisions(node)) for node in spread.had_us)
    if spread.has_hearers and any(word != "silent" for word, _ in did):
        parts = [
            f"{n:,} {CONDUCT[word]}" + (f" ({label})" if label else "")
            for (word, label), n in sorted(did.items(), key=lambda entry: (-entry[1], entry[0]))
        ]
        actions = words.together(parts) if len(parts) > 1 else f"all of them {parts[0].partition(' ')[2]}"
        lines.append(f"{words.counted(len(spread.had_us), 'nodes')} had it; {actions}.")
    return lines


def _nearest(spread: Spread, why: Cause | None) -> list[str]:
    if why is None or not why.path:
        return []
    nearest = why.path[-1]
    since = words.after(spread.had_us[nearest] - spread.begins_us)
    way = words.way(why.path, "–")
    lines = [f"The nearest node that had it is n{nearest} (since {since} s), by the links {way}."]
    decisions = spread.decisions(nearest)
    sends = len(spread.sends(nearest))
    if sends:
        lines.append(f"n{nearest} sent it {words.times(sends)}.")
    elif decisions:
        lines.append(f"n{nearest}: {words.decision(decisions[-1])}.")
    return lines


# ---- what happened, in order


def _timeline(spread: Spread, node: int, absent: list[Absence]) -> list[Entry]:
    entries = [entry for row in spread.rows_at.get(node, []) for entry in _entries(spread, row)]
    last = max((entry.t_us for entry in entries), default=spread.begins_us)
    until = max([last, *spread.had_us.values()]) if spread.expires_us == NEVER_US else spread.expires_us
    for absence in absent:
        if absence.until_us >= spread.begins_us and absence.from_us <= until:
            forever = absence.until_us == NEVER_US
            end = "the end of the log" if forever else words.after(absence.until_us - spread.begins_us)
            entries.append(
                Entry(absence.from_us, absence.until_us, absence.state, f"{absence.state} until {end}", [], [])
            )
    if spread.expires_us < last:
        entries.append(Entry(spread.expires_us, spread.expires_us, "expired", "the event expires", [], []))
    return _folded(sorted(entries, key=lambda entry: entry.t_us))


def _entries(spread: Spread, row: LogRow) -> list[Entry]:
    what, sentence = _sentence(spread, row)
    if not sentence:
        return []
    return [Entry(row.t, row.t, what, sentence, [row.frame] if row.frame else [], [row.peer] if row.peer >= 0 else [])]


def _sentence(spread: Spread, row: LogRow) -> tuple[str, str]:
    frame = f"frame {row.frame}"
    if row.kind == "receive":
        first = spread.had_us.get(row.node) == row.t and spread.came_from.get(row.node) == row.peer
        if first:
            return "received", f"received the first copy, from n{row.peer} ({row.reason} {frame})"
        return "received again", f"received it again from n{row.peer} ({row.reason} {frame})"
    if row.kind == "lose" and row.reason in AT_SENDER:
        to = "everybody in range" if row.peer < 0 else f"n{row.peer}"
        why = "the queue was full" if row.reason == "queue" else "no acknowledgement came"
        return "given up", f"gave up sending it to {to}: {why}"
    if row.kind == "lose":
        return "lost", f"lost a frame with it from n{row.peer} ({frame}): {row.reason}"
    if row.kind == "overhear":
        return "overheard", f"overheard it from n{row.peer}: {row.reason} ({frame})"
    if row.kind == "send":
        return "sent", _sent(spread, row)
    if row.kind == "repeat":
        return "", ""  # the send row before it has the frame
    if row.kind == "deliver":
        return "delivered", "delivered it to the application"
    if row.kind == "publish":
        return "published", "published it"
    return row.kind, words.decision(row)


def _sent(spread: Spread, row: LogRow) -> str:
    repeated = any(r.kind == "repeat" and r.frame == row.frame for r in spread.rows_at[row.node])
    verb = "sent it again" if repeated else "sent it"
    hearers = spread.hearers.get(row.frame, [])
    losers = spread.losers.get(row.frame, [])
    to = "everybody in range" if row.peer < 0 else f"n{row.peer}"
    if not spread.has_hearers:
        return f"{verb} to {to} ({row.reason} frame {row.frame})"
    outcome = f"received by {words.nodes(hearers)}" if hearers else "received by no node"
    for why in dict.fromkeys(why for _, why in losers):
        outcome += f"; lost at {words.nodes([node for node, reason in losers if reason == why])} ({why})"
    return f"{verb} to {to} ({row.reason} frame {row.frame}): {outcome}"


def _folded(entries: list[Entry]) -> list[Entry]:
    """Equal entries that follow each other become one."""
    folded: list[Entry] = []
    group: list[Entry] = []
    for entry in [*entries, None]:
        if entry is not None and (not group or _alike(group[-1], entry)):
            group.append(entry)
            continue
        folded.append(_one_of(group)) if group else None
        group = [] if entry is None else [entry]
    return folded


def _alike(one: Entry, other: Entry) -> bool:
    if one.what in ("received again", "overheard"):
        return one.what == other.what
    return one.what == other.what and one.text == other.text


def _one_of(group: list[Entry]) -> Entry:
    first, last = group[0], group[-1]
    if len(group) == 1:
        return first
    peers = list(dict.fromkeys(peer for entry in group for peer in entry.peers))
    frames = [frame for entry in group for frame in entry.frames]
    verbs = {"received again": "received it again", "overheard": "overheard it"}
    if first.what in verbs:
        sentence = f"{verbs[first.what]} {len(group)} times, from {words.nodes(peers, 8)}"
    else:
        sentence = f"{first.text} ({len(group)} times)"
    return Entry(first.t_us, last.t_us, first.what, sentence, frames, peers)


def _near(why: Cause | None, distances: dict[int, float | None]) -> list[NearNode]:
    if why is None:
        return []
    return [
        NearNode(
            holder.node,
            holder.had_us,
            holder.way,
            holder.contact_before_us,
            holder.contact_after_us,
            holder.is_near,
            holder.sent_us,
            _folded([Entry(row.t, row.t, row.kind, words.decision(row), [], []) for row in holder.decisions]),
            distances.get(holder.node),
        )
        for holder in why.holders
    ]
