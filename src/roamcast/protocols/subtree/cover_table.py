"""Which filters cover which, computed once for each pair, and which match an event, computed once for each event.

Brokers compare the same filters again and again: whenever a filter comes back after a neighbour was lost, and, in a
simulation, at every node. There, they also match the same event with the same filters. So the results are shared by all
brokers of one owner, until a broker of another owner comes up. Filters have numbers, and a set of filters is an int
with one bit for each filter. Then an operation or two on such ints replaces a loop over filters.

A table holds only results of `covers` and `matches`, so a broker learns nothing from it that it could not compute
itself. The numbers depend on which other brokers use the table. Therefore nothing that a broker does may depend on
them.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.subtree.frames import UNKNOWN, filter_size
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Expression, Filter

MAX_FILTERS: Final = 4096
"""Ours: the most filters in one table, unless a broker needs more room.

Each filter has up to three sets of filters, so a table takes 8 MB at most, and four times as much for twice as many
filters. A table lives as long as a broker uses its numbers: a simulation has one table after another, and in the worst
case one for each of its brokers.
"""

SPARE: Final = 2
"""Ours: a larger table has room for this many times the filters of the broker that needs it, because other brokers have
filters of their own. It is not more, because memory is quadratic, and moving to another table costs little: nothing is
compared again."""

MAX_EVENTS: Final = 256
"""Ours: the events whose matching filters a table remembers; the oldest gives way. An event is soon everywhere."""

_OFFSETS: Final = [[offset for offset in range(8) if byte >> offset & 1] for byte in range(256)]


def key_of(filter: Filter) -> str:
    """Equal filters have equal keys. The length of the key also counts as the size of a filter in memory."""
    return filter.text if isinstance(filter, Expression) else repr(filter.fields())


def replaces(key: str, filter: Filter, other_key: str, other: Filter) -> bool:
    """Whether the second filter need not be advertised beside the first, because the first covers it.

    Of two filters that cover each other, the one with the lower key is advertised.
    """
    return covers(filter, other) and (key < other_key or not covers(other, filter))


@final
class KnownFilter:
    """A filter, the filters it was compared with, those that replace it, and those that it replaces."""

    __slots__ = ("bit", "bytes", "compared", "filter", "key", "replaced", "replaced_by")

    def __init__(self, key: str, filter: Filter, bit: int) -> None:
        self.key = key
        self.filter = filter
        self.bit = bit
        self.compared = bit
        self.replaced_by = 0
        self.replaced = 0
        self.bytes = UNKNOWN

    def size(self) -> int:
        """Bytes of the filter on the air, counted once."""
        if self.bytes == UNKNOWN:
            self.bytes = filter_size(self.filter)
        return self.bytes


@final
class MatchedEvent:
    """An event, the filters it was matched with, and those of them that match it."""

    __slots__ = ("event", "matching", "tried")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.tried = 0
        self.matching = 0


@final
class CoverTable:
    """Filters with numbers, up to a limit, and what is known about pairs of them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.by_key: dict[str, KnownFilter] = {}
        self.by_number: list[KnownFilter] = []
        self.all_replaced = 0  # the filters that another one replaces
        self.all_replacing = 0  # the filters that replace another one
        self.events: dict[int, MatchedEvent] = {}  # by their ids

    def has_room(self, filters: int) -> bool:
        return len(self.by_number) + filters <= self.limit

    def add(self, key: str, filter: Filter, others: int) -> KnownFilter:
        """The entry of this filter, compared with all these others."""
        known = self.by_key.get(key)
        if known is None:
            known = KnownFilter(key, filter, 1 << len(self.by_number))
            self.by_key[key] = known
            self.by_number.append(known)
        for other in self.members(others & ~known.compared):
            self._compare(known, other)
        return known

    def _compare(self, one: KnownFilter, other: KnownFilter) -> None:
        one.compared |= other.bit
        other.compared |= one.bit
        if replaces(one.key, one.filter, other.key, other.filter):
            self._record(one, other)
        elif replaces(other.key, other.filter, one.key, one.filter):
            self._record(other, one)

    def _record(self, replacing: KnownFilter, replaced: KnownFilter) -> None:
        replacing.replaced |= replaced.bit
        replaced.replaced_by |= replacing.bit
        self.all_replacing |= replacing.bit
        self.all_replaced |= replaced.bit

    def copy_from(self, older: CoverTable, used: int) -> None:
        """Add these filters of an older table with what is known about them, so that nothing is compared again."""
        copies = 0
        for known in older.members(used):
            copies |= self.add(known.key, known.filter, 0).bit
        for known in older.members(used):
            copy = self.by_key[known.key]
            copy.bytes = known.bytes
            is_compared_with_all = not used & ~known.compared  # mostly so, and cheaper than number by number
            copy.compared |= copies if is_compared_with_all else self.renumbered(known.compared & used, older)
            copy.replaced_by |= self.renumbered(known.replaced_by & used, older)
            copy.replaced |= self.renumbered(known.replaced & used, older)
            if copy.replaced_by:
                self.all_replaced |= copy.bit
            if copy.replaced:
                self.all_replacing |= copy.bit

    # ---- events

    def any_matches(self, bits: int, event: Event) -> bool:
        """Whether one of these filters matches an event."""
        known = self.events.get(event.id)
        if known is None or known.event is not event:
            known = MatchedEvent(event)
            if len(self.events) >= MAX_EVENTS:
                del self.events[next(iter(self.events))]
            self.events[event.id] = known
        untried = bits & ~known.tried
        if untried:
            known.tried |= untried
            for member in self.members(untried):
                if member.filter.matches(event):
                    known.matching |= member.bit
        return bits & known.matching != 0

    # ---- sets of filters

    def members(self, bits: int) -> list[KnownFilter]:
        """The members of a set, in any order."""
        members: list[KnownFilter] = []
        if bits:
            first = 0
            for byte in bits.to_bytes((bits.bit_length() + 7) >> 3, "little"):
                for offset in _OFFSETS[byte]:
                    members.append(self.by_number[first + offset])
                first += 8
        return members

    def renumbered(self, bits: int, older: CoverTable) -> int:
        """A set of an older table, with the numbers that its filters have here."""
        result = 0
        for known in older.members(bits):
            result |= self.by_key[known.key].bit
        return result

    def replaced_by_any(self, bits: int) -> int:
        """All filters that some of these replace, as far as they have been compared."""
        result = 0
        for known in self.members(bits & self.all_replacing):
            result |= known.replaced
        return result

    def not_replaced(self, bits: int, others: int) -> int:
        """Those filters of the first set that no filter of the second replaces."""
        for known in self.members(bits & self.all_replaced):
            if known.replaced_by & others:
                bits ^= known.bit
        return bits


@final
class SharedTables:
    """The table that new brokers share.

    When it is full, a new one begins with the filters that are still in use. A new one also begins for the brokers of
    another owner, such as the next simulation in the same process, which has other filters: operations on sets are
    cheapest while all numbers are small.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.latest = CoverTable(limit)
        self.owner: object = None

    def for_owner(self, owner: object) -> CoverTable:
        """The table for a new broker."""
        if owner is not self.owner:
            self.owner = owner
            self.latest = CoverTable(self.limit)
        return self.latest

    def with_room(self, filters: int) -> CoverTable:
        if not self.latest.has_room(filters):
            self.latest = CoverTable(max(self.limit, SPARE * filters))
        return self.latest


SHARED: Final = SharedTables(MAX_FILTERS)
"""For the brokers of one owner; dropped when a broker of another one comes up.

This is the one object at module level that changes while protocols run (kit/interface.py). Without it every broker of a
simulation would compare the same filters.
"""
