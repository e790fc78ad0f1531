"""Which filters cover which, found out once for each pair.

Brokers ask the same question again and again: whenever a filter comes back after a neighbour was lost, and, in a
simulation, at every node. So the answers are kept for all brokers of an owner, until the next one comes. Filters have
numbers, and a set of filters is an int with a bit for each: what a broker would do filter by filter is an operation or
two on such ints.

It is a memory of answers and nothing else: what a broker learns from it is what `covers` would have told it. Numbers
depend on who else asked, so nothing that a broker does may depend on them.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.subtree.frames import UNKNOWN, filter_size
from roamcast.pubsub.covering import covers
from roamcast.pubsub.filters import Expression, Filter

MAX_KNOWN: Final = 4096
"""Ours: filters that are known together, unless a broker needs more room.

Each has up to three sets of them, so that is 8 MB at most, and four times as much for twice as many. They are kept as
long as a broker goes by their numbers: a simulation has one after another, at the worst one for each of its brokers.
"""

SPARE: Final = 2
"""Ours: where a broker needs more room, there is room for so many times its filters: others have some of their own. Not
for many times as many: memory is quadratic, and to move on costs little, as nothing is compared again."""

_OFFSETS: Final = [[offset for offset in range(8) if byte >> offset & 1] for byte in range(256)]


def key_of(filter: Filter) -> str:
    """Equal filters have equal keys; its length is also taken for the size of a filter in a table."""
    return filter.text if isinstance(filter, Expression) else repr(filter.fields())


def outranks(key: str, filter: Filter, other_key: str, other: Filter) -> bool:
    """Whether the first filter makes it needless to tell the second: it covers it.

    Of two filters that cover each other, the one with the lower key is told.
    """
    return covers(filter, other) and (key < other_key or not covers(other, filter))


@final
class Interest:
    """A filter, which ones it has been compared with, and which of them outrank it or are outranked by it."""

    __slots__ = ("above", "below", "bit", "bytes", "compared", "filter", "key")

    def __init__(self, key: str, filter: Filter, bit: int) -> None:
        self.key = key
        self.filter = filter
        self.bit = bit
        self.compared = bit
        self.above = 0
        self.below = 0
        self.bytes = UNKNOWN  # on the air

    def size(self) -> int:
        """Bytes of the filter on the air, counted once."""
        if self.bytes == UNKNOWN:
            self.bytes = filter_size(self.filter)
        return self.bytes


@final
class Kin:
    """Filters that are known together, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.by_key: dict[str, Interest] = {}
        self.by_number: list[Interest] = []
        self.outranked = 0  # all that others are above of
        self.outranking = 0

    def has_room(self, more: int) -> bool:
        return len(self.by_number) + more <= self.limit

    def know(self, key: str, filter: Filter, others: int) -> Interest:
        """The interest in this filter, compared with all these others."""
        interest = self.by_key.get(key)
        if interest is None:
            interest = Interest(key, filter, 1 << len(self.by_number))
            self.by_key[key] = interest
            self.by_number.append(interest)
        for other in self.those(others & ~interest.compared):
            self._compare(interest, other)
        return interest

    def _compare(self, one: Interest, other: Interest) -> None:
        one.compared |= other.bit
        other.compared |= one.bit
        if outranks(one.key, one.filter, other.key, other.filter):
            self._put_above(one, other)
        elif outranks(other.key, other.filter, one.key, one.filter):
            self._put_above(other, one)

    def _put_above(self, above: Interest, below: Interest) -> None:
        above.below |= below.bit
        below.above |= above.bit
        self.outranking |= above.bit
        self.outranked |= below.bit

    def inherit(self, older: Kin, used: int) -> None:
        """Know these filters of older kin, and what was found out about them there: nothing is compared again."""
        heirs = 0
        for interest in older.those(used):
            heirs |= self.know(interest.key, interest.filter, 0).bit
        for interest in older.those(used):
            heir = self.by_key[interest.key]
            is_compared_with_all = not used & ~interest.compared  # the rule, and cheaper than number by number
            heir.compared |= heirs if is_compared_with_all else self.renumbered(interest.compared & used, older)
            heir.above |= self.renumbered(interest.above & used, older)
            heir.below |= self.renumbered(interest.below & used, older)
            if heir.above:
                self.outranked |= heir.bit
            if heir.below:
                self.outranking |= heir.bit

    # ---- sets of filters

    def those(self, bits: int) -> list[Interest]:
        """The members of a set, in any order."""
        found: list[Interest] = []
        if bits:
            at = 0
            for byte in bits.to_bytes((bits.bit_length() + 7) >> 3, "little"):
                for offset in _OFFSETS[byte]:
                    found.append(self.by_number[at + offset])
                at += 8
        return found

    def renumbered(self, bits: int, older: Kin) -> int:
        """A set of older kin by the numbers its filters have here."""
        result = 0
        for interest in older.those(bits):
            result |= self.by_key[interest.key].bit
        return result

    def below(self, bits: int) -> int:
        """All that some of these outrank, as far as they have been compared."""
        result = 0
        for interest in self.those(bits & self.outranking):
            result |= interest.below
        return result

    def topmost(self, bits: int, others: int) -> int:
        """Those of the first that none of the others outranks."""
        for interest in self.those(bits & self.outranked):
            if interest.above & others:
                bits ^= interest.bit
        return bits


@final
class Lineage:
    """Where the filters that are known together become too many, newer ones begin again, with those still in use.

    They also begin again for the brokers of another owner, such as the next simulation of a process, whose filters are
    others: operations on sets cost least as long as all numbers are small.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.latest = Kin(limit)
        self.owner: object = None

    def of(self, owner: object) -> Kin:
        """What a new broker begins with."""
        if owner is not self.owner:
            self.owner = owner
            self.latest = Kin(self.limit)
        return self.latest

    def with_room(self, filters: int) -> Kin:
        if not self.latest.has_room(filters):
            self.latest = Kin(max(self.limit, SPARE * filters))
        return self.latest


KNOWN: Final = Lineage(MAX_KNOWN)
"""The comparisons of the brokers of one owner; they are dropped when a broker of another one comes up."""
