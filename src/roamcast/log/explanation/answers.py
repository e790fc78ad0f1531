"""Questions to a log, and what is computed once for all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from roamcast.errors import InputError
from roamcast.log.explanation import words
from roamcast.log.explanation.causes import Absence, absences
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.lists import EventAtNodes, Events, EventsAtNode, list_events, missed_first, outcome
from roamcast.log.explanation.pair import Explanation, about, explain_pair, reach
from roamcast.log.explanation.places import Places
from roamcast.log.explanation.select import (
    DECISION_KINDS,
    EVENT_KINDS,
    FRAME_KINDS,
    event_rows,
    events_rows,
    of_kinds,
    rows_about,
)
from roamcast.log.explanation.spread import Spread
from roamcast.log.interest import FAULTS, KINDS, Audience, PublishedEvent, published_events
from roamcast.protocols import registry

Answer = Explanation | EventAtNodes | EventsAtNode | Events

NEEDS_FRAMES: Final = "The log has no frames, so it cannot explain why: write it with --level frames (or full)."
OWN_CLOCKS: Final = "Times are those of each node's own clock; `roamcast lab field` makes one log with one clock."
NO_PUBLICATIONS: Final = "The log has no publications; --node N lists the events that a node got."


class Answers:
    def __init__(self, table: Any, name: str, merged: bool) -> None:
        """`name` is what people call the log; `merged` if its rows come from several files."""
        self._table = table
        self._name = name
        self._merged = merged

    def answer(self, node: int | str | None, event: int | str | None) -> Answer:
        if not self._table.num_rows:
            raise InputError(f"{self._name} has no rows: it is of level summary; `why` needs a log of level frames")
        declare_sentences()
        number = None if node is None else self._known_node(words.node_of(node))
        id = None if event is None else self._known_event(words.event_of(event))
        if number is not None and id is not None:
            return self._pair(number, id)
        if number is not None:
            return self._events_at_node(number)
        return self._events() if id is None else self._event_at_nodes(id)

    def _events(self) -> Events:
        pairs = of_kinds(self._table, ("deliver",))
        delivered = zip(pairs["event"].to_pylist(), pairs["node"].to_pylist(), strict=True)
        events = self._published()
        return list_events(events, delivered, self._remarks() + ([] if events else [NO_PUBLICATIONS]))

    def _pair(self, node: int, event: int) -> Explanation:
        spread = self._spread(event)
        places = Places(of_kinds(self._table, ("move",)))
        distances = {holder: places.distance_m(node, holder, had_us) for holder, had_us in spread.had_us.items()}
        absent = self._absences.get(node, [])
        subscriptions = self._subscriptions(node, event)
        return explain_pair(spread, node, self._links, absent, subscriptions, distances, self._remarks())

    def _event_at_nodes(self, event: int) -> EventAtNodes:
        spread = self._spread(event)
        interested = spread.published.interested if spread.published else set()
        nodes = sorted(interested | set(spread.delivered_us))
        outcomes = [outcome(spread, node, self._links, self._absences.get(node, [])) for node in nodes]
        return EventAtNodes(
            words.event_name(event), about(spread), missed_first(outcomes), [*reach(spread)[1:], *self._remarks()]
        )

    def _events_at_node(self, node: int) -> EventsAtNode:
        import pyarrow.compute as pc

        events = self._published()
        deliveries = of_kinds(self._table, ("deliver",))
        delivered = set(deliveries.filter(pc.equal(deliveries["node"], node))["event"].to_pylist())
        concerned = [id for id, e in events.items() if node in e.interested or node == e.publisher or id in delivered]
        concerned += sorted(delivered - set(events))
        rows = events_rows(self._table, node, {id for id in concerned if id not in delivered})
        absent = self._absences.get(node, [])
        outcomes = [
            outcome(Spread(id, events.get(id), rows.get(id, []), len(self._nodes) > 1), node, self._links, absent)
            for id in concerned
        ]
        return EventsAtNode(node, missed_first(outcomes), self._remarks())

    # ---- parts of the answers

    def _published(self, only: int = 0) -> dict[int, PublishedEvent]:
        return published_events(rows_about(self._table, KINDS), only)

    def _spread(self, event: int) -> Spread:
        return Spread(event, self._published(event).get(event), event_rows(self._table, event), len(self._nodes) > 1)

    @cached_property
    def _links(self) -> Links | None:
        """None if the log has no frames."""
        return Links(self._table) if of_kinds(self._table, (*FRAME_KINDS, *DECISION_KINDS)).num_rows else None

    @cached_property
    def _absences(self) -> dict[int, list[Absence]]:
        return absences(rows_about(self._table, FAULTS))

    def _subscriptions(self, node: int, event: int) -> list[str]:
        """The filters of a node when an event was published, or at the end of the log if it has no such row."""
        audience = Audience()
        for row in rows_about(self._table, KINDS):
            if row.kind == "publish" and row.event == event:
                break
            audience.take(row)
        return [text for (subscriber, _), text in audience.subscriptions.items() if subscriber == node]

    def _remarks(self) -> list[str]:
        remarks = [NEEDS_FRAMES] if self._links is None else []
        return remarks + ([OWN_CLOCKS] if len(self._nodes) > 1 and self._merged else [])

    @cached_property
    def _nodes(self) -> list[int]:
        """The nodes that have a row of their own."""
        import pyarrow.compute as pc

        return sorted(pc.unique(self._table["node"]).to_pylist())

    def _known_node(self, node: int) -> int:
        import pyarrow.compute as pc

        if node not in self._nodes and not pc.any(pc.equal(self._table["peer"], node)).as_py():
            known = (
                f"it has n{self._nodes[0]} to n{self._nodes[-1]}"
                if len(self._nodes) > 1
                else f"it is of n{self._nodes[0]}"
            )
            raise InputError(f"node {node}: the log {self._name} has no row about it; {known}")
        return node

    def _known_event(self, event: int) -> int:
        import pyarrow.compute as pc

        named = of_kinds(self._table, EVENT_KINDS)["event"]
        if pc.any(pc.equal(named, event)).as_py():
            return event
        own = [id for id in self._published() if id >> 32 == event >> 32]
        known = (
            f"n{event >> 32} published {words.event_name(own[0])} to {words.event_name(own[-1])}"
            if own
            else (f"n{event >> 32} published none")
        )
        raise InputError(f"event {words.event_name(event)}: the log {self._name} has no row about it; {known}")


def declare_sentences() -> None:
    """Reasons are declared when a protocol is loaded, and a log does not name its protocol."""
    for name in registry.BUILT_IN:
        registry.get(name)
