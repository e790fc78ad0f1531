"""The frame that most protocols need: one event on its way."""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import as_int, counted, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields

TTL_MAX: Final = 255


@final
class EventFrame(Frame):
    """An event, the hops it may still go (0 means any number), and its age when it was handed to the MAC.

    It carries the age rather than the time of expiry because clocks are not shared: a receiver uses its own clock and
    the rest of the event's validity. The age does not include the time in the sender's MAC queue, some milliseconds.
    """

    __slots__ = ("age_us", "event", "ttl")

    def __init__(self, event: Event, ttl: int, age_us: int) -> None:
        self.kind = "event"  # not by super().__init__: this is made for every transmission of a flood
        self.id = event.id
        self.size = (3 if ttl < 128 else 4) + (3 if 0xFF < age_us <= 0xFFFF else uint_size(age_us)) + event.size
        self.cargo = event
        self.event = event
        self.ttl = ttl
        self.age_us = age_us

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [self.ttl, self.age_us, self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> EventFrame:
        ttl, age_us, event = counted(fields, 3)
        return EventFrame(event_from_fields(event), as_int(ttl, 0, TTL_MAX), as_int(age_us, 0, FOREVER))
