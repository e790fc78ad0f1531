"""Counter-based flooding (Ni et al., 1999): send an event again unless enough neighbours have done so already.

The first reception starts a random assessment delay. Copies heard meanwhile are counted, the first one included; when
the delay is over, the event is sent again if fewer than `copies` were heard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.store import Pending, Subscriptions
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

SOURCE = reason("forward", "source", "published here")
FEW = reason("forward", "few copies", "heard only {value} times")
MANY = reason("suppress", "many copies", "heard {value} times")
EXHAUSTED = reason("suppress", "ttl", "no hops left")
EXPIRED = reason("drop", "expired", "its validity is over")


@dataclass(frozen=True)
class CounterParams(Params):
    copies: int = param(3, "copies heard that make another one useless", "Ni et al. 1999, C = 3", low=1, high=100)
    delay_ms: float = param(20.0, "longest assessment delay", "ours", unit="ms", low=0.0)
    ttl: int = param(0, "hops an event may go; 0 means any number", "ours", unit="hops", low=0, high=255)


@final
class Counter(Protocol):
    params_class = CounterParams
    frames = (EventFrame,)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        assert isinstance(params, CounterParams)
        self.copies = params.copies
        self.delay_us = params.delay_ms * 1000.0
        self.ttl = params.ttl
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
        self.host.mute(event.id)
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, sender)
            return
        if self.subscriptions.match(event):
            self.host.deliver(event)
        if frame.ttl == 1:
            self.host.note(EXHAUSTED, event.id, sender)
            return
        self.pending[event.id] = Pending(frame, self.host.now())
        self.host.set_timer(event.id, int(self.host.random() * self.delay_us))

    def on_timer(self, key: int) -> None:
        frame = self.pending.pop(key).onward(self.host.now())
        heard = 1 + self.host.heard(key)
        if frame is None:
            self.host.note(EXPIRED, key)
        elif heard < self.copies:
            self.host.note(FEW, key, value=heard)
            self.host.broadcast(frame)
        else:
            self.host.note(MANY, key, value=heard)
