"""Gossip and plain flooding: the baseline of 000 (§VI), 003 (§4.2) and 004 (§4.1).

The source always sends. Whoever receives an event for the first time sends it again with probability p, after a random
assessment delay: without one, rebroadcasts would leave one DIFS after the frame they answer, all together. p = 1 is
flooding.
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
DRAWN = reason("forward", "drawn", "the draw said so")
NOT_DRAWN = reason("suppress", "not drawn", "the draw said no")
EXHAUSTED = reason("suppress", "ttl", "no hops left")
EXPIRED = reason("drop", "expired", "its validity is over")


@dataclass(frozen=True)
class GossipParams(Params):
    p: float = param(0.5, "probability of sending an event again", "000, Fig. 10", low=0.0, high=1.0)
    ttl: int = param(0, "hops an event may go; 0 means any number", "ours", unit="hops", low=0, high=255)
    jitter_ms: float = param(10.0, "longest assessment delay before an event is sent again", "ours", unit="ms", low=0.0)


@final
class Gossip(Protocol):
    params_class = GossipParams
    frames = (EventFrame,)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        assert isinstance(params, GossipParams)
        self.p = params.p
        self.ttl = params.ttl
        self.jitter_us = params.jitter_ms * 1000.0
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
        host = self.host
        host.mute(event.id)
        if frame.age_us >= event.validity_us:
            host.note(EXPIRED, event.id, sender)
            return
        if self.subscriptions.match(event):
            host.deliver(event)
        if frame.ttl == 1:
            host.note(EXHAUSTED, event.id, sender)
        elif self.p < 1.0 and host.random() >= self.p:
            host.note(NOT_DRAWN, event.id, sender)
        else:
            self.pending[event.id] = Pending(frame, host.now())
            host.set_timer(event.id, int(host.random() * self.jitter_us))

    def on_timer(self, key: int) -> None:
        frame = self.pending[key].onward(self.host.now())
        del self.pending[key]
        if frame is None:
            self.host.note(EXPIRED, key)
            return
        self.host.note(DRAWN, key)
        self.host.broadcast(frame)
