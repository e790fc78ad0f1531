"""A log that is opened for questions: a file, or a folder with the files that real nodes have written.

The rows of a folder are merged by their time. Each real node has a clock of its own, so times of different nodes are
only as comparable as their clocks were; `roamcast lab field` makes one log with one clock of such a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from roamcast.errors import InputError
from roamcast.log import reader
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
from roamcast.log.reader import LogRow, rows_of

Answer = Explanation | EventAtNodes | EventsAtNode | Events

NEEDS_FRAMES: Final = "The log has no frames, so it cannot say why: write it with --level frames (or full)."
OWN_CLOCKS: Final = "Times are each node's own; `roamcast lab field` makes one log with one clock."


def why(path: str | Path, node: int | str | None = None, event: int | str | None = None) -> Answer:
    """What became of an event at a node; without one of the two, or both, a list. `str` of the answer is its text."""
    return Log(path).why(node, event)


class Log:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._files = _files_of(self.path)

    # ---- as data

    def table(self) -> Any:
        """The whole log as a `pyarrow.Table`."""
        return self._table

    def rows(self) -> Iterator[LogRow]:
        if len(self._files) == 1:
            return reader.rows(self._files[0])
        return (row for batch in self._table.to_batches() for row in rows_of(batch))

    def pandas(self) -> Any:
        """The whole log as a `pandas.DataFrame`."""
        return self._table.to_pandas()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The tally of the run, and its fingerprint; of a folder, that of its last file."""
        return reader.summary(self._files[-1])

    @property
    def events(self) -> list[int]:
        """The ids of the published events, in order."""
        return list(dict.fromkeys(of_kinds(self._table, ("publish",))["event"].to_pylist()))

    # ---- as an answer

    def why(self, node: int | str | None = None, event: int | str | None = None) -> Answer:
        """What became of `event` at `node`; without one of the two, or both, a list.

        A node is its number, an event its id or a text such as "3:12": the twelfth event of node 3. The sentences of
        decisions are known for protocols whose modules were imported, built-in or not; otherwise only their labels.
        """
        if not self._table.num_rows:
            raise InputError(f"{self.path} has no rows: it is of level summary; `why` needs a log of level frames")
        if node is None and event is None:
            pairs = of_kinds(self._table, ("deliver",))
            delivered = zip(pairs["event"].to_pylist(), pairs["node"].to_pylist(), strict=True)
            return list_events(self._published(), delivered, self._remarks())
        if node is None:
            return self._event_at_nodes(self._known_event(words.event_of(event or 0)))
        number = self._known_node(words.node_of(node))
        if event is None:
            return self._events_at_node(number)
        return self._pair(number, self._known_event(words.event_of(event)))

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
            outcome(Spread(id, events.get(id), rows.get(id, [])), node, self._links, absent) for id in concerned
        ]
        return EventsAtNode(node, missed_first(outcomes), self._remarks())

    # ---- what the answers are made of

    @cached_property
    def _table(self) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(self._files) == 1:
            table = reader.read(self._files[0])
        else:
            table = pa.concat_tables([reader.read(path) for path in self._files]).unify_dictionaries()
            order = pc.sort_indices(table["t"])  # stable, so rows of one file stay in order
            table = table.take(order)
        runs = pc.unique(table["run"]).to_pylist()
        if len(runs) > 1:
            raise InputError(f"{self.path} has the rows of {len(runs)} runs; give the log of one: {self._files[0]}")
        return table

    def _published(self, only: int = 0) -> dict[int, PublishedEvent]:
        return published_events(rows_about(self._table, KINDS), only)

    def _spread(self, event: int) -> Spread:
        return Spread(event, self._published(event).get(event), event_rows(self._table, event))

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
        return remarks + ([OWN_CLOCKS] if len(self._nodes) > 1 and len(self._files) > 1 else [])

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
            raise InputError(f"node {node}: the log {self.path} has no row about it; {known}")
        return node

    def _known_event(self, event: int) -> int:
        import pyarrow.compute as pc

        named = of_kinds(self._table, EVENT_KINDS)["event"]
        if pc.any(pc.equal(named, event)).as_py():
            return event
        own = [id for id in self.events if id >> 32 == event >> 32]
        known = (
            f"n{event >> 32} published {words.event_name(own[0])} to {words.event_name(own[-1])}"
            if own
            else (f"n{event >> 32} published none")
        )
        raise InputError(f"event {words.event_name(event)}: the log {self.path} has no row about it; {known}")


def _files_of(path: Path) -> list[Path]:
    """The files of a log, in the order of their names."""
    if not path.is_dir():
        return [path]
    if (path / "campaign.json").exists():
        example = next(iter(sorted((path / "log").glob("[!.]*.parquet"))), path / "log" / "RUN.parquet")
        raise InputError(f"{path} is a campaign's folder, which has a log for each run: give one of them, as {example}")
    files = sorted(path.rglob("[!.]*.parquet"))
    if not files:
        raise InputError(f"{path} has no logs: there is no Parquet file in this folder")
    return files
