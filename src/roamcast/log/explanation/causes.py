"""Why an event did not come to a node.

The causes in the order in which they are looked for; the first one that applies gives the word, and the clauses of all
that apply make the summary:

    undelivered     the node received it and did not deliver it
    collision, half-duplex, loss      frames with it were lost at the node
    no-ack, queue   frames with it that were addressed to the node were given up by their sender
    overheard       it was only in frames for other nodes
    asleep, down    a node that had links with this one sent it while this one was absent
    suppressed, dropped, waiting, silent      near nodes had it and did not send it: their last decision, or none
    out of range    near nodes sent it when this one did not hear it
    not sent, not heard     only its publisher ever had it
    alone           no frame went to or from the node while the event was on its way
    not reached     no node near this one had it
    not in the log  no row is about the event's way

A node is *near* if a frame went between it and the node in question while it was busy with the event, or at most
`LATELY_US` before or after that. The log does not have ranges, and at most levels no places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roamcast.log.explanation import words
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.spread import AT_SENDER, NEVER_US, Spread
from roamcast.log.reader import LogRow

LATELY_US: Final = 5_000_000
"""Ours: longer than most beacon periods, and short enough that nodes do not move out of range."""

BY_LAST_DECISION: Final = {"suppress": "suppressed", "drop": "dropped", "delay": "waiting"}
CONDUCT: Final = {
    "sent": "sent it",
    "suppressed": "suppressed it",
    "dropped": "dropped it",
    "waiting": "still waited to send it",
    "silent": "did not send it",
}


@dataclass(frozen=True)
class Absence:
    """From `sleep` to `wake`, or from `crash` to `recover`."""

    state: str
    from_us: int
    until_us: int

    def covers(self, t_us: int) -> bool:
        return self.from_us <= t_us <= self.until_us


@dataclass(frozen=True)
class Holder:
    """A node near the one in question that had the event."""

    node: int
    had_us: int
    way: list[int]
    contact_before_us: int | None
    """The last frame between the two nodes before it had the event."""
    contact_after_us: int | None
    """The first frame between the two afterwards."""
    is_near: bool
    """Whether these frames are near enough in time; otherwise the two only met later, while the event was valid."""
    sent_us: list[int]
    unnoticed_us: list[int]
    """The times of its sends without any row at the node in question."""
    decisions: list[LogRow]

    @property
    def gap_us(self) -> int:
        """The shortest time between having the event and a frame between the two nodes."""
        before = NEVER_US if self.contact_before_us is None else self.had_us - self.contact_before_us
        after = NEVER_US if self.contact_after_us is None else self.contact_after_us - self.had_us
        return min(before, after)


@dataclass(frozen=True)
class Cause:
    word: str
    clauses: list[str]
    holders: list[Holder]
    path: list[int]
    """If no near node had it: the way over links to the nearest node that did."""


def conduct(sent: bool, decisions: list[LogRow]) -> tuple[str, str]:
    """What a node did with the event that it had: a word of `CONDUCT`, and the label of its reason not to send."""
    last = next((row for row in reversed(decisions) if row.kind != "note"), None)
    if sent or last is None or last.kind not in BY_LAST_DECISION:
        return "sent" if sent else "silent", ""
    return BY_LAST_DECISION[last.kind], last.reason


def absences(rows: Iterable[LogRow]) -> dict[int, list[Absence]]:
    """When each node slept or was down; `rows` are those of faults, in order."""
    began: dict[tuple[int, str], int] = {}
    ended: dict[int, list[Absence]] = {}
    for row in rows:
        state = "asleep" if row.kind in ("sleep", "wake") else "down"
        if row.kind in ("sleep", "crash"):
            began.setdefault((row.node, state), row.t)
        elif (row.node, state) in began:
            ended.setdefault(row.node, []).append(Absence(state, began.pop((row.node, state)), row.t))
    for (node, state), t in began.items():
        ended.setdefault(node, []).append(Absence(state, t, NEVER_US))
    return ended


def cause(spread: Spread, node: int, links: Links | None, absent: list[Absence]) -> Cause:
    """Why `node` did not deliver the event; `links` are None if the log has no frames."""
    if links is None:
        return Cause("not in the log", ["the log has no frames that could say why"], [], [])
    known = holders(spread, node, links)
    near = [holder for holder in known if holder.is_near]
    reasons = [
        *_at_the_node(spread, node),
        *_given_up(spread, node),
        *_missed_in_absence(spread, node, links, absent),
        *_kept_back(near),
        *_out_of_range(node, near, absent),
    ]
    path: list[int] = []
    if not reasons:
        reasons, path = _from_afar(spread, node, links, known)
    return Cause(reasons[0][0], [clause for _, clause in reasons], known, path)


def holders(spread: Spread, node: int, links: Links) -> list[Holder]:
    """The nodes that had the event and were in contact with `node` near that time, or later while it was valid."""
    own = spread.rows_at.get(node, [])
    noticed = {row.frame for row in own if row.kind in ("receive", "lose", "overhear")}
    known: list[Holder] = []
    for holder in links.of(node):
        had = spread.had_us.get(holder)
        if had is None or holder == node:
            continue
        before, after = links.meeting(node, holder, had)
        busy_until = max(had, *(row.t for row in spread.rows_at[holder]))
        is_near = any(
            t is not None and had - LATELY_US <= t <= min(busy_until + LATELY_US, spread.expires_us)
            for t in (before, after)
        )
        if not is_near and (after is None or after > spread.expires_us):
            continue
        sends = spread.sends(holder)
        unnoticed = [row.t for row in sends if row.frame not in noticed]
        known.append(
            Holder(
                holder,
                had,
                spread.way_to(holder),
                before,
                after,
                is_near,
                [row.t for row in sends],
                unnoticed,
                spread.decisions(holder),
            )
        )
    return sorted(known, key=lambda holder: (not holder.is_near, holder.gap_us, holder.node))


# ---- the causes, one by one: (word, clause)

Reasons = list[tuple[str, str]]


def _at_the_node(spread: Spread, node: int) -> Reasons:
    """Frames with the event that came to the node's radio."""
    rows = spread.rows_at.get(node, [])
    if any(row.kind == "receive" for row in rows):
        refusals = [row for row in spread.decisions(node) if row.kind in BY_LAST_DECISION]
        why = f": {refusals[-1].kind} ({refusals[-1].reason})" if refusals else ""
        return [("undelivered", f"it received it and did not deliver it{why}")]
    lost = [row for row in rows if row.kind == "lose" and row.reason not in AT_SENDER]
    reasons: Reasons = []
    if lost:
        by_reason = Counter(row.reason for row in lost)
        why = ", ".join(f"{reason} {n}" if len(by_reason) > 1 else reason for reason, n in by_reason.most_common())
        senders = list(dict.fromkeys(row.peer for row in lost))
        frames = "the frame" if len(lost) == 1 else words.counted(len(lost), "frames")
        reasons.append(
            (by_reason.most_common(1)[0][0], f"it lost {frames} with it from {words.nodes(senders)} ({why})")
        )
    elif any(row.kind == "overhear" for row in rows):
        senders = list(dict.fromkeys(row.peer for row in rows if row.kind == "overhear"))
        reasons.append(("overheard", f"it heard it only in frames of {words.nodes(senders)} for other nodes"))
    return reasons


