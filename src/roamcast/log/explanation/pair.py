"""One event at one node: what happened, and, if it was not delivered, why."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from roamcast.log.explanation import text, words
from roamcast.log.explanation.causes import UNKNOWN, Absences, Cause, cause
from roamcast.log.explanation.holders import CONDUCT, Absence, conduct_of_all
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.spread import Spread
from roamcast.log.explanation.timeline import Entry, holder_timeline, timeline

MOST_CLAUSES = 3


@dataclass(frozen=True)
class Neighbour:
    """A node that had the event and met this one then or later, and what it did with the event."""

    node: int
    had_us: int
    way: list[int]
    contact_before_us: int | None
    contact_after_us: int | None
    is_neighbour: bool
    """If not, the two only met later, while the event was valid."""
    conduct: str
    reason: str
    """The label of its decision, if it decided not to send the event."""
    distance_m: float | None
    """When it had the event first; None if the log has no movements."""
    timeline: list[Entry]


@dataclass(frozen=True, repr=False)
class Explanation:
    """What happened to an event at a node. `str` of it is the text for people, `as_dict` has everything as data.

    status      published, got, missed, received (not wanted), not interested, or not counted (see `interest`)
    interest    whether the node had a matching subscription, and whether it counts
    cause       one word, if the node did not get the event: docs/how-to/read-a-log.md lists them
    summary     the answer in a sentence
    timeline    what happened at the node, in order
    way         the nodes over which the first copy came
    path        if no neighbour had it: the nodes from this one to the nearest that had it, which is the last of them
    neighbours  those of the node, or of the one where it stopped, that had it, and what each of them did
    network     how far the event came in all, and what the nodes that had it did
    """

    node: int
    event: int
    name: str
    status: str
    cause: str
    summary: str
    about: str
    interest: str
    network: str
    latency_us: int | None
    way: list[int]
    begins_us: int
    """The publication, or the first row about the event if the log has no publication."""
    is_published: bool
    timeline: list[Entry]
    path: list[int]
    neighbours: list[Neighbour]
    remarks: list[str]

    def __str__(self) -> str:
        return text.explanation(self)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """What `roamcast why --json` prints."""
        return asdict(self)

    def next_question(self) -> dict[str, str]:
        """What to ask next, as options of `roamcast why`: nothing."""
        return {}


def explain_pair(
    spread: Spread,
    node: int,
    links: Links | None,
    absences: Absences,
    subscriptions: list[str],
    distances: dict[int, float | None],
    remarks: list[str],
) -> Explanation:
    """`links` are None if the log has no frames; `subscriptions` are the node's filters at the publication."""
    status = status_of(spread, node)
    why = None if status in ("published", "got", "received") else cause(spread, node, links, absences)
    absent = absences.get(node, [])
    return Explanation(
        node=node,
        event=spread.event,
        name=words.event_name(spread.event),
        status=status,
        cause=why.word if why else "",
        summary=_summary(spread, node, status, why),
        about=about(spread),
        interest=_interest(spread, node, subscriptions, absent),
        network=network(spread),
        latency_us=latency_us(spread, node),
        way=spread.way_to(node) if node in spread.had_us else [],
        begins_us=spread.begins_us,
        is_published=spread.published is not None,
        timeline=timeline(spread, node, absent),
        path=why.path if why else [],
        neighbours=_neighbours(spread, node, why, distances) if why else [],
        remarks=[*_nearest_place(why, distances), *remarks],
    )


def in_short(spread: Spread, node: int, links: Links | None, absences: Absences) -> tuple[str, str, str]:
    """The status, the cause and the summary of an explanation, without the rest of it."""
    status = status_of(spread, node)
    why = None if status in ("published", "got", "received") else cause(spread, node, links, absences)
    return status, why.word if why else "", _summary(spread, node, status, why)


def status_of(spread: Spread, node: int) -> str:
    published = spread.published
    if published is not None and published.publisher == node:
        return "published"
    if node in spread.delivered_us:
        return "got"
    if published is None:
        return "received" if node in spread.had_us else "missed"
    if node in published.interested:
        return "missed"
    if node in published.subscribers:
        return "not counted"
    return "received" if node in spread.had_us else "not interested"


def latency_us(spread: Spread, node: int) -> int | None:
    delivered = spread.delivered_us.get(node)
    return None if delivered is None or spread.published is None else delivered - spread.published.t_us


