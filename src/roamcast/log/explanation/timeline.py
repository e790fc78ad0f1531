"""What happened to an event at a node, in order, one sentence for each thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from roamcast.log.explanation import words
from roamcast.log.explanation.holders import Absence, Holder, Sending
from roamcast.log.explanation.select import DECISION_KINDS
from roamcast.log.explanation.spread import AT_SENDER, NEVER_US, Spread
from roamcast.log.reader import LogRow


@dataclass(frozen=True)
class Entry:
    """Something that happened, or several equal things in a row."""

    t_us: int
    until_us: int
    kind: str
    text: str
    reason: str = ""
    """The label of a decision or a loss."""
    frames: list[int] = field(default_factory=list)
    peers: list[int] = field(default_factory=list)


def timeline(spread: Spread, node: int, absent: list[Absence]) -> list[Entry]:
    """Everything about the event at the node in question."""
    entries = [entry for row in spread.rows_at.get(node, []) for entry in _entry(spread, row)]
    last = max((entry.t_us for entry in entries), default=spread.begins_us)
    until = max([last, *spread.had_us.values()]) if spread.expires_us == NEVER_US else spread.expires_us
    entries += [
        _absence(spread, absence)
        for absence in absent
        if absence.until_us >= spread.begins_us and absence.from_us <= until
    ]
    if spread.expires_us < last:
        entries.append(Entry(spread.expires_us, spread.expires_us, "expired", "the event expires"))
    return folded(entries)


def holder_timeline(spread: Spread, holder: Holder, node: int, is_far: bool) -> list[Entry]:
    """How a node got the event, what it decided, and what happened to its frames at `node`.

    `is_far`: the two only met later, so that the fate of its frames there tells nothing.
    """
    entries = [_arrival(spread, holder)]
    frames = {sending.frame for sending in holder.sendings}
    shown = {row.t for row in spread.rows_at.get(node, []) if row.frame in frames}
    for t in (holder.contact_before_us, holder.contact_after_us):
        if t is not None and t not in shown:
            entries.append(Entry(t, t, "contact", f"a frame between n{holder.node} and n{node}"))
    entries += [_decision(row) for row in spread.decisions(holder.node)]
    entries += [_given_up(row) for row in spread.given_up(holder.node)]
    entries += [_sending(sending, node, is_far) for sending in holder.sendings]
    return folded(entries)


# ---- the sentences


def _entry(spread: Spread, row: LogRow) -> list[Entry]:
    if row.kind == "receive":
        is_first = spread.had_us.get(row.node) == row.t and spread.came_from.get(row.node) == row.peer
        kind = "received" if is_first else "received again"
        text = f"received it from n{row.peer}" if is_first else f"received it again from n{row.peer}"
        return [_of_frame(row, kind, text)]
    if row.kind == "lose":
        return [_given_up(row) if row.reason in AT_SENDER else _lost(spread, row)]
    if row.kind == "overhear":
        to = spread.addressees.get(row.frame, -1)
        text = f"overheard it from n{row.peer}" + (f" to n{to}" if to >= 0 and to != row.node else "")
        return [_of_frame(row, "overheard", text)]
    if row.kind == "send":
        return [_of_frame(row, "sent", _sent(spread, row))]
    if row.kind in DECISION_KINDS:
        return [_decision(row)]
    texts = {"deliver": ("delivered", "delivered it to the application"), "publish": ("published", "published it")}
    return [Entry(row.t, row.t, *texts[row.kind])] if row.kind in texts else []  # repeat: its send row has the frame


def _of_frame(row: LogRow, kind: str, text: str, reason: str = "") -> Entry:
    return Entry(
        row.t, row.t, kind, text, reason, [row.frame] if row.frame else [], [row.peer] if row.peer >= 0 else []
    )


def _decision(row: LogRow) -> Entry:
    return Entry(row.t, row.t, row.kind, words.decision(row), row.reason)


def _given_up(row: LogRow) -> Entry:
    why = "the queue was full" if row.reason == "queue" else "no acknowledgement came"
    return _of_frame(row, "given up", f"gave up sending it to {words.addressee(row.peer)}: {why}", row.reason)


def _lost(spread: Spread, row: LogRow) -> Entry:
    to = spread.addressees.get(row.frame, -1)
    frame = f"a frame from n{row.peer}" + (f" to n{to}" if to >= 0 and to != row.node else "")
    others = spread.colliding.get(row.frame, [])
    which = f" with {'one' if len(others) == 1 else 'frames'} from {words.nodes(others)}" if others else ""
    return _of_frame(row, "lost", f"lost {frame} with it: {words.loss(row.reason)}{which}", row.reason)


def _sent(spread: Spread, row: LogRow) -> str:
    is_repeated = any(other.frame == row.frame for other in spread.at(row.node, "repeat"))
    verb = f"sent it {'again ' if is_repeated else ''}to {words.addressee(row.peer)}"
    if not spread.has_hearers:
        return verb
    hearers, losers = spread.hearers.get(row.frame, []), spread.losers.get(row.frame, [])
    if row.peer >= 0:
        lost = [why for node, why in losers if node == row.peer]
        return f"{verb}: " + (
            "received" if row.peer in hearers else f"lost there ({lost[0]})" if lost else "not received"
        )
    outcome = f"received by {words.nodes(hearers)}" if hearers else "received by no node"
    for why in dict.fromkeys(why for _, why in losers):
        outcome += f"; lost at {words.nodes([node for node, reason in losers if reason == why])} ({why})"
    return f"{verb}: {outcome}"


def _absence(spread: Spread, absence: Absence) -> Entry:
    is_over = absence.until_us != NEVER_US
    end = words.after(absence.until_us - spread.begins_us) if is_over else "the end of the log"
    return Entry(absence.from_us, absence.until_us, absence.state, f"{absence.state} until {end}")


def _arrival(spread: Spread, holder: Holder) -> Entry:
    came_from = spread.came_from.get(holder.node)
    if came_from is None:
        text = "published it" if holder.node == spread.publisher else "had it"
    else:
        hops = len(holder.way) - 1
        far = f", {hops} hops from n{holder.way[0]}" if hops > 1 else ""
        text = f"received it from n{came_from}{far}"
    return Entry(holder.had_us, holder.had_us, "had", text)


def _sending(sending: Sending, node: int, is_far: bool) -> Entry:
    text = f"sent it to {words.addressee(sending.to)}"
    fates = {"": f"n{node} did not hear it", "received": f"n{node} received it", "overheard": f"n{node} overheard it"}
    fates |= {state: f"n{node} was {state}" for state in ("asleep", "down")}
    if not is_far and (sending.to in (-1, node) or sending.fate == "overheard"):
        text += ": " + fates.get(sending.fate, f"n{node} lost it ({sending.fate})")
    return Entry(sending.t_us, sending.t_us, "sent", text, sending.fate, [sending.frame])


# ---- equal things in a row


def folded(entries: Iterable[Entry]) -> list[Entry]:
    """In order of time; equal things that follow each other become one entry."""
    groups: list[list[Entry]] = []
    for entry in sorted(entries, key=lambda entry: entry.t_us):
        if groups and _alike(groups[-1][-1], entry):
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return [_one_of(group) for group in groups]


def _alike(one: Entry, other: Entry) -> bool:
    return one.kind == other.kind and (one.kind in ("received again", "overheard") or one.text == other.text)


def _one_of(group: list[Entry]) -> Entry:
    first, last = group[0], group[-1]
    if len(group) == 1:
        return first
    peers = list(dict.fromkeys(peer for entry in group for peer in entry.peers))
    frames = [frame for entry in group for frame in entry.frames]
    verbs = {"received again": "received it again", "overheard": "overheard it"}
    if first.kind in verbs:
        text = f"{verbs[first.kind]} {words.times(len(group))}, from {words.nodes(peers, 8)}"
    else:
        text = f"{first.text} ({words.times(len(group))})"
    return Entry(first.t_us, last.t_us, first.kind, text, first.reason, frames, peers)
