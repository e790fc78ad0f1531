"""Small stores that most protocols need: a node's own subscriptions, and events that wait to go on."""

from __future__ import annotations

from typing import final

from roamcast.protocols.frames import EventFrame
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter


@final
class Subscriptions:
    """What the application on this node asked for."""

    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}
        self.all: list[Filter] = []

    def add(self, subscription: int, filter: Filter) -> None:
        self.filters[subscription] = filter
        self.all = list(self.filters.values())

    def remove(self, subscription: int) -> None:
        self.filters.pop(subscription, None)
        self.all = list(self.filters.values())

    def match(self, event: Event) -> bool:
        for filter in self.all:
            if filter.matches(event):
                return True
        return False


@final
class Pending:
    """An event frame that arrived and will be sent on."""

    __slots__ = ("frame", "since_us")

    def __init__(self, frame: EventFrame, since_us: int) -> None:
        self.frame = frame
        self.since_us = since_us

    def onward(self, now_us: int) -> EventFrame | None:
        """The frame for the next hop: one hop less, so much older; None when its event has expired."""
        frame = self.frame
        age_us = frame.age_us + now_us - self.since_us
        if age_us >= frame.event.validity_us:
            return None
        return EventFrame(frame.event, frame.ttl - 1 if frame.ttl > 0 else 0, age_us)
