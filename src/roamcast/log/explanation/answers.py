"""Questions to a log, and what is computed once for all of them."""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property
from typing import Any, Final

from roamcast.errors import InputError
from roamcast.log.explanation import words
from roamcast.log.explanation.holders import Absence, absences
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.lists import EventAtNodes, Events, EventsAtNode, list_events, missed_first, outcome
from roamcast.log.explanation.pair import Explanation, about, explain_pair, in_short, network
from roamcast.log.explanation.places import Places
from roamcast.log.explanation.select import DECISION_KINDS, EVENT_KINDS, FRAME_KINDS, Columns
from roamcast.log.explanation.spread import Spread
from roamcast.log.interest import FAULTS, KINDS, Audience, PublishedEvent, published_events
from roamcast.log.reader import LogRow
from roamcast.protocols import registry

Answer = Explanation | EventAtNodes | EventsAtNode | Events

NEEDED: Final = "write it with --level frames or full (in a campaign file and in Python: level)"
NEEDS_FRAMES: Final = f"The log has no frames: no node sent any, or its level is deliveries. To see more, {NEEDED}."
OWN_CLOCKS: Final = "Times are those of each node's own clock; `roamcast lab field` makes one log with one clock."


class Answers:
    def __init__(self, table: Any, name: str, merged: bool) -> None:
        """`name` is what people call the log; `merged` if its rows come from several files."""
        self._columns = Columns(table)
        self._name = name
        self._merged = merged

    def answer(self, node: int | str | None, event: int | str | None) -> Answer:
        if not len(self._columns):
            raise InputError(f"{self._name} has no rows, because its level is summary: {NEEDED}")
        declare_sentences()
        number = None if node is None else self._known_node(words.node_of(node))
        id = None if event is None else self._known_event(words.event_of(event))
        if number is not None and id is not None:
            return self._pair(number, id)
        if number is not None:
            return self._events_at_node(number)
        return self._events() if id is None else self._event_at_nodes(id)

    def _events(self) -> Events:
        is_delivery = self._columns.are(("deliver",))
        pairs = (self._columns[name][is_delivery].tolist() for name in ("event", "node"))
        return list_events(self._published(), self._first_rows(), zip(*pairs, strict=True), self._remarks())

    def _first_rows(self) -> dict[int, int]:
        """When each event occurs in the log for the first time."""
        import numpy as np

        about = np.flatnonzero(self._columns.are(EVENT_KINDS) & (self._columns["event"] > 0))
        events, places = np.unique(self._columns["event"][about], return_index=True)
        return dict(zip(events.tolist(), self._columns["t"][about[places]].tolist(), strict=True))

    def _pair(self, node: int, event: int) -> Explanation:
        spread = self._spread(event)
        spread.colliding = {
            row.frame: self._columns.senders_during(row.frame, node)
            for row in spread.at(node, "lose")
            if row.reason == "collision"
        }
        distances = {holder: self._places.distance_m(node, holder, had_us) for holder, had_us in spread.had_us.items()}
        subscriptions = self._subscriptions(node, event)
        return explain_pair(spread, node, self._links, self._absences, subscriptions, distances, self._remarks())

    def _event_at_nodes(self, event: int) -> EventAtNodes:
        spread = self._spread(event)
        interested = spread.published.interested if spread.published else set()
        nodes = sorted(interested | set(spread.delivered_us))
        outcomes = [outcome(spread, node, self._links, self._absences) for node in nodes]
        name = words.event_name(event)
        return EventAtNodes(event, name, about(spread), network(spread), missed_first(outcomes), self._remarks())

    def _events_at_node(self, node: int) -> EventsAtNode:
        events = self._published()
        is_delivery = self._columns.are(("deliver",)) & (self._columns["node"] == node)
        delivered = set(self._columns["event"][is_delivery].tolist())
        concerned = [id for id, e in events.items() if node in e.interested or node == e.publisher or id in delivered]
        concerned += sorted(delivered - set(events))
        rows = self._columns.rows_by_event(node, {id for id in concerned if id not in delivered})
        outcomes = [
            outcome(
                Spread(id, events.get(id), rows.get(id, []), len(self._nodes) > 1), node, self._links, self._absences
            )
            for id in concerned
        ]
        return EventsAtNode(node, missed_first(outcomes), self._remarks())

    # ---- for pages that show everything

    def spreads(self, only: Container[int]) -> list[Spread]:
        """How these events went from node to node, in the order of publications; then events of which the log has no
        publication."""
        published, first_us = self._published(), self._first_rows()
        every = [*published, *(id for id in sorted(first_us, key=first_us.__getitem__) if id not in published)]
        events = [id for id in every if id in only]
        rows = self._columns.rows_by_event(-1, set(events))
        return [Spread(id, published.get(id), rows.get(id, []), len(self._nodes) > 1) for id in events]

    def in_short(self, spread: Spread, node: int) -> tuple[str, str, str]:
        """Status, cause and summary of what happened to an event at a node."""
        return in_short(spread, node, self._links, self._absences)

    def absences(self) -> dict[int, list[Absence]]:
        """When each node slept or was down."""
        return self._absences

    # ---- parts of the answers

    def _published(self, only: int = 0) -> dict[int, PublishedEvent]:
        return published_events(self._interest_rows, only)

    def _spread(self, event: int) -> Spread:
        return Spread(event, self._published(event).get(event), self._columns.rows_about(event), len(self._nodes) > 1)

    @cached_property
    def _interest_rows(self) -> list[LogRow]:
        return self._columns.rows_of_kinds(KINDS)

    @cached_property
    def _links(self) -> Links | None:
        """None if the log has no frames."""
        return Links(self._columns) if self._has_frames else None

    @cached_property
    def _has_frames(self) -> bool:
        return bool(self._columns.are((*FRAME_KINDS, *DECISION_KINDS)).any())

    @cached_property
    def _places(self) -> Places:
        return Places(self._columns.rows_of_kinds(("move",)))

    @cached_property
    def _absences(self) -> dict[int, list[Absence]]:
        return absences(row for row in self._interest_rows if row.kind in FAULTS)

    def _subscriptions(self, node: int, event: int) -> list[str]:
        """The filters of a node when an event was published, or at the end of the log if it has no such row."""
        audience = Audience()
        for row in self._interest_rows:
            if row.kind == "publish" and row.event == event:
                break
            audience.take(row)
        return [text for (subscriber, _), text in audience.subscriptions.items() if subscriber == node]

    def _remarks(self) -> list[str]:
        remarks = [] if self._has_frames else [NEEDS_FRAMES]
        return remarks + ([OWN_CLOCKS] if len(self._nodes) > 1 and self._merged else [])

    @cached_property
    def _nodes(self) -> list[int]:
        """The nodes that have a row of their own."""
        import numpy as np

        nodes: list[int] = np.unique(self._columns["node"]).tolist()
        return nodes

    def _known_node(self, node: int) -> int:
        if node in self._nodes or (self._columns["peer"] == node).any():
            return node
        first, last = self._nodes[0], self._nodes[-1]
        known = words.nodes(self._nodes) if len(self._nodes) <= words.MOST_NODES else f"n{first} to n{last}"
        raise InputError(f"node {node}: the log {self._name} has no row about it; it has {known}")

    def _known_event(self, event: int) -> int:
        if (self._columns.are(EVENT_KINDS) & (self._columns["event"] == event)).any():
            return event
        publisher, name = event >> 32, words.event_name(event)
        own = [id for id in self._published() if id >> 32 == publisher]
        known = f"n{publisher} published no event in it"
        if own:
            known = f"n{publisher} published {words.event_name(own[0])} to {words.event_name(own[-1])}"
        if len(self._nodes) == 1:
            known = f"it is the log of n{self._nodes[0]} alone"
        raise InputError(f"event {name}: the log {self._name} has no row about it; {known}")


def declare_sentences() -> None:
    """Reasons are declared when a protocol is loaded, and a log does not name its protocol."""
    for name in registry.BUILT_IN:
        registry.get(name)
