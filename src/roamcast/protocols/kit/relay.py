"""What floodings have in common: a node sends its own events at once, and forwards those of others after a delay.

At the first copy of an event a node decides: is the event still valid, is a subscription here interested, may it go
farther? Then it waits as long as the protocol decides. The frame that it sends afterwards counts one hop more and the
time that it waited. The number of waiting events needs no limit, because none waits longer than the delay.
"""

from __future__ import annotations

from typing import ClassVar, Final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, reason
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

SOURCE: Final = reason("forward", "source", "{event} is published here")
EXHAUSTED: Final = reason("suppress", "ttl", "{event} has gone as far as its time-to-live lets it")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


class Relay(Protocol):
    """Base of floodings. A protocol adds `on_frame`, beginning with `accept`, and `on_timer`, using `next_hop`."""

    frames: ClassVar[tuple[type[Frame], ...]] = (EventFrame,)

    def __init__(self, host: Host, params: Params, ttl: int) -> None:
        super().__init__(host, params)
        self.ttl = ttl
        self.subscriptions = Subscriptions()
        self.only = self.subscriptions.only  # a copy, because a flood matches every event at every node
        self.first: EventFrame | None = None  # the first frame that waits; mostly it is the only one
        self.since_us = 0
        self.rest: dict[int, tuple[EventFrame, int]] | None = None  # the others that wait, and since when

    def on_start(self) -> None:
        """Timers do not survive a crash. If the tables did, their frames have waited long enough."""
        if self.first is not None or self.rest:
            for id in self.waiting():
                self.host.set_timer(id, 0)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)
        self.only = self.subscriptions.only

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)
        self.only = self.subscriptions.only

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        self.host.note(SOURCE, event.id)
        self.host.broadcast(EventFrame(event, self.ttl, 0))

    def accept(self, frame: EventFrame, sender: int) -> bool:
        """The first copy of an event: deliver it if it matches a subscription. Returns whether it may be forwarded."""
        event = frame.event
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, sender)
            return False
        only = self.only
        if only.wants(event) if only is not None else self.subscriptions.match(event):
            self.host.deliver(event)
        if frame.ttl == 1:
            self.host.note(EXHAUSTED, event.id, sender)
            return False
        return True

    def waiting(self) -> list[int]:
        """The ids of the events that wait, oldest first."""
        first = [] if self.first is None else [self.first.id]
        return first + list(self.rest or ())

    def is_waiting(self, id: int) -> bool:
        first = self.first
        return (first is not None and first.id == id) or (self.rest is not None and id in self.rest)

    def wait(self, frame: EventFrame, delay_us: int) -> None:
        since_us = self.host.now()
        if self.first is None and not self.rest:
            self.first = frame
            self.since_us = since_us
        elif self.rest is None:
            self.rest = {frame.id: (frame, since_us)}
        else:
            self.rest[frame.id] = (frame, since_us)
        self.host.set_timer(frame.id, delay_us)

    def take(self, id: int) -> tuple[EventFrame, int]:
        """Remove the frame that waits under this id; returns it, and since when it waited."""
        first = self.first
        if first is not None and first.id == id:
            self.first = None
            return first, self.since_us
        assert self.rest is not None
        return self.rest.pop(id)

    def next_hop(self, key: int) -> EventFrame | None:
        """The frame to send, for an event that has waited; None if its validity has ended."""
        frame, since_us = self.take(key)
        return self.aged(frame, since_us)

    def aged(self, frame: EventFrame, since_us: int) -> EventFrame | None:
        """The same, for a frame that was taken."""
        event = frame.event
        age_us = frame.age_us + self.host.now() - since_us
        if age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id)
            return None
        return EventFrame(event, frame.ttl - 1 if frame.ttl > 0 else 0, age_us)
