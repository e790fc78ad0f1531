"""Nodes that had an event and met the node in question, and what each of them did with the event.

A holder is a *neighbour* if a frame went between the two nodes while it was busy with the event, or at most `LATELY_US`
before or after that. A log does not have ranges, and at most levels no places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roamcast.log.explanation.links import Links
from roamcast.log.explanation.spread import NEVER_US, Spread
from roamcast.log.reader import LogRow

LATELY_US: Final = 5_000_000
"""Ours: longer than most beacon periods, and short enough that nodes do not move far."""

BY_LAST_DECISION: Final = {"suppress": "suppressed", "drop": "dropped", "delay": "waiting"}
CONDUCT: Final = {
    "sent": "sent it",
    "queue": "had no room for it in the queue",
    "no-ack": "sent it and got no acknowledgement",
    "suppressed": "suppressed it",
    "dropped": "dropped it",
    "waiting": "still waited to send it",
    "forwarded": "decided to send it, but no frame with it was received",
    "silent": "did not send it",
    "sent to others": "sent it only to other nodes",
    "out of range": "sent it out of range",
}
"""What a node that had the event did with it; what matters most to the node in question comes first."""


@dataclass(frozen=True)
class Absence:
    """From `sleep` to `wake`, or from `crash` to `recover`."""

    state: str
    from_us: int
    until_us: int

    def covers(self, t_us: int) -> bool:
        return self.from_us <= t_us <= self.until_us


@dataclass(frozen=True)
class Sending:
    """A frame with the event that a holder sent."""

    t_us: int
    frame: int
    to: int
    """The addressee; -1 for all in range."""
    fate: str
    """At the node in question: received, overheard, the reason of its loss, asleep, down; empty if it left no trace."""


@dataclass(frozen=True)
class Holder:
    node: int
    had_us: int
    way: list[int]
    contact_before_us: int | None
    """The last frame between the two nodes before it had the event."""
    contact_after_us: int | None
    """The first frame between the two afterwards."""
    is_neighbour: bool
    """If not, the two only met later, while the event was valid."""
    sendings: list[Sending]
    conduct: str
    """A word of `CONDUCT`."""
    label: str
    """The label of its reason, if it decided not to send."""

    @property
    def gap_us(self) -> int:
        """The shortest time between having the event and a frame between the two nodes."""
        before = NEVER_US if self.contact_before_us is None else self.had_us - self.contact_before_us
        after = NEVER_US if self.contact_after_us is None else self.contact_after_us - self.had_us
        return min(before, after)


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


def window(spread: Spread, holder: int) -> tuple[int, int]:
    """The time in which a contact with a holder makes it a neighbour."""
    had = spread.had_us[holder]
    busy_until = max(had, spread.rows_at[holder][-1].t)
    return had - LATELY_US, min(busy_until + LATELY_US, spread.expires_us)


def holders(spread: Spread, node: int, links: Links, absent: list[Absence]) -> list[Holder]:
    """Neighbours first, those before others whose conduct matters more; then the ones that were met later, in order."""
    traces = _traces(spread, node)
    known: list[Holder] = []
    for other in links.all_neighbours(node):
        if other in spread.had_us and other != node:
            meeting = links.meeting(node, other, spread.had_us[other])
            from_us, until_us = window(spread, other)
            is_neighbour = any(t is not None and from_us <= t <= until_us for t in meeting)
            if is_neighbour or (meeting.after_us is not None and meeting.after_us <= spread.expires_us):
                sendings = [_sending(row, traces, absent) for row in spread.sends(other)]
                did, label = _conduct(spread, node, other, links, sendings)
                way = spread.way_to(other)
                known.append(Holder(other, spread.had_us[other], way, *meeting, is_neighbour, sendings, did, label))
    return sorted(known, key=_by_importance)


def _by_importance(holder: Holder) -> tuple[bool, int, int, int]:
    if holder.is_neighbour:
        return False, list(CONDUCT).index(holder.conduct), holder.gap_us, holder.node
    return True, 0, holder.contact_after_us or 0, holder.node


def conduct_of_all(spread: Spread, node: int) -> tuple[str, str]:
    """What a node did with an event that it had, for any other node: a word of `CONDUCT`, and its reason's label."""
    if spread.sends(node):
        return "sent", ""
    given_up = spread.given_up(node)
    return (given_up[-1].reason, "") if given_up else decided(spread.decisions(node))


def decided(decisions: list[LogRow]) -> tuple[str, str]:
    """The conduct by the last decision of a node that sent no frame with the event, as far as the log knows."""
    last = next((row for row in reversed(decisions) if row.kind != "note"), None)
    if last is None or last.kind == "forward":
        return ("silent" if last is None else "forwarded"), ""
    return BY_LAST_DECISION[last.kind], last.reason


def _traces(spread: Spread, node: int) -> dict[int, str]:
    """By frame: what happened to it at the node's radio."""
    words = {"receive": "received", "overhear": "overheard"}
    return {row.frame: words.get(row.kind, row.reason) for row in spread.at(node, "receive", "overhear", "lose")}


def _sending(row: LogRow, traces: dict[int, str], absent: list[Absence]) -> Sending:
    absence = next((absence.state for absence in absent if absence.covers(row.t)), "")
    return Sending(row.t, row.frame, row.peer, traces.get(row.frame, absence))


def _conduct(spread: Spread, node: int, other: int, links: Links, sendings: list[Sending]) -> tuple[str, str]:
    """What `other` did with the event, as far as `node` could have got it from there."""
    for_node = [sending for sending in sendings if sending.to in (-1, node)]
    if any(sending.fate for sending in for_node):
        return "sent", ""
    given_up = [row for row in spread.given_up(other) if row.peer in (-1, node)]
    if given_up:
        return given_up[-1].reason, ""
    if not sendings:
        return decided(spread.decisions(other))
    for word, frames in (("out of range", for_node), ("sent to others", sendings)):
        if any(_in_contact(links, node, other, sending.t_us) for sending in frames):
            return word, ""
    return _before_it_left(spread, node, other, links, sendings[0].t_us) or (
        "out of range" if for_node else "sent to others",
        "",
    )


def _in_contact(links: Links, node: int, other: int, t_us: int) -> bool:
    return any(t is not None and abs(t - t_us) <= LATELY_US for t in links.meeting(node, other, t_us))


def _before_it_left(spread: Spread, node: int, other: int, links: Links, sent_us: int) -> tuple[str, str] | None:
    """Whether `other` decided against the event while `node` was its neighbour; it sent it only later, elsewhere."""
    contact = links.meeting(node, other, sent_us).before_us
    if contact is None:
        return None
    word, label = decided([row for row in spread.decisions(other) if row.t <= contact + LATELY_US])
    return (word, label) if word in ("suppressed", "dropped") else None
