"""A node's log: what happens to it, as rows of `log.schema`.

A row's time is the runner's time plus `epoch_us`, the Unix time at which the runner was made. That is read once, so
that rows never go back, even if the system's clock is set. The clocks of two nodes differ as their systems' clocks
differed, and drift apart as their crystals do. The laboratory estimates the difference from frames that both nodes
logged.

During a catch-up (catch_up.py) only deliveries are logged, with the time `present_us`: everything else was logged when
it happened first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from roamcast.log import schema
from roamcast.log.recorder import first_event
from roamcast.log.writer import LogSink
from roamcast.net.wire.codec import Arrival
from roamcast.protocols.kit.interface import NOBODY, Frame
from roamcast.pubsub.event import SCOPES, Event


class Journal:
    def __init__(self, sink: LogSink, level: str, node: int, epoch_us: int, now: Callable[[], int]) -> None:
        self.sink = sink
        self.epoch_us = epoch_us
        self.present_us = -1  # not negative during a catch-up: the time at which it began
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
        if kind not in self._kinds or (self.present_us >= 0 and kind != schema.DELIVER):
            return
        t = self.epoch_us + (self._now() if self.present_us < 0 else self.present_us)
        self.sink.row(t, self._node, kind, event, frame, peer, size, value, reason)

    def published(self, event: Event, near: Callable[[], list[int]]) -> None:
        if schema.PUBLISH not in self._kinds:
            return
        content: dict[str, Any] = {"topic": event.topic, "scope": SCOPES[event.scope], "attrs": event.attrs}
        if event.scope:
            content["near"] = near()
        text = json.dumps(content, separators=(",", ":"))
        self.row(schema.PUBLISH, event.id, size=event.size, value=event.validity_us, reason=text)

    def sent(self, frame: Frame, to: int, serial: int, size: int, airtime_us: int) -> None:
        self.row(schema.SEND, first_event(frame), serial, to, size, airtime_us, frame.kind)

    def repeated(self, frame: Frame, to: int, serial: int) -> None:
        self.row(schema.REPEAT, first_event(frame), serial, to)

    def lost(self, frame: Frame, to: int, serial: int, size: int, why: str) -> None:
        self.row(schema.LOSE, first_event(frame), serial, to, size, 0, why)

    def arrived(self, arrival: Arrival, frame: Frame, size: int, airtime_us: int) -> None:
        if schema.RECEIVE not in self._kinds:
            return
        self.row(schema.RECEIVE, first_event(frame), arrival.serial, arrival.sender, size, airtime_us, frame.kind)
        if frame.id == 0:
            for other in frame.events()[1:]:
                self.row(schema.RECEIVE, other.id, arrival.serial, arrival.sender, 0, airtime_us, frame.kind)
