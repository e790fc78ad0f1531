"""The short answers: all events of a log; one event at all nodes; all events at one node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from roamcast.log.explanation import text, words
from roamcast.log.explanation.causes import Absences, cause
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
    interested: int | None
    """None if the log does not have the publication."""
    got: int
    """Of the interested nodes, or of all if these are not known."""

    @property
    def share(self) -> str:
        return f"{self.got:,}" if self.interested is None else f"{self.got:,} of {self.interested:,}"


@dataclass(frozen=True, repr=False)
class Events:
    """All events of a log; those that the most nodes missed come first."""

    events: list[EventLine]
    remarks: list[str]

    def __str__(self) -> str:
        heading = ("event", "published", "got it", "content")
        rows = [(e.name, words.clock(e.t_us), e.share, e.content) for e in self.events[:MOST_ROWS]]
        return _shown([self._summary()], heading, rows, len(self.events), self.remarks)

    def _summary(self) -> str:
        number = words.counted(len(self.events), "events")
        known = [line for line in self.events if line.interested is not None]
        if not known:
            return f"{number}; the log does not have their publications."
        interested, got = sum(line.interested or 0 for line in known), sum(line.got for line in known)
        pairs = f"{got:,} of {interested:,} (event, interested node) pairs were delivered"
        return f"{number}; {pairs}. The events that the most nodes missed come first."

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def next_question(self) -> dict[str, str]:
        return {"event": self.events[0].name} if self.events else {}


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
    """One event at every node that was interested in it or delivered it; those that missed it come first."""

    event: int
    name: str
    about: str
    network: str
    nodes: list[Outcome]
    remarks: list[str]

    def __str__(self) -> str:
        missed = [outcome for outcome in self.nodes if outcome.status == "missed"]
        lines = [f"Event {self.name}, {self.about}.", f"{self.network[:1].upper()}{self.network[1:]}."]
        if missed:
            lines.append(f"{words.counted(len(missed), 'nodes')} missed it: {_causes(missed)}.")
        rows = [(f"n{o.node}", o.status, _took(o), _source(o), o.cause) for o in self.nodes[:MOST_ROWS]]
        return _shown(lines, ("node", "result", "after", "from", "cause"), rows, len(self.nodes), self.remarks)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def next_question(self) -> dict[str, str]:
        return {"event": self.name, "node": str(self.nodes[0].node)} if self.nodes else {}


@dataclass(frozen=True, repr=False)
class EventsAtNode:
    """Every event that a node was interested in, delivered or published; those that it missed come first."""

    node: int
    events: list[Outcome]
    remarks: list[str]

    def __str__(self) -> str:
        rows = [(o.name, words.clock(o.t_us), o.status, _took(o), _source(o), o.cause) for o in self.events[:MOST_ROWS]]
        heading = ("event", "published", "result", "after", "from", "cause")
        return _shown([self._summary()], heading, rows, len(self.events), self.remarks)

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def next_question(self) -> dict[str, str]:
        return {"event": self.events[0].name, "node": str(self.node)} if self.events else {}

    def _summary(self) -> str:
        counts = Counter(outcome.status for outcome in self.events)
        missed = [outcome for outcome in self.events if outcome.status == "missed"]
        published = words.counted(counts["published"], "events") if counts["published"] else "no events"
        if not counts["got"] and not missed:
            return f"n{self.node} published {published}, and no event of other nodes interested it."
        got = f"Of the events of other nodes that interested it, it got {counts['got']:,} and missed {len(missed):,}"
        return f"n{self.node} published {published}. {got}{f': {_causes(missed)}' if missed else ''}."


def list_events(
    events: dict[int, PublishedEvent],
    first_us: dict[int, int],
    delivered: Iterable[tuple[int, int]],
    remarks: list[str],
) -> Events:
    """`first_us` has the first row about each event, `delivered` the pairs (event, node) of deliver rows."""
    got: Counter[int] = Counter()
    for event, node in set(delivered):
        if event not in events or node in events[event].interested:
            got[event] += 1
    lines = [
        EventLine(id, words.event_name(id), e.t_us, e.publisher, words.content(e.event), len(e.interested), got[id])
        for id, e in events.items()
    ]
    lines += [
        EventLine(id, words.event_name(id), t_us, id >> 32, "not in the log", None, got[id])
        for id, t_us in first_us.items()
        if id not in events
    ]
    return Events(sorted(lines, key=lambda line: (line.got - (line.interested or line.got), line.t_us)), remarks)


def outcome(spread: Spread, node: int, links: Links | None, absences: Absences) -> Outcome:
    """`links` are None if the log has no frames."""
    status = status_of(spread, node)
    word = cause(spread, node, links, absences).word if status == "missed" else ""
    publisher = spread.event >> 32
    name = words.event_name(spread.event)
    came_from = spread.came_from.get(node, -1)
    return Outcome(
        spread.event, name, spread.begins_us, node, publisher, status, latency_us(spread, node), came_from, word
    )


def missed_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    order = ("missed", "not counted", "got", "published")
    return sorted(outcomes, key=lambda o: (order.index(o.status), o.t_us, o.node))


def _causes(missed: list[Outcome]) -> str:
    return ", ".join(f"{word} {n:,}" for word, n in Counter(outcome.cause for outcome in missed).most_common())


def _took(outcome: Outcome) -> str:
    return "" if outcome.latency_us is None else words.duration(outcome.latency_us)


def _source(outcome: Outcome) -> str:
    return "" if outcome.came_from < 0 else f"n{outcome.came_from}"


def _shown(
    sentences: list[str], heading: Sequence[str], rows: Sequence[Sequence[str]], total: int, remarks: list[str]
) -> str:
    lines = [line for sentence in sentences for line in text.wrapped(sentence)]
    table = ["", *text.columns(heading, rows)] if rows else []
    rest = [f"… and {total - len(rows):,} more; --json has them all"] if total > len(rows) else []
    notes = ["", *(line for remark in remarks for line in text.wrapped(remark))] if remarks else []
    return "\n".join([*lines, *table, *rest, *notes])
