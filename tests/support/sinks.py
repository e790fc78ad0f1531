"""A sink that keeps the rows of a log in a list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from roamcast.log.schema import KINDS, arrow_schema
from roamcast.log.writer import LogSink

Row = tuple[int, int, int, int, int, int, int, int, str]
"""t, node, kind, event, frame, peer, bytes, value, reason: the arguments of `LogSink.row`."""


class MemorySink(LogSink):
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def row(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        self.rows.append((t, node, kind, event, frame, peer, size, value, reason))

    def abandon(self) -> None:
        self.rows.clear()

    def table(self, run: str = "") -> Any:
        """The rows as a `pyarrow.Table`, as `reader.read` would give it."""
        names = ("t", "node", "kind", "event", "frame", "peer", "bytes", "value", "reason")
        rows = [{"run": run, **dict(zip(names, row, strict=True)), "kind": KINDS[row[2]]} for row in self.rows]
        return pa.Table.from_pylist(rows, schema=arrow_schema())
