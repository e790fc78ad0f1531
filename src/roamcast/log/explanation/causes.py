"""Why an event did not come to a node.

The causes in the order in which they are looked for; the first one that applies gives the word, and the clauses of all
that apply make the summary:

    undelivered     the node received it and did not deliver it
    collision, half-duplex, loss      frames with it were lost at the node
    no-ack, queue   frames with it for the node, or for all in range, were given up by their sender
    asleep, down    a neighbour sent it while this one was absent
    suppressed, dropped, waiting, forwarded, silent      neighbours had it: their last decision, or none
    sent to others  neighbours sent it only to other nodes
    out of range    neighbours sent it, and this one did not hear it

and if no neighbour had it:

    asleep, down    the node was absent as long as the event was on its way
    not sent, not heard     only its publisher ever had it
    alone           no frame went to or from the node while the event was on its way
    met later       the node met one that had it, but too late to be its neighbour
    not reached     it stopped on the way: the summary says where and why
    cut off         no node that frames connected with this one met a node that had it
    not in the log  no row is about the event's way

holders.py defines *neighbour*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from roamcast.log.explanation import words
from roamcast.log.explanation.holders import (
    BY_LAST_DECISION,
    CONDUCT,
    LATELY_US,
    Absence,
    Holder,
    conduct_of_all,
    holders,
)
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.spread import NEVER_US, Spread

UNKNOWN: Final = "not in the log"
Reasons = list[tuple[str, str]]
"""Words and clauses."""
NOT_OF_ITS_OWN: Final = ("sent", "queue", "no-ack")
"""Conduct without a clause here: other clauses say what happened to these frames."""


@dataclass(frozen=True)
class Cause:
    word: str
    clauses: list[str]
    holders: list[Holder]
    """Those that met the node; if the event stopped on the way, those that met the node where it stopped."""
    path: list[int]
    """If it stopped on the way: the links from the node in question to the nearest node that had it."""


Absences = Mapping[int, list[Absence]]


def cause(spread: Spread, node: int, links: Links | None, absences: Absences) -> Cause:
    """Why `node` did not deliver the event; `links` are None if the log has no frames."""
    if links is None:
        return Cause(UNKNOWN, ["the log has no frames that could say why"], [], [])
    absent = absences.get(node, [])
    known = holders(spread, node, links, absent)
    reasons = _from_neighbours(spread, node, [holder for holder in known if holder.is_neighbour])
    if reasons:
        word = reasons[0][0]
        return Cause(word, [clause for _, clause in reasons], [] if word == "undelivered" else known, [])
    return _from_afar(spread, node, links, absences, known)


# ---- neighbours had it, or frames came to the node


def _from_neighbours(spread: Spread, node: int, neighbours: list[Holder]) -> Reasons:
    received = spread.at(node, "receive")
    if received:
        refusals = [row for row in spread.decisions(node) if row.kind in BY_LAST_DECISION]
        why = f": {refusals[-1].kind} ({refusals[-1].reason})" if refusals else "; the log has no decision about it"
        return [("undelivered", f"n{node} received it from n{received[0].peer} and did not deliver it{why}")]
    return [
        *_lost(spread, node),
        *_given_up(spread, node, neighbours),
        *_missed_in_absence(node, neighbours),
        *_kept(node, neighbours),
    ]


def _lost(spread: Spread, node: int) -> Reasons:
    lost = spread.lost(node)
    if not lost:
        return []
    by_reason = Counter(row.reason for row in lost).most_common()
    why = ", ".join(f"{reason} {n}" if len(by_reason) > 1 else reason for reason, n in by_reason)
    senders = list(dict.fromkeys(row.peer for row in lost))
    frames = "the frame" if len(lost) == 1 else words.counted(len(lost), "frames")
    return [(by_reason[0][0], f"n{node} lost {frames} with it from {words.nodes(senders)} ({why})")]


def _given_up(spread: Spread, node: int, neighbours: list[Holder]) -> Reasons:
    """Frames that their sender gave up and that left no trace at the node's radio."""
    numbers = {holder.node for holder in neighbours}
    reasons: Reasons = []
    for word, what in (("no-ack", f"sent it to n{node} and got no acknowledgement"), ("queue", CONDUCT["queue"])):
        senders = [
            sender
            for sender in spread.rows_at
            for row in spread.given_up(sender)
            if row.reason == word and (row.peer == node or (row.peer == -1 and sender in numbers))
        ]
        if senders:
            reasons.append((word, f"{words.nodes(list(dict.fromkeys(senders)))} {what}"))
    return reasons


def _missed_in_absence(node: int, neighbours: list[Holder]) -> Reasons:
    reasons: Reasons = []
    for state in ("asleep", "down"):
        senders = [
            holder.node
            for holder in neighbours
            if any(sending.fate == state and sending.to in (-1, node) for sending in holder.sendings)
        ]
        if senders:
            reasons.append((state, f"n{node} was {state} when {words.nodes(senders)} sent it"))
    return reasons


