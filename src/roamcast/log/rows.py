"""The rows of the log, kind by kind, as schema.py defines them. The simulator and real nodes both write through this.

A method writes nothing if the log's level does not include its kind. Callers that run millions of times check `frames`
and `deliveries` before.
"""

from __future__ import annotations

import json
from typing import final

from mypy_extensions import i64

from roamcast.log import schema
from roamcast.log.writer import LogSink
from roamcast.protocols.kit.interface import Frame, reason_kind, reason_label
from roamcast.pubsub.event import SCOPES, Event
from roamcast.pubsub.filters import Filter


@final
class Rows:
    __slots__ = ("deliveries", "frames", "moves", "sink")

    def __init__(self, sink: LogSink, level: str) -> None:
        held = schema.kinds_at(level)
        self.sink = sink
        self.deliveries = schema.DELIVER in held
        self.frames = schema.SEND in held
        self.moves = schema.MOVE in held

    # ---- events

    def published(self, t: i64, node: i64, event: Event, in_range: list[int]) -> None:
        """`in_range` has the nodes that a local event can interest."""
        if self.deliveries:
            content: dict[str, object] = {"topic": event.topic, "scope": SCOPES[event.scope], "attrs": event.attrs}
            if event.scope:
                content["near"] = in_range
            text = json.dumps(content, separators=(",", ":"))
            self.sink.row(t, node, schema.PUBLISH, event.id, 0, -1, event.size, event.validity_us, text)

    def delivered(self, t: i64, node: i64, event: int) -> None:
        if self.deliveries:
            self.sink.row(t, node, schema.DELIVER, event, 0, -1, 0, 0, "")

    def subscribed(self, t: i64, node: i64, subscription: int, filter: Filter) -> None:
        if self.deliveries:
            self.sink.row(t, node, schema.SUBSCRIBE, subscription, 0, -1, 0, 0, str(filter))

    # ---- frames

    def sent(self, t: i64, node: i64, frame: Frame, serial: i64, to: i64, size: i64, airtime: i64) -> None:
        if self.frames:
            self.sink.row(t, node, schema.SEND, first_event(frame), serial, to, size, airtime, frame.kind)

    def repeated(self, t: i64, node: i64, frame: Frame, serial: i64, to: i64) -> None:
        """The transmission of this serial repeats an earlier one."""
        if self.frames:
            self.sink.row(t, node, schema.REPEAT, first_event(frame), serial, to, 0, 0, "")

    def received(self, t: i64, node: i64, frame: Frame, serial: i64, sender: i64, size: i64, airtime: i64) -> None:
        """One row for each event in the frame, or one row if there is none; only the first has the frame's bytes."""
        if self.frames:
            event = first_event(frame)
            self.sink.row(t, node, schema.RECEIVE, event, serial, sender, size, airtime, frame.kind)
            if frame.id == 0:
                for other in frame.events()[1:]:
                    self.sink.row(t, node, schema.RECEIVE, other.id, serial, sender, 0, airtime, frame.kind)

    def lost(
        self, t: i64, node: i64, frame: Frame, serial: i64, peer: i64, size: i64, reason: str, airtime: i64
    ) -> None:
        """`airtime` is the time that the receiver's radio spent on the frame: 0 if it never locked on to it."""
        if self.frames:
            self.sink.row(t, node, schema.LOSE, first_event(frame), serial, peer, size, airtime, reason)

    def overheard(
        self, t: i64, node: i64, frame: Frame | None, serial: i64, sender: i64, size: i64, reason: str, airtime: i64
    ) -> None:
        """An acknowledgement has no frame."""
        if self.frames:
            event = 0 if frame is None else first_event(frame)
            self.sink.row(t, node, schema.OVERHEAR, event, serial, sender, size, airtime, reason)

    def acknowledged(self, t: i64, node: i64, to: i64, size: i64, airtime: i64) -> None:
        if self.frames:
            self.sink.row(t, node, schema.ACKNOWLEDGE, 0, 0, to, size, airtime, "")

    # ---- decisions and states

    def noted(self, t: i64, node: i64, reason: int, event: int, peer: int, value: int) -> None:
        if self.frames:
            kind = schema.kind_code(reason_kind(reason))
            self.sink.row(t, node, kind, event, 0, peer, 0, value, reason_label(reason))

    def state(self, t: i64, node: i64, entries: int, size: int) -> None:
        """A sample of a node's routing state."""
        if self.deliveries:
            self.sink.row(t, node, schema.STATE, 0, 0, -1, size, entries, "")

    def fault(self, t: i64, node: i64, kind: int) -> None:
        if self.deliveries:
            self.sink.row(t, node, kind, 0, 0, -1, 0, 0, "")

    def moved(self, t: i64, node: i64, end: i64, text: str) -> None:
        if self.moves:
            self.sink.row(t, node, schema.MOVE, 0, 0, -1, 0, end, text)


def first_event(frame: Frame) -> int:
    if frame.id != 0:
        return frame.id
    events = frame.events()
    return events[0].id if events else 0