def _given_up(spread: Spread, node: int) -> Reasons:
    """Frames for the node that their sender gave up, although the node's radio noticed nothing."""
    reasons: Reasons = []
    for word, what in (("no-ack", "got no acknowledgement"), ("queue", "had no room in the queue")):
        senders = [
            sender
            for sender, rows in spread.rows_at.items()
            if any(row.kind == "lose" and row.peer == node and row.reason == word for row in rows)
        ]
        if senders:
            reasons.append((word, f"{words.nodes(senders)} sent it to n{node} and {what}"))
    return reasons


def _missed_in_absence(spread: Spread, node: int, links: Links, absent: list[Absence]) -> Reasons:
    """An absent node has no rows about frames, so frames before and after its absence show which nodes were near."""
    for absence in absent:
        near = links.neighbours(node, absence.from_us - LATELY_US, absence.until_us + LATELY_US)
        senders = [
            peer
            for peer in sorted(near)
            if any(row.peer in (-1, node) and absence.covers(row.t) for row in spread.sends(peer))
        ]
        if senders:
            return [(absence.state, f"it was {absence.state} when {words.nodes(senders)} sent it")]
    return []


def _kept_back(near: list[Holder]) -> Reasons:
    grouped: dict[tuple[str, str], list[int]] = {}
    for holder in near:
        word, label = conduct(bool(holder.sent_us), holder.decisions)
        if word != "sent":
            grouped.setdefault((word, label), []).append(holder.node)
    largest_first = sorted(grouped.items(), key=lambda entry: -len(entry[1]))
    return [
        (word, f"{words.nodes(numbers)} had it and {CONDUCT[word]}" + (f" ({label})" if label else ""))
        for (word, label), numbers in largest_first
    ]


def _out_of_range(node: int, near: list[Holder], absent: list[Absence]) -> Reasons:
    def present(t_us: int) -> bool:
        return not any(absence.covers(t_us) for absence in absent)

    senders = [holder.node for holder in near if any(map(present, holder.unnoticed_us))]
    return [("out of range", f"{words.nodes(senders)} sent it when n{node} did not hear it")] if senders else []


def _from_afar(spread: Spread, node: int, links: Links, later: list[Holder]) -> tuple[Reasons, list[int]]:
    """No node near the one in question had the event; `later` are those that met it afterwards."""
    if not spread.had_us:
        return [("not in the log", "the log has no row about its way")], []
    met = _met_later(node, later)
    if set(spread.had_us) == {spread.event >> 32}:
        return [_only_its_publisher(spread), *met], []
    begins, until = spread.begins_us - LATELY_US, min(spread.busy_until_us + LATELY_US, spread.expires_us)
    if not links.neighbours(node, begins, until):
        return [("alone", f"no frame went to or from n{node} while the event was on its way"), *met], []
    path = links.path_to_nearest(node, set(spread.had_us), begins, until)
    if path:
        clause = f"no node near n{node} had it; the nearest that did is n{path[-1]}, {len(path) - 1} hops away"
    else:
        clause = f"no node that n{node} could hear had it, nor any node behind those"
    return [("not reached", clause), *met], path


def _met_later(node: int, later: list[Holder]) -> Reasons:
    if not later:
        return []
    numbers = [holder.node for holder in later]
    soonest = words.duration(min(holder.gap_us for holder in later))
    return [("met later", f"{words.nodes(numbers)} had it, and met n{node} {soonest} later at the earliest")]


def _only_its_publisher(spread: Spread) -> tuple[str, str]:
    publisher = spread.event >> 32
    sends = spread.sends(publisher)
    if sends:
        return (
            "not heard",
            f"its publisher n{publisher} sent it {words.times(len(sends))}, and no node heard it",
        )
    refusals = [row for row in spread.decisions(publisher) if row.kind in BY_LAST_DECISION]
    why = f" ({refusals[-1].kind}: {refusals[-1].reason})" if refusals else ""
    return "not sent", f"its publisher n{publisher} did not send it{why}"
