"""Managed flooding, in the manner of Meshtastic: the farthest hearer sends again first, the others then keep silent.

A node that hears an event for the first time waits, the longer the stronger the signal was (a strong signal means a
near sender, so that a repetition would add little area), plus a random part. If it hears the event again while it
waits, it keeps silent. Where the radio tells no signal strength, only the random part is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import final

from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.store import Pending, Subscriptions
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

SOURCE = reason("forward", "source", "published here")
FIRST = reason("forward", "first", "nobody else sent it in time")
HEARD_AGAIN = reason("suppress", "heard again", "{peer} sent it first")
WAITING = reason("delay", "by signal", "waits {value} us")
EXHAUSTED = reason("suppress", "ttl", "no hops left")
EXPIRED = reason("drop", "expired", "its validity is over")


@dataclass(frozen=True)
class ManagedParams(Params):
    ttl: int = param(7, "hops an event may go; 0 means any number", "Meshtastic's largest", unit="hops", low=0, high=255)
    delay_ms: float = param(100.0, "delay at the strongest signal", "ours", unit="ms", low=0.0)
    jitter_ms: float = param(20.0, "longest random part of the delay", "ours", unit="ms", low=0.0)
    weak_dbm: float = param(-93.0, "signal at which the delay is shortest", "ours: sensitivity", unit="dBm", high=0.0)
    strong_dbm: float = param(-63.0, "signal from which on it is longest", "ours: 30 dB above", unit="dBm", high=0.0)


@final
class Managed(Protocol):
    params_class = ManagedParams
    frames = (EventFrame,)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        assert isinstance(params, ManagedParams)
        self.ttl = params.ttl
        self.delay_us = params.delay_ms * 1000.0
        self.jitter_us = params.jitter_ms * 1000.0
        self.weak_dbm = params.weak_dbm
        self.span_db = max(params.strong_dbm - params.weak_dbm, 1e-9)
        self.subscriptions = Subscriptions()
        self.pending: dict[int, Pending] = {}

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        self.host.note(SOURCE, event.id)
        self.host.broadcast(EventFrame(event, self.ttl, 0))

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, EventFrame)
        event = frame.event
        if event.id in self.pending:
            del self.pending[event.id]
            self.host.cancel_timer(event.id)
            self.host.mute(event.id)
            self.host.note(HEARD_AGAIN, event.id, sender)
            return
        if frame.age_us >= event.validity_us:
            self.host.mute(event.id)
            self.host.note(EXPIRED, event.id, sender)
            return
        if self.subscriptions.match(event):
            self.host.deliver(event)
        if frame.ttl == 1:
            self.host.mute(event.id)
            self.host.note(EXHAUSTED, event.id, sender)
            return
        wait_us = self.wait_us()
        self.pending[event.id] = Pending(frame, self.host.now())
        self.host.note(WAITING, event.id, sender, wait_us)
        self.host.set_timer(event.id, wait_us)

    def wait_us(self) -> int:
        signal_dbm = self.host.signal()
        near = 0.0 if isnan(signal_dbm) else min(max((signal_dbm - self.weak_dbm) / self.span_db, 0.0), 1.0)
        return int(near * self.delay_us + self.host.random() * self.jitter_us)

    def on_timer(self, key: int) -> None:
        frame = self.pending.pop(key).onward(self.host.now())
        self.host.mute(key)
        if frame is None:
            self.host.note(EXPIRED, key)
        else:
            self.host.note(FIRST, key)
            self.host.broadcast(frame)
