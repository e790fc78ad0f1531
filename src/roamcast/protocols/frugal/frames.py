"""The frames of frugal dissemination (protocol.py): heartbeats, lists of ids, and events.

In the simulator all receivers share a frame. So a list of ids remembers which of them are new since the sender's last
list, and not every receiver computes that.

Ids that are only looked up are Python objects here (`Id`), passed from table to table and from frame to frame. Compiled
code would unpack an int and make a new object for every lookup, and a thousand nodes, each with its own objects for the
same few ids, would find none of them in the processor's cache. For the same reason ids of events are changed by
`table_id`.
"""

from __future__ import annotations

from math import isfinite, isnan, nan
from typing import Any, Final, final

from mypy_extensions import i64

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import as_float, as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields
from roamcast.pubsub.filters import Filter, filter_from_fields

Id = Any

AS_ENCODED: Final = -1
MOST: Final = 4096
"""The most elements of any list in a frame."""
NODE_MAX: Final = (1 << 31) - 1

PAPER_HEARTBEAT_BYTES: Final = 50
PAPER_EVENT_BYTES: Final = 400
PAPER_ID_BYTES: Final = 16
"""Their sizes in the paper (§5.2), with `sizes="paper"`."""


def table_id(id: int) -> Id:
    """An event's id as the key of a table, and the inverse; both are equally long in a frame.

    A dict places an int by its last bits, and ids end in the sequence numbers of publishers: the ids of events that
    many nodes publish at about the same time would all have the same place. For ids that are not below 0.
    """
    return id ^ id >> 32


@final
class Heartbeat(Frame):
    """The sender's subscriptions, and its speed in m/s (NaN if it has no tachometer; then nil is sent)."""

    __slots__ = ("speed_mps", "subscriptions")

    def __init__(self, subscriptions: list[Filter], speed_mps: float, size: int = 0) -> None:
        super().__init__("heartbeat", 0, size)
        self.subscriptions = subscriptions
        self.speed_mps = speed_mps
        if not size:
            self.size = measure(self.fields())

    def fields(self) -> list[Any]:
        return [[f.fields() for f in self.subscriptions], None if isnan(self.speed_mps) else self.speed_mps]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Heartbeat:
        subscriptions, speed = counted(fields, 2)
        return Heartbeat([filter_from_fields(f) for f in as_list(subscriptions, MOST)], _speed_from_field(speed))


def _speed_from_field(field: object) -> float:
    if field is None:
        return nan
    speed_mps = as_float(field)
    if not isfinite(speed_mps) or speed_mps < 0:
        raise Malformed("no speed")
    return speed_mps


@final
class EventsIds(Frame):
    """The ids of the valid events that the sender holds on the topics of the neighbours it answers."""

    __slots__ = ("_added", "_earlier", "ids")

    def __init__(self, ids: list[Id], size: int = AS_ENCODED) -> None:
        super().__init__("ids", 0, size)
        self.ids = ids  # changed by `table_id`
        self._earlier: EventsIds | None = None
        self._added: list[Id] = []
        if size == AS_ENCODED:
            self.size = 2 + ints_size(ids)

    def added(self, earlier: EventsIds) -> list[Id]:
        """The ids that an earlier list does not have."""
        if self._earlier is not earlier:
            self._added = self._compare(earlier)
            self._earlier = earlier
            earlier._earlier = None  # otherwise each list would keep all earlier ones alive
        return self._added

    def _compare(self, earlier: EventsIds) -> list[Id]:
        """Two lists of one sender mostly differ by some ids that are gone and some new ones at the end."""
        ids = self.ids
        n: i64 = len(ids)
        same: i64 = 0
        gone: dict[Id, None] = {}
        for id in earlier.ids:
            if same < n and ids[same] is id:
                same += 1
            else:
                gone[id] = None
        return [id for id in ids[same:] if id not in gone]

    def fields(self) -> list[Any]:
        return [[table_id(id) for id in self.ids]]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> EventsIds:
        (ids,) = counted(fields, 1)
        return EventsIds([table_id(as_int(id)) for id in as_list(ids, MOST)])


@final
class Events(Frame):
    """Events, the age of each when it was handed to the MAC, and the neighbours of the sender that are interested."""

    __slots__ = ("ages_us", "carried", "ids", "neighbors_ids")

    def __init__(
        self,
        carried: list[Event],
        ages_us: list[int],
        neighbors_ids: list[Id],
        size: int = 0,
        ids: list[Id] | None = None,
    ) -> None:
        super().__init__("event", 0, size)
        self.carried = carried
        self.ids = [table_id(event.id) for event in carried] if ids is None else ids
        self.ages_us = ages_us
        self.neighbors_ids = neighbors_ids
        if not size:
            total = 0
            for k, event in enumerate(carried):
                total += event_bytes(event, ages_us[k])
            self.size = events_frame_bytes(len(carried), total) + ints_size(neighbors_ids)

    def events(self) -> list[Event]:
        return self.carried

    def fields(self) -> list[Any]:
        flat: list[Any] = []
        for event, age_us in zip(self.carried, self.ages_us, strict=True):
            flat.append(age_us)
            flat.append(event.fields())
        return [flat, self.neighbors_ids]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Events:
        flat, neighbors_ids = counted(fields, 2)
        pairs = as_list(flat, 2 * MOST)
        if not pairs or len(pairs) % 2:
            raise Malformed("no events, or one without its age")
        return Events(
            [event_from_fields(event) for event in pairs[1::2]],
            [as_int(age_us, 0, FOREVER) for age_us in pairs[0::2]],
            [as_int(id, 0, NODE_MAX) for id in as_list(neighbors_ids, MOST)],
        )


def event_bytes(event: Event, age_us: int) -> int:
    return uint_size(age_us) + event.size


def events_frame_bytes(events: int, events_bytes: int) -> int:
    """The size of a frame of events, without the neighbours it names."""
    return 2 + header_size(2 * events) + events_bytes


def ids_frame_bytes(ids: int, ids_bytes: int) -> int:
    return 2 + header_size(ids) + ids_bytes


def header_size(n: int) -> int:
    """The size of the header of a msgpack array."""
    return 1 if n < 16 else 3


def ints_size(ints: list[Any]) -> int:
    size = header_size(len(ints))
    for n in ints:
        size += uint_size(n)
    return size
