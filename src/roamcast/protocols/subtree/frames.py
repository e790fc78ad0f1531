"""The frames of the subscription tree except the one for events, and their encoding. `protocol.py` uses them."""

from __future__ import annotations

from typing import Any, Final, final

import msgspec

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.tree import VERSION_MAX, PlaceHeartbeat, as_place
from roamcast.protocols.kit.wire import as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.filters import Filter, filter_from_fields

NUMBER_MAX: Final = (1 << 32) - 1
MAX_LINKS: Final = 64
PER_FRAME: Final = 16
"""Ours: the most filters in a frame; with four attributes each that is about a kilobyte."""
REMOVED_PER_FRAME: Final = 256

UNKNOWN: Final = -1
"""The size of filters whose bytes are not counted yet."""


def filter_size(filter: Filter) -> int:
    """Bytes of a filter on the air."""
    return len(msgspec.msgpack.encode(filter.fields()))


def _array_size(n: int) -> int:
    """Bytes of the header of an array, which has fewer than 65,536 elements here."""
    return 1 if n < 16 else 3


@final
class Heartbeat(PlaceHeartbeat):
    """A broker's place, and the versions received from each tree neighbour: id, version, id, …"""

    __slots__ = ("links",)

    def __init__(self, tree: int, count: int, level: int, parent: int, links: list[int]) -> None:
        super().__init__(tree, count, level, parent)
        self.links = links
        self.size = measure(self.fields())

    def fields(self) -> list[Any]:
        return [self.tree, self.count, self.level, self.parent, self.links]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Heartbeat:
        (links,) = counted(fields[4:], 1)
        tree, count, level, parent = as_place(fields[:4])
        listed = [as_int(value) for value in as_list(links, 2 * MAX_LINKS)]
        if len(listed) % 2:
            raise Malformed("heartbeat")
        return Heartbeat(tree, count, level, parent, listed)

    def version_of(self, peer: int) -> int | None:
        """The version that the sender has received from this tree neighbour; None if it does not list the neighbour."""
        for index in range(0, len(self.links), 2):
            if self.links[index] == peer:
                return self.links[index + 1]
        return None


@final
class Join(Frame):
    """To the new parent: the sender is its child now."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("join", 0, 2)

    def fields(self) -> list[Any]:
        return []

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Join:
        counted(fields, 0)
        return Join()


@final
class Subscribe(Frame):
    """The filters whose events the sender wants from the receiver, as changes to version `base` (0: to no filters).

    `added` has pairs of a number and a filter; `removed` has numbers of earlier ones.
    """

    __slots__ = ("added", "base", "removed", "version")

    def __init__(
        self,
        base: int,
        version: int,
        added: list[tuple[int, Filter]],
        removed: list[int],
        filters_size: int = UNKNOWN,
    ) -> None:
        self.base = base
        self.version = version
        self.added = added
        self.removed = removed
        if filters_size == UNKNOWN:  # a sender knows the size: a filter is sent many times, and encoding it takes long
            filters_size = sum([filter_size(filter) for _, filter in added])
        size = 2 + uint_size(base) + uint_size(version) + _array_size(len(added)) + _array_size(len(removed))
        size += filters_size
        for number, _ in added:
            size += 1 + uint_size(number)
        for number in removed:
            size += uint_size(number)
        super().__init__("subscribe", 0, size)

    def fields(self) -> list[Any]:
        return [self.base, self.version, [[n, filter.fields()] for n, filter in self.added], self.removed]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Subscribe:
        base, version, added, removed = counted(fields, 4)
        pairs = [counted(as_list(pair), 2) for pair in as_list(added, PER_FRAME)]
        return Subscribe(
            as_int(base, 0, VERSION_MAX),
            as_int(version, 1, VERSION_MAX),
            [(as_int(pair[0], 0, NUMBER_MAX), filter_from_fields(pair[1])) for pair in pairs],
            [as_int(number, 0, NUMBER_MAX) for number in as_list(removed, REMOVED_PER_FRAME)],
        )
