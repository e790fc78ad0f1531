"""The rows of a node's log, also for programs that watch the node while it runs.

A watcher that reads too slowly loses the oldest rows, and knows how many: the node never waits for it. Rows go to
watchers whether or not the node writes a log.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from roamcast.log.explanation.select import DECISION_KINDS
from roamcast.log.explanation.words import decision, event_name
from roamcast.log.reader import LogRow
from roamcast.log.schema import KINDS
from roamcast.log.writer import LogSink

MOST_ROWS: Final = 5_000
"""Ours: what a busy node writes in some seconds."""
WITHOUT_EVENTS: Final = ("subscribe", "unsubscribe")
"""Kinds whose column `event` is the number of a subscription."""


class WatchedRow(NamedTuple):
    """A row for people: ids of events and frames are texts, because JSON's readers round long numbers."""

    t: int
    node: int
    kind: str
    event: str
    frame: str
    peer: int
    bytes: int
    value: int
    text: str
    """The reason; of a decision, the protocol's sentence."""


class Watcher:
    def __init__(self, sink: WatchedSink) -> None:
        self._sink = sink
        self._rows: deque[LogRow] = deque(maxlen=MOST_ROWS)
        self._lost = 0

    def add(self, row: LogRow) -> None:
        self._lost += len(self._rows) == MOST_ROWS
        self._rows.append(row)

    def take(self) -> tuple[list[WatchedRow], int]:
        """The rows since the last call, and how many were lost before them."""
        rows, lost = [shown(row) for row in self._rows], self._lost
        self._rows.clear()
        self._lost = 0
        return rows, lost

    def close(self) -> None:
        self._sink.watchers.discard(self)


class WatchedSink(LogSink):
    """Passes everything on to the log, and rows to watchers, too."""

    def __init__(self, log: LogSink) -> None:
        super().__init__()
        self.watchers: set[Watcher] = set()
        self._log = log

    def watch(self) -> Watcher:
        watcher = Watcher(self)
        self.watchers.add(watcher)
        return watcher

    def row(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        self._log.row(t, node, kind, event, frame, peer, size, value, reason)
        if self.watchers:
            row = LogRow("", t, node, KINDS[kind], event, frame, peer, size, value, reason)
            for watcher in self.watchers:
                watcher.add(row)

    def summarise(self, text: str) -> None:
        self._log.summarise(text)

    def describe(self, text: str) -> None:
        self._log.describe(text)


def shown(row: LogRow) -> WatchedRow:
    is_about_event = row.event != 0 and row.kind not in WITHOUT_EVENTS
    text = decision(row) if row.kind in DECISION_KINDS else row.reason
    event, frame = event_name(row.event) if is_about_event else "", str(row.frame) if row.frame else ""
    return WatchedRow(row.t, row.node, row.kind, event, frame, row.peer, row.size, row.value, text)
