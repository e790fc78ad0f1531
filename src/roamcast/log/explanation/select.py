"""Rows of a table, filtered by Arrow before they become Python objects: a log can have millions of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from roamcast.log.arrays import numbers, texts
from roamcast.log.reader import LogRow, rows_of
from roamcast.log.schema import DECISIONS, KINDS

DECISION_KINDS: Final = tuple(KINDS[code] for code in DECISIONS)
FRAME_KINDS: Final = ("send", "repeat", "receive", "lose", "overhear")
EVENT_KINDS: Final = ("publish", "deliver", *FRAME_KINDS, *DECISION_KINDS)
"""The kinds of rows whose column `event` is the id of an event."""


def of_kinds(table: Any, kinds: Iterable[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.filter(pc.is_in(table["kind"].cast(pa.string()), value_set=texts(list(kinds))))


def among(table: Any, column: str, values: Iterable[int]) -> Any:
    """A mask of the rows whose number in `column` is one of `values`."""
    import numpy as np
    import pyarrow.compute as pc

    type_ = np.int32 if column in ("node", "peer") else np.int64
    return pc.is_in(table[column], value_set=numbers(np.array(sorted(values), type_)))


def rows_about(table: Any, kinds: Iterable[str]) -> list[LogRow]:
    return rows_of(of_kinds(table, kinds))


def event_rows(table: Any, event: int) -> list[LogRow]:
    """The rows about an event, and about frames that carried it: a frame with several events names one of them."""
    import pyarrow.compute as pc

    about = of_kinds(table, EVENT_KINDS)
    named = pc.equal(about["event"], event)
    frames = {frame for frame in about.filter(named)["frame"].to_pylist() if frame}
    return rows_of(about.filter(pc.or_(named, among(about, "frame", frames))))


def events_rows(table: Any, node: int, events: set[int]) -> dict[int, list[LogRow]]:
    """For each of `events` the rows of `event_rows`, and for all other events the rows of `node` about them."""
    import pyarrow.compute as pc

    about = of_kinds(table, EVENT_KINDS)
    named = among(about, "event", events)
    frames = {frame for frame in about.filter(named)["frame"].to_pylist() if frame}
    at_node = pc.equal(about["node"], node)
    rows = rows_of(about.filter(pc.or_(pc.or_(named, at_node), among(about, "frame", frames))))
    carried: dict[int, set[int]] = {}
    for row in rows:
        if row.frame:
            carried.setdefault(row.frame, set()).add(row.event)
    by_event: dict[int, list[LogRow]] = {}
    for row in rows:
        for event in carried[row.frame] | {row.event} if row.frame else (row.event,):
            by_event.setdefault(event, []).append(row)
    return by_event
