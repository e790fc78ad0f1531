"""A node's log: rows of `log.schema` about what happens on the node.

A row's time is the runner's time plus `epoch_us`, the Unix time at which the runner was made. The Unix time is read
once, so that times of rows never decrease, even if the system's clock is set. The clocks of two nodes differ like the
clocks of their systems at that time, and drift like their crystals. The laboratory estimates the difference from frames
that both nodes logged.

During a catch-up (catch_up.py) only deliveries are logged, with the time `present_us`: everything else was logged when
it happened first.
"""

from __future__ import annotations

from collections.abc import Callable

from roamcast.log import schema
from roamcast.log.rows import Rows
from roamcast.log.writer import LogSink
from roamcast.net.wire.codec import Arrival
from roamcast.protocols.kit.interface import NOBODY, Frame
from roamcast.pubsub.event import Event


class Journal:
    def __init__(self, sink: LogSink, level: str, node: int, epoch_us: int, now: Callable[[], int]) -> None:
        self.sink = sink
        self.epoch_us = epoch_us
        self.present_us = -1  # during a catch-up, the time at which it began; otherwise negative
        self._rows = Rows(sink, level)
        self._kinds = frozenset(schema.kinds_at(level))
        self._node = node
        self._now = now

    def row(
        self,
        kind: int,
        event: int = 0,
        frame: int = 0,
        peer: int = NOBODY,
        size: int = 0,
        value: int = 0,
        reason: str = "",
    ) -> None:
        if self._writes(kind):
            self.sink.row(self._t(), self._node, kind, event, frame, peer, size, value, reason)

    def published(self, event: Event, in_range: Callable[[], list[int]]) -> None:
        if self._writes(schema.PUBLISH):
            self._rows.published(self._t(), self._node, event, in_range() if event.scope else [])

    def sent(self, frame: Frame, to: int, serial: int, size: int, airtime_us: int) -> None:
        if self._writes(schema.SEND):
            self._rows.sent(self._t(), self._node, frame, serial, to, size, airtime_us)

    def repeated(self, frame: Frame, to: int, serial: int) -> None:
        if self._writes(schema.REPEAT):
            self._rows.repeated(self._t(), self._node, frame, serial, to)

    def lost(self, frame: Frame, to: int, serial: int, size: int, why: str) -> None:
        if self._writes(schema.LOSE):
            self._rows.lost(self._t(), self._node, frame, serial, to, size, why, 0)

    def arrived(self, arrival: Arrival, frame: Frame, size: int, airtime_us: int) -> None:
        if self._writes(schema.RECEIVE):
            self._rows.received(self._t(), self._node, frame, arrival.serial, arrival.sender, size, airtime_us)

    def _writes(self, kind: int) -> bool:
        return kind in self._kinds and (self.present_us < 0 or kind == schema.DELIVER)

    def _t(self) -> int:
        return self.epoch_us + (self._now() if self.present_us < 0 else self.present_us)
