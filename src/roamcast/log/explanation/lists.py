"""The short answers: all events of a log; one event at all nodes; all events at one node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from roamcast.log.explanation import text, words
from roamcast.log.explanation.causes import Absence, cause
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.pair import latency_us, status_of
from roamcast.log.explanation.spread import Spread
from roamcast.log.interest import PublishedEvent

MOST_ROWS: Final = 30


@dataclass(frozen=True)
class EventLine:
    event: int
    name: str
    t_us: int
    publisher: int
    content: str
    interested: int
    got: int


@dataclass(frozen=True, repr=False)
class Events:
    """All events of a log; those that the most nodes missed come first."""

    events: list[EventLine]
    remarks: list[str]

    def __str__(self) -> str:
        interested, got = sum(line.interested for line in self.events), sum(line.got for line in self.events)
        lines = [
            f"{words.counted(len(self.events), 'events')}; {got:,} of {interested:,} (event, interested node) pairs "
            "delivered. The events that the most nodes missed come first."
        ]
        heading = ("event", "published", "by", "got it", "interested", "content")
        rows = [
            (e.name, words.clock(e.t_us), f"n{e.publisher}", str(e.got), str(e.interested), e.content)
            for e in self.events[:MOST_ROWS]
        ]
        return _shown(lines, heading, rows, len(self.events), self.remarks)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Outcome:
    """One event at one node. `cause` is a word of causes.py if the node missed the event."""

    event: int
    name: str
    t_us: int
    node: int
    publisher: int
    status: str
    latency_us: int | None
    came_from: int
    cause: str


@dataclass(frozen=True, repr=False)
class EventAtNodes:
    """One event at every node that was interested in it or delivered it; those that missed it first."""

    name: str
    about: str
    nodes: list[Outcome]
    remarks: list[str]

    def __str__(self) -> str:
        missed = [outcome for outcome in self.nodes if outcome.status == "missed"]
        got = len(self.nodes) - len(missed)
        lines = [
            f"Event {self.name}, {self.about}.",
            f"{words.counted(got, 'nodes')} got it; {len(missed):,} missed it{_causes(missed)}.",
        ]
        rows = [(f"n{o.node}", o.status, _took(o), _source(o), o.cause) for o in self.nodes[:MOST_ROWS]]
        return _shown(lines, ("node", "result", "after", "from", "cause"), rows, len(self.nodes), self.remarks)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, repr=False)
class EventsAtNode:
    """Every event that a node was interested in, delivered or published; those that it missed first."""

    node: int
    events: list[Outcome]
    remarks: list[str]

    def __str__(self) -> str:
        missed = [outcome for outcome in self.events if outcome.status == "missed"]
        counts = Counter(outcome.status for outcome in self.events)
        published = words.counted(counts["published"], "events")
        got = f"of others' events it got {counts['got']:,} and missed {len(missed):,}"
        lines = [f"n{self.node} published {published}; {got}{_causes(missed)}."]
        rows = [
            (o.name, words.clock(o.t_us), f"n{o.publisher}", o.status, _took(o), _source(o), o.cause)
            for o in self.events[:MOST_ROWS]
        ]
        heading = ("event", "published", "by", "result", "after", "from", "cause")
        return _shown(lines, heading, rows, len(self.events), self.remarks)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def list_events(events: dict[int, PublishedEvent], delivered: Iterable[tuple[int, int]], remarks: list[str]) -> Events:
    """`delivered` has the pairs (event, node) of deliver rows."""
    got: Counter[int] = Counter()
    for event, node in set(delivered):
        if event in events and node in events[event].interested:
            got[event] += 1
    lines = [
        EventLine(id, words.event_name(id), e.t_us, e.publisher, words.content(e.event), len(e.interested), got[id])
        for id, e in events.items()
    ]
    return Events(sorted(lines, key=lambda line: (line.got - line.interested, line.t_us)), remarks)


def outcome(spread: Spread, node: int, links: Links | None, absent: list[Absence]) -> Outcome:
    """`links` are None if the log has no frames."""
    status = status_of(spread, node)
    word = cause(spread, node, links, absent).word if status == "missed" else ""
    publisher = spread.event >> 32
    name = words.event_name(spread.event)
    came_from = spread.came_from.get(node, -1)
    return Outcome(
        spread.event, name, spread.begins_us, node, publisher, status, latency_us(spread, node), came_from, word
    )


def missed_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    order = ("missed", "got", "published")
    return sorted(outcomes, key=lambda o: (order.index(o.status), o.t_us, o.node))


def _causes(missed: list[Outcome]) -> str:
    counts = Counter(outcome.cause for outcome in missed)
    return ": " + ", ".join(f"{word} {n}" for word, n in counts.most_common()) if missed else ""


def _took(outcome: Outcome) -> str:
    return "" if outcome.latency_us is None else words.duration(outcome.latency_us)


def _source(outcome: Outcome) -> str:
    return "" if outcome.came_from < 0 else f"n{outcome.came_from}"


def _shown(
    lines: list[str], heading: Sequence[str], rows: Sequence[Sequence[str]], total: int, remarks: list[str]
) -> str:
    table = text.columns(heading, rows) if rows else []
    rest = [f"… and {total - len(rows):,} more; --json has them all"] if total > len(rows) else []
    return "\n".join([*lines, *([""] if table else []), *table, *rest, *remarks])
