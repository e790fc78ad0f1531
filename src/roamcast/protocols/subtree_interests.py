"""What a broker of the subscription tree and its tree neighbours want, and what of it is worth telling on.

Every filter is here once, whoever wants it. A tree neighbour is told what somebody else wants, but what is covered by
another filter that somebody else wants (Baldoni §II, note 1). Going through all filters for every neighbour whenever
something may be new would cost more than everything else a broker does, so nothing is asked that cannot have changed:
  - which filters cover a new one is known from earlier comparisons (subtree_kin.py), and a filter that nobody wants any
    more is kept for a while in case it comes back;
  - what is worth telling to a neighbour changes only where a filter is wanted beyond it for the first time, or is no
    longer: that filter and those it covers are then in doubt for that neighbour, and looked at when it is told.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.interface import NOBODY
from roamcast.protocols.subtree_kin import KNOWN, Kin, key_of, outranks
from roamcast.pubsub.filters import Filter

OWN: Final = NOBODY
"""Who wants it, where it is the application on this node."""

IDLE_BEATS: Final = 10
"""Ours: heartbeats for which a filter that nobody wants is kept, with what covers it, in case it comes back."""


@final
class Interest:
    """A filter, which tree neighbours want it (OWN for this node), and its relations to other interests here."""

    __slots__ = ("above", "below", "filter", "idle", "key", "number", "sequence", "sources")

    def __init__(self, key: str, filter: Filter, sequence: int) -> None:
        self.key = key
        self.filter = filter
        self.sequence = sequence  # they are told in the order they came
        self.number = -1  # among the known ones (subtree_kin.py)
        self.sources: dict[int, int] = {}  # how often each wants it
        self.above: list[Interest] = []  # those that make it needless to tell this one
        self.below: list[Interest] = []
        self.idle = 0

    def is_wanted_beyond(self, peer: int) -> bool:
        """Whether somebody else than this tree neighbour wants it."""
        n = len(self.sources)
        return n > 1 or (n == 1 and peer not in self.sources)

    def is_worth_telling(self, peer: int) -> bool:
        """Whether others than this neighbour want it, and none of them wants it as part of something larger."""
        if not self.is_wanted_beyond(peer):
            return False
        for other in self.above:  # noqa: SIM110 (interpreted, a generator costs more than the loop)
            if other.is_wanted_beyond(peer):
                return False
        return True

    def goes_below(self, other: Interest) -> None:
        self.above.append(other)
        other.below.append(self)


@final
class Interests:
    """All interests of a broker and its tree neighbours, by their keys."""

    def __init__(self, known: Kin = KNOWN) -> None:
        self.known = known
        self.rows: dict[str, Interest] = {}
        self.next_sequence = 0
        self.idle: dict[str, Interest] = {}  # that nobody wants
        self.doubts: dict[int, dict[str, Interest]] = {}  # by tree neighbour
        self.era = 0  # of the numbers below
        self.numbered: dict[int, Interest] = {}
        self.numbers = 0  # a bit for each

    # ---- who wants what

    def want(self, filter: Filter, source: int) -> Interest:
        key = key_of(filter)
        interest = self.rows.get(key)
        if interest is None:
            interest = self._added(key, filter)
        sources = interest.sources
        if source in sources:
            sources[source] += 1
            return interest
        if not sources:
            interest.idle = 0
            self.idle.pop(key, None)
        sources[source] = 1
        self._source_changed(interest, source, len(sources) - 1)
        return interest

    def unwant(self, interest: Interest, source: int) -> None:
        """Somebody who wants it wants it once less."""
        sources = interest.sources
        left = sources.get(source, 0) - 1
        if left > 0:
            sources[source] = left
        elif left == 0:
            del sources[source]
            if not sources:
                self.idle[interest.key] = interest
            self._source_changed(interest, source, len(sources))

    def unwant_own(self, filter: Filter) -> None:
        self.unwant(self.rows[key_of(filter)], OWN)

    def forget_the_idle(self) -> None:
        """Interests that nobody has had for a while go. Called with every heartbeat."""
        gone: list[Interest] = []
        for interest in self.idle.values():
            interest.idle += 1
            if interest.idle > IDLE_BEATS:
                gone.append(interest)
        for interest in gone:
            self._forget(interest)

    def _forget(self, interest: Interest) -> None:
        del self.rows[interest.key], self.idle[interest.key]
        for other in interest.above:
            other.below.remove(interest)
        for other in interest.below:
            other.above.remove(interest)
        if self.numbered.pop(interest.number, None) is not None:
            self.numbers ^= 1 << interest.number

    # ---- what covers what

    def _added(self, key: str, filter: Filter) -> Interest:
        interest = Interest(key, filter, self.next_sequence)
        self.next_sequence += 1
        if 2 * len(self.rows) < self.known.limit:
            self._relate(interest)
        else:
            self._relate_plainly(interest)
        self.rows[key] = interest
        self.idle[key] = interest
        return interest

    def _relate(self, interest: Interest) -> None:
        known = self.known
        known.make_room(1)
        if self.era != known.era:
            self._renumber()
        number = known.number_of(interest.key, interest.filter)
        relations = known.compared(number, self.numbers)
        for above in relations.above:
            other = self.numbered.get(above)
            if other is not None:
                interest.goes_below(other)
        for below in relations.below:
            other = self.numbered.get(below)
            if other is not None:
                other.goes_below(interest)
        self._number(interest, number)

    def _relate_plainly(self, interest: Interest) -> None:
        """For a table that is too large to be known as a whole."""
        for other in self.rows.values():
            if outranks(other.key, other.filter, interest.key, interest.filter):
                interest.goes_below(other)
            elif outranks(interest.key, interest.filter, other.key, other.filter):
                other.goes_below(interest)
        self.era = 0

    def _renumber(self) -> None:
        self.known.make_room(len(self.rows) + 1)
        self.era = self.known.era
        self.numbered.clear()
        self.numbers = 0
        for interest in self.rows.values():
            self._number(interest, self.known.number_of(interest.key, interest.filter))

    def _number(self, interest: Interest, number: int) -> None:
        interest.number = number
        self.numbered[number] = interest
        self.numbers |= 1 << number

    # ---- what is worth telling

    def worth_telling(self, peer: int) -> list[Interest]:
        """All that a tree neighbour is to be told, in order."""
        return [interest for interest in self.rows.values() if interest.is_worth_telling(peer)]

    def in_doubt(self, peer: int) -> dict[str, Interest]:
        """The interests that a neighbour may have to be told of, or that they are no longer wanted, in any order."""
        return self.doubts[peer]

    def settle(self, peer: int, left: dict[str, Interest]) -> None:
        """The neighbour has been told, but of what is left; from now on there are doubts wherever something changes."""
        self.doubts[peer] = left

    def forget_peer(self, peer: int) -> None:
        self.doubts.pop(peer, None)

    def _source_changed(self, interest: Interest, source: int, others: int) -> None:
        """This one wants it now, or no longer; so many others do. For whom does that make a difference?"""
        if others == 0:
            for peer, doubts in self.doubts.items():
                if peer != source:
                    _doubt(interest, doubts)
        elif others == 1:
            for only in interest.sources:
                if only != source and only in self.doubts:
                    _doubt(interest, self.doubts[only])


def _doubt(interest: Interest, doubts: dict[str, Interest]) -> None:
    doubts[interest.key] = interest
    for other in interest.below:
        doubts[other.key] = other


def in_order(interests: list[Interest]) -> list[Interest]:
    return sorted(interests, key=_sequence) if len(interests) > 1 else interests


def _sequence(interest: Interest) -> int:
    return interest.sequence
