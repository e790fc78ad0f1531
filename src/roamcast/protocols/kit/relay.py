"""What floodings have in common: an event is sent by its source, and sent on by those who decide so after a delay.

A node looks at the first copy it hears: is the event still valid, does anybody here want it, may it go farther? Then it
waits for as long as the protocol says, and what is sent then is one hop and so many microseconds older. What waits
needs no limit: nothing stays for longer than the delay.
"""

from __future__ import annotations

from typing import Final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Host, Params, Protocol, reason
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

SOURCE: Final = reason("forward", "source", "{event} is published here")
EXHAUSTED: Final = reason("suppress", "ttl", "{event} has gone as far as its time-to-live lets it")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


class Relay(Protocol):
    """Base of floodings. A protocol adds `on_frame`, which begins with `goes_on`, and `on_timer`, with `onward`."""

    frames = (EventFrame,)

    def __init__(self, host: Host, params: Params, ttl: int) -> None:
        super().__init__(host, params)
        self.ttl = ttl
        self.subscriptions = Subscriptions()
        self.only = self.subscriptions.only  # at hand: a flood asks every node
        self.first: EventFrame | None = None  # of what waits: mostly there is no other, and no dictionary is touched
        self.since_us = 0
        self.others: dict[int, tuple[EventFrame, int]] | None = None  # the rest, and since when

    def on_start(self) -> None:
        """Timers die with a node: what waited in tables that outlived a crash has waited for long enough."""
        if self.first is not None or self.others:
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

    def goes_on(self, frame: EventFrame, sender: int) -> bool:
        """The first copy of an event: deliver it if it is wanted here; True if it may be sent on."""
        event = frame.event
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, sender)
            return False
        only = self.only
        if only.matches(event) if only is not None else self.subscriptions.match(event):
            self.host.deliver(event)
        if frame.ttl == 1:
            self.host.note(EXHAUSTED, event.id, sender)
            return False
        return True

    def waiting(self) -> list[int]:
        """The ids of what waits, oldest first."""
        first = [] if self.first is None else [self.first.id]
        return first + list(self.others or ())

    def waits(self, id: int) -> bool:
        first = self.first
        return (first is not None and first.id == id) or (self.others is not None and id in self.others)

    def wait(self, frame: EventFrame, delay_us: int) -> None:
        since_us = self.host.now()
        if self.first is None and not self.others:
            self.first = frame
            self.since_us = since_us
        elif self.others is None:
            self.others = {frame.id: (frame, since_us)}
        else:
            self.others[frame.id] = (frame, since_us)
        self.host.set_timer(frame.id, delay_us)

    def take(self, id: int) -> tuple[EventFrame, int]:
        """What waited under this id and does so no longer, and since when it did."""
        first = self.first
        if first is not None and first.id == id:
            self.first = None
            return first, self.since_us
        assert self.others is not None
        return self.others.pop(id)

    def onward(self, key: int) -> EventFrame | None:
        """What waited, ready for the next hop; None if its validity ended meanwhile."""
        frame, since_us = self.take(key)
        event = frame.event
        age_us = frame.age_us + self.host.now() - since_us
        if age_us >= event.validity_us:
            self.host.note(EXPIRED, key)
            return None
        return EventFrame(event, frame.ttl - 1 if frame.ttl > 0 else 0, age_us)
