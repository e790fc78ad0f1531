"""The frames of proximity-driven routing (protocol.py): beacons, and messages with their destination lists."""

from __future__ import annotations

from typing import Any, Final, final

from librt.vecs import append, extend, vec
from mypy_extensions import i64

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields
from roamcast.pubsub.filters import Filter, filter_from_fields

ADJACENT: Final = 0
FARTHEST: Final = 1000
INFINITE: Final = 1 << 30
"""Proximity in thousandths: of a neighbour, after `table_age` missed beacons, and of an unknown broker (§IV)."""

CREDIT_MAX: Final = 255
BROKER_MAX: Final = (1 << 31) - 1
DESTINATIONS_MAX: Final = 2048

MAX_LOWERED: Final = 16
"""Ours: searching this many in a row is about as fast as one lookup."""


@final
class Beacon(Frame):
    """The predicate that summarises the sender's subscription table."""

    __slots__ = ("predicate",)

    def __init__(self, predicate: Filter) -> None:
        super().__init__("beacon", 0, measure([predicate.fields()]))
        self.predicate = predicate

    def fields(self) -> list[Any]:
        return [self.predicate.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Beacon:
        (predicate,) = counted(fields, 1)
        return Beacon(filter_from_fields(predicate))


@final
class Destinations:
    """A destination list, {broker: proximity}: a value that does not change.

    Lists get long and change little from hop to hop. So a list shares `base` with the list it was made from, and has
    the brokers that were `lowered` or added since (broker, proximity, broker, …), up to `MAX_LOWERED`. `size` is how
    many bytes brokers and proximities take in a frame.
    """

    __slots__ = ("base", "count", "lowered", "size")

    def __init__(self, base: dict[int, int], lowered: vec[i64], count: int, size: int) -> None:
        self.base = base
        self.lowered = lowered
        self.count = count
        self.size = size

    def proximity(self, broker: i64) -> i64:
        """Infinite for a broker that is not on the list."""
        lowered = self.lowered
        for index in range(i64(0), i64(len(lowered)), 2):
            if lowered[index] == broker:
                return lowered[index + 1]
        return self.base.get(broker, INFINITE)

    def items(self) -> dict[int, int]:
        """In the order in which brokers were added."""
        items = dict(self.base)
        _put(items, self.lowered)
        return items

    def changed(self, closer: vec[i64], count: int, size: int) -> Destinations:
        """The list with these proximities (broker, proximity, broker, …) instead of its own."""
        if len(self.lowered) + len(closer) > 2 * MAX_LOWERED:
            base = self.items()
            _put(base, closer)
            return Destinations(base, vec[i64](), count, size)
        lowered = extend(vec[i64](capacity=len(self.lowered) + len(closer)), self.lowered)
        for index in range(i64(0), i64(len(closer)), 2):
            broker = closer[index]
            place: i64 = 0
            while place < len(lowered) and lowered[place] != broker:
                place += 2
            if place < len(lowered):
                lowered[place + 1] = closer[index + 1]
            else:
                lowered = append(append(lowered, broker), closer[index + 1])
        return Destinations(self.base, lowered, count, size)


def _put(destinations: dict[int, int], changes: vec[i64]) -> None:
    for index in range(i64(0), i64(len(changes)), 2):
        destinations[changes[index]] = changes[index + 1]


def destination_list(destinations: dict[int, int]) -> Destinations:
    size = 0
    for broker, proximity in destinations.items():
        size += uint_size(broker) + uint_size(proximity)
    return Destinations(destinations, vec[i64](), len(destinations), size)


@final
class Message(Frame):
    """An event on its way: its credit, its destination list, and its age when handed to the MAC.

    The list is sent flat: broker, proximity, broker, proximity, … The age is sent because clocks are not shared.
    """

    __slots__ = ("age_us", "credit", "event", "list")

    def __init__(self, event: Event, credit: int, destinations: Destinations | dict[int, int], age_us: int) -> None:
        self.kind = "event"  # not by super().__init__: this is made for every transmission
        self.id = event.id
        self.cargo = event
        self.event = event
        self.credit = credit
        self.list = destinations if isinstance(destinations, Destinations) else destination_list(destinations)
        self.age_us = age_us
        header = 1 if self.list.count < 8 else 3  # msgpack: up to 15 elements, up to 65,535
        self.size = 2 + uint_size(credit) + uint_size(age_us) + header + self.list.size + event.size

    @property
    def destinations(self) -> dict[int, int]:
        return self.list.items()

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        flat: list[int] = []
        for broker, proximity in self.destinations.items():
            flat.append(broker)
            flat.append(proximity)
        return [self.credit, self.age_us, flat, self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Message:
        credit, age_us, flat, event = counted(fields, 4)
        destinations = _destinations_from_fields(flat)
        age_us = as_int(age_us, 0, FOREVER)
        return Message(event_from_fields(event), as_int(credit, 0, CREDIT_MAX), destinations, age_us)


def _destinations_from_fields(flat: object) -> dict[int, int]:
    pairs = as_list(flat, 2 * DESTINATIONS_MAX)
    destinations: dict[int, int] = {}
    for at in range(0, len(pairs) - 1, 2):
        destinations[as_int(pairs[at], 0, BROKER_MAX)] = as_int(pairs[at + 1], 0, FARTHEST)
    if 2 * len(destinations) != len(pairs):
        raise Malformed("a destination twice, or without its proximity")
    return destinations