def _kept(node: int, neighbours: list[Holder]) -> Reasons:
    """What neighbours did instead of sending it to all in range; then those that this node did not hear."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for holder in neighbours:
        grouped.setdefault((holder.conduct, holder.label), []).append(holder.node)
    unheard = grouped.pop(("out of range", ""), [])
    groups = sorted(
        ((key, numbers) for key, numbers in grouped.items() if key[0] not in NOT_OF_ITS_OWN),
        key=lambda group: (group[0][0] == "sent to others", -len(group[1])),
    )
    reasons: Reasons = []
    if groups:
        deeds = [f"{words.nodes(numbers)} {words.did(CONDUCT[word], label)}" for (word, label), numbers in groups]
        title = _neighbours(node, sum(len(numbers) for _, numbers in groups))
        reasons.append((groups[0][0][0], f"{title} {words.together(deeds)}"))
    if unheard:
        senders = f"{_neighbours(node, len(unheard))} {words.nodes(unheard)}"
        reasons.append(("out of range", f"{senders} sent it, and n{node} did not hear it"))
    return reasons


def _neighbours(node: int, number: int) -> str:
    return f"n{node}'s neighbour" + ("s" if number > 1 else "")


# ---- no neighbour had it


def _from_afar(spread: Spread, node: int, links: Links, absences: Absences, later: list[Holder]) -> Cause:
    """`later` are the holders that met the node afterwards."""
    if not spread.had_us:
        return Cause(UNKNOWN, ["the log has no row about its way"], [], [])
    reasons = _absent(spread, node, absences) or _only_its_publisher(spread) or _alone(spread, node, links)
    if not reasons:
        met = _met_holders(spread, links)
        path, connected = links.path(node, met, spread.had_us, *_span(spread))
        if len(path) > 1:
            return _stopped(spread, links, absences, path)
        reasons = [("met later", f"no neighbour of n{node} had it")] if path else [_cut_off(node, connected - 1)]
    return Cause(reasons[0][0], [clause for _, clause in reasons] + _met_later(node, later), later, [])


def _span(spread: Spread) -> tuple[int, int]:
    """The time in which the event was on its way."""
    return spread.begins_us - LATELY_US, min(spread.busy_until_us + LATELY_US, spread.expires_us)


def _met_holders(spread: Spread, links: Links) -> set[int]:
    """The nodes that were in contact with one that had the event."""
    until_us = _span(spread)[1]
    return {
        other
        for holder, had_us in spread.had_us.items()
        for other in links.neighbours(holder, had_us - LATELY_US, until_us)
    }


def _stopped(spread: Spread, links: Links, absences: Absences, path: list[int]) -> Cause:
    """The last node of `path` met nodes that had the event, and did not get it: why?"""
    node, stop = path[0], path[-1]
    known = holders(spread, stop, links, absences.get(stop, []))
    neighbours = [holder for holder in known if holder.is_neighbour]
    whole = [*path, known[0].node]
    hops = words.counted(len(whole) - 1, "hops")
    clauses = (
        [clause for _, clause in _from_neighbours(spread, stop, neighbours)] if neighbours else _met_later(stop, known)
    )
    clause = f"it came as far as n{known[0].node}, {hops} away, and no nearer: {'; '.join(clauses[:2])}"
    return Cause("not reached", [f"no neighbour of n{node} had it", clause], neighbours or known, whole)


def _absent(spread: Spread, node: int, absences: Absences) -> Reasons:
    for absence in absences.get(node, []):
        if absence.covers(spread.begins_us) and absence.covers(spread.busy_until_us):
            since = words.duration(spread.begins_us - absence.from_us)
            is_over = absence.until_us != NEVER_US
            until = (
                f"{words.duration(absence.until_us - spread.begins_us)} after it" if is_over else "the end of the log"
            )
            return [(absence.state, f"n{node} was {absence.state} from {since} before its publication until {until}")]
    return []


def _alone(spread: Spread, node: int, links: Links) -> Reasons:
    if links.neighbours(node, *_span(spread)):
        return []
    return [("alone", f"no frame went to or from n{node} while the event was on its way")]


def _only_its_publisher(spread: Spread) -> Reasons:
    publisher = spread.publisher
    if set(spread.had_us) != {publisher}:
        return []
    sends = spread.sends(publisher)
    if sends:
        return [("not heard", f"its publisher n{publisher} sent it {words.times(len(sends))}, and no node received it")]
    word, label = conduct_of_all(spread, publisher)
    return [("not sent", f"its publisher n{publisher} {words.did(CONDUCT[word], label)}")]


def _cut_off(node: int, others: int) -> tuple[str, str]:
    connected = f"frames connected n{node} with {words.counted(others, 'other nodes')} while the event was on its way"
    return "cut off", f"{connected}, and none of them met a node that had it"


def _met_later(node: int, later: list[Holder]) -> list[str]:
    gaps = [holder.contact_after_us - holder.had_us for holder in later if holder.contact_after_us is not None]
    if not gaps:
        return []
    numbers = words.nodes([holder.node for holder in later])
    soonest = words.duration(min(gaps))
    when = f"{soonest} later" if len(gaps) == 1 else f"later, the first after {soonest}"
    return [f"{numbers}, which had it, met n{node} {when}"]