def _neighbours(spread: Spread, node: int, why: Cause, distances: dict[int, float | None]) -> list[Neighbour]:
    end = why.path[-2] if why.path else node
    return [
        Neighbour(
            holder.node,
            holder.had_us,
            holder.way,
            holder.contact_before_us,
            holder.contact_after_us,
            holder.is_neighbour,
            holder.conduct,
            holder.label,
            distances.get(holder.node) if end == node else None,
            holder_timeline(spread, holder, end, not holder.is_neighbour),
        )
        for holder in why.holders
    ]


def _nearest_place(why: Cause | None, distances: dict[int, float | None]) -> list[str]:
    """If no neighbour had the event, and the log has movements: how far away it was."""
    known = sorted((metres, holder) for holder, metres in distances.items() if metres is not None)
    if why is None or not known or any(holder.is_neighbour for holder in why.holders if not why.path):
        return []
    metres, holder = known[0]
    return [f"By the places of nodes, n{holder} was the nearest that had it: {metres:.0f} m away when it got it."]


# ---- the sentences


def _summary(spread: Spread, node: int, status: str, why: Cause | None) -> str:
    name = f"event {words.event_name(spread.event)}"
    if status == "published":
        sends = spread.sends(node)
        sent = f"sent it {words.times(len(sends))}" if sends else f"{CONDUCT[conduct_of_all(spread, node)[0]]}"
        others = words.counted(len([other for other in spread.had_us if other != node]), "other nodes")
        return f"n{node} published {name} and {sent}; {others} had it."
    if status == "got":
        return _got(spread, node, name)
    copies = spread.at(node, "receive")
    if status == "received" and spread.published is None:
        return f"n{node} received {name} {words.times(len(copies))} and did not deliver it."
    clauses = "; ".join(why.clauses[:MOST_CLAUSES]) if why else ""
    if why and why.word == UNKNOWN:
        fact = "was not interested in" if status == "not interested" else "never delivered"
        return f"n{node} {fact} {name}; {clauses}."
    if status in ("received", "not interested"):
        received = f"received it {words.times(len(copies))}." if copies else f"never received it: {clauses}."
        return f"n{node} was not interested in {name} and {received}"
    if copies:
        return f"n{node} never delivered {name}: {clauses}."
    return f"n{node} never received {name}: {clauses}."


def _got(spread: Spread, node: int, name: str) -> str:
    took = latency_us(spread, node)
    way = spread.way_to(node)
    source = f" from n{way[-2]}" if len(way) > 1 else ""
    when = "" if took is None else f" {words.duration(took)} after its publication"
    hops = f", over {words.counted(len(way) - 1, 'hops')} ({words.way(way)})" if len(way) > 2 else ""
    return f"n{node} got {name}{source}{when}{hops}."


def about(spread: Spread) -> str:
    published = spread.published
    if published is None:
        return f"published by n{spread.publisher}; the log does not have its publication"
    event = published.event
    local = ""
    if published.in_range is not None:
        local = f"; local: for the {words.counted(len(published.in_range), 'nodes')} near its publisher"
    when = f"published by n{published.publisher} at {words.clock(published.t_us)}"
    return f"{when}: {words.content(event)}; {words.validity(event)}{local}"


def _interest(spread: Spread, node: int, subscriptions: list[str], absent: list[Absence]) -> str:
    published = spread.published
    if published is None:
        return "not known, because the log does not have the publication"
    matching = "; ".join(published.filters.get(node, [])[:3])
    if matching and (node in published.interested or node == published.publisher):
        return f"n{node} was interested: {matching}"
    if matching:
        state = next((absence.state for absence in absent if absence.covers(published.t_us)), "")
        why = f"it was {state}" if state else "it was too far from its publisher for a local event"
        return f"n{node} had the subscription {matching}; it does not count, because {why} at the publication"
    if not subscriptions:
        return f"n{node} was not interested: it had no subscription at the publication"
    matches = (
        "its subscription does not match" if len(subscriptions) == 1 else f"none of its {len(subscriptions)} matches"
    )
    return f"n{node} was not interested: {matches} ({'; '.join(subscriptions[:3])})"


def network(spread: Spread) -> str:
    published = spread.published
    parts = []
    if published is not None:
        got, total = len(published.interested & set(spread.delivered_us)), len(published.interested)
        parts.append(
            f"{got:,} of {words.counted(total, 'interested nodes')} got it" if total else "no node was interested"
        )
    did = Counter(conduct_of_all(spread, node) for node in spread.had_us)
    if spread.has_hearers and any(word != "silent" for word, _ in did):
        deeds = [
            f"{n:,} {words.did(CONDUCT[word], label)}"
            for (word, label), n in sorted(did.items(), key=lambda entry: (-entry[1], entry[0]))
        ]
        parts.append(f"{words.counted(len(spread.had_us), 'nodes')} had it: {', '.join(deeds)}")
    return "; ".join(parts)
