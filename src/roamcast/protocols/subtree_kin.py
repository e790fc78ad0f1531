"""Which filters cover which, found out once for each pair.

Brokers ask the same question again and again: whenever a filter comes back after a neighbour was lost, and, in a
simulation, at every node. So the answers are kept, for all brokers of a process, up to a limit. Filters have numbers,
and sets of filters are ints with a bit for each number: one operation tells whether a filter has been compared with all
that a broker has.

It is a memory of answers and nothing else: what a broker learns from it is what `covers` would have told it.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.pubsub.covering import covers
from roamcast.pubsub.filters import Expression, Filter

MAX_COMPARED: Final = 4096
"""Ours: filters whose comparisons are kept, which takes 2 MB at most; then everything is forgotten."""


def key_of(filter: Filter) -> str:
    """Equal filters have equal keys; its length is also taken for the size of a filter in a table."""
    return filter.text if isinstance(filter, Expression) else repr(filter.fields())


def outranks(key: str, filter: Filter, other_key: str, other: Filter) -> bool:
    """Whether the first filter makes it needless to tell the second: it covers it.

    Of two filters that cover each other, the one with the lower key is told.
    """
    return covers(filter, other) and (key < other_key or not covers(other, filter))


@final
class Relations:
    """A filter, which ones it has been compared with, and the numbers of those that outrank it or that it outranks."""

    __slots__ = ("above", "below", "compared", "filter", "key")

    def __init__(self, key: str, filter: Filter) -> None:
        self.key = key
        self.filter = filter
        self.compared = 0
        self.above: list[int] = []
        self.below: list[int] = []


@final
class Kin:
    """Relations by number. `era` counts how often everything was forgotten: numbers of another era mean nothing."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.era = 1
        self.numbers: dict[str, int] = {}
        self.relations: list[Relations] = []

    def make_room(self, more: int) -> None:
        if len(self.relations) + more > self.limit:
            self.era += 1
            self.numbers.clear()
            self.relations.clear()

    def number_of(self, key: str, filter: Filter) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = len(self.relations)
            self.numbers[key] = number
            self.relations.append(Relations(key, filter))
        return number

    def compared(self, number: int, others: int) -> Relations:
        """The relations of a filter, once it has been compared with all these others."""
        relations = self.relations[number]
        if relations.compared & others != others:
            missing = others & ~relations.compared
            while missing:
                lowest = missing & -missing
                missing ^= lowest
                self.compare(number, lowest.bit_length() - 1)
        return relations

    def compare(self, a: int, b: int) -> None:
        one, other = self.relations[a], self.relations[b]
        one.compared |= 1 << b
        other.compared |= 1 << a
        if outranks(one.key, one.filter, other.key, other.filter):
            one.below.append(b)
            other.above.append(a)
        elif outranks(other.key, other.filter, one.key, one.filter):
            one.above.append(b)
            other.below.append(a)


KNOWN: Final = Kin(MAX_COMPARED)
"""The comparisons of this process."""
