"""What a broker of the subscription tree and its tree neighbours want, and what of it is worth telling on.

A tree neighbour is told what somebody else wants, but what is covered by another filter that somebody else wants
(Baldoni §II, note 1). Going through all filters for every neighbour whenever something may be new would cost more than
everything else a broker does. So what each one wants, and was told, are sets with a bit for each filter, and which
filters cover which is known from earlier comparisons (kin.py). What is worth telling to a neighbour changes
only where a filter is wanted beyond it that was not when it was told last, or is no longer: that filter and those it
covers are looked at, and no others.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.subtree.kin import KNOWN, Interest, Lineage, key_of
from roamcast.pubsub.filters import Filter

OWN: Final = NOBODY
"""Who wants it, where it is the application on this node."""

MAX_FILTERS: Final = 8192
"""Ours: filters that a broker knows before there is no room for more of its neighbours' (R9): eight full tables.

What is known of filters is quadratic in them. With the room to spare (kin.py) these take 110 MB at the worst, a
third of it where few cover others. Those of the application are always known: where they are more, it takes more.
"""

IDLE_BEATS: Final = 10
"""Ours: heartbeats for which a filter that nobody wants keeps its place in the order, in case it comes back."""


@final
class Side:
    """What a tree neighbour (OWN: this node) wants, and what it was told that others want: sets of filters."""

    __slots__ = ("again", "beyond", "stale", "told", "wanted")

    def __init__(self) -> None:
        self.wanted = 0
        self.again: dict[str, int] = {}  # what it wants more than once, and how many times more
        self.told = 0
        self.stale = 0  # of that, what is not worth telling any more
        self.beyond = 0  # what others wanted when it was told last

    def forget_told(self) -> None:
        self.told = self.stale = self.beyond = 0


@final
class Interests:
    """The filters that a broker and its tree neighbours want or wanted lately, in the order they became known.

    Brokers of one owner share comparisons (kin.py).
    """

    def __init__(self, owner: object = None, known: Lineage = KNOWN) -> None:
        self.room = MAX_FILTERS
        self.known = known
        self.kin = known.of(owner)
        self.sides: dict[int, Side] = {}
        self.order: dict[Interest, int] = {}
        self.next_place = 0
        self.rows = 0  # the same filters as a set
        self.parted = 0  # what somebody wanted after the last heartbeat and perhaps nobody does now
        self.lately: list[int] = []  # what was wanted at any time between two heartbeats, the last ones

    # ---- who wants what

    def side(self, source: int) -> Side:
        side = self.sides.get(source)
        if side is None:
            side = Side()
            self.sides[source] = side
        return side

    def want(self, filter: Filter, side: Side) -> None:
        key = key_of(filter)
        interest = self.kin.by_key.get(key)
        if interest is None or not self.rows & interest.bit:
            interest = self._added(key, filter)
        if side.wanted & interest.bit:
            side.again[key] = side.again.get(key, 0) + 1
        else:
            side.wanted |= interest.bit

    def unwant(self, filter: Filter, side: Side) -> None:
        """Somebody who wants it wants it once less."""
        key = key_of(filter)
        more = side.again.pop(key, 0)
        if more == 0:
            bit = self.kin.by_key[key].bit
            side.wanted &= ~bit
            self.parted |= bit
        elif more > 1:
            side.again[key] = more - 1

    def unwant_all(self, side: Side) -> None:
        self.parted |= side.wanted
        side.wanted = 0
        side.again.clear()

    def forget_side(self, source: int) -> None:
        side = self.sides.pop(source, None)
        if side is not None:
            self.parted |= side.wanted

    def has_room_for(self, filter: Filter) -> bool:
        """A filter that is known already needs no room."""
        if len(self.order) < self.room:
            return True
        interest = self.kin.by_key.get(key_of(filter))
        return interest is not None and self.rows & interest.bit != 0

    def _added(self, key: str, filter: Filter) -> Interest:
        if key not in self.kin.by_key and not self.kin.has_room(1):
            self._move()
        interest = self.kin.know(key, filter, self.rows)
        self.rows |= interest.bit
        self.order[interest] = self.next_place
        self.next_place += 1
        return interest

    def forget_the_idle(self) -> None:
        """Filters that nobody has wanted for a while go. Called with every heartbeat."""
        wanted = self.parted
        for side in self.sides.values():
            wanted |= side.wanted
        self.parted = 0
        self.lately.append(wanted)
        if len(self.lately) > IDLE_BEATS:
            gone = self.lately.pop(0)
            for later in self.lately:
                gone &= ~later
            self.rows &= ~gone
            for interest in self.kin.those(gone):
                del self.order[interest]

    # ---- what is worth telling

    def beyond(self, side: Side) -> int:
        """What somebody else than this tree neighbour wants."""
        wanted = 0
        for other in self.sides.values():
            if other is not side:
                wanted |= other.wanted
        return wanted

    def news(self, side: Side, removals: bool) -> tuple[list[Interest], list[Interest]]:
        """What a neighbour is to be told, in order, and of what that it is no longer wanted; from now on it was told.

        What is no longer wanted can be left for later.
        """
        beyond = self.beyond(side)
        changed = beyond ^ side.beyond
        if not changed and not side.stale:
            return [], []
        # what it was told and nobody wants now is among the changed, or was stale before
        doubtful = changed | side.stale | (self.kin.below(changed) & beyond)
        worth = self.kin.topmost(doubtful & beyond, beyond)
        added, side.stale = worth & ~side.told, doubtful & side.told & ~worth
        side.beyond = beyond
        side.told |= added
        removed = side.stale if removals else 0
        side.told ^= removed
        side.stale ^= removed
        return self.in_order(added), self.kin.those(removed)

    def in_order(self, bits: int) -> list[Interest]:
        interests = self.kin.those(bits)
        if len(interests) > 1:
            interests.sort(key=self.order.__getitem__)
        return interests

    # ---- where so many filters are known together that there is no room for another

    def _move(self) -> None:
        old, used = self.kin, self.rows
        for side in self.sides.values():
            used |= side.told | side.beyond
        self.kin = self.known.with_room(used.bit_count() + 1)
        self.kin.inherit(old, used)
        self.order = {self.kin.by_key[interest.key]: place for interest, place in self.order.items()}
        self.rows = self.kin.renumbered(self.rows, old)
        self.parted = self.kin.renumbered(self.parted, old)
        self.lately = [self.kin.renumbered(wanted, old) for wanted in self.lately]
        for side in self.sides.values():
            side.wanted = self.kin.renumbered(side.wanted, old)
            side.told = self.kin.renumbered(side.told, old)
            side.stale = self.kin.renumbered(side.stale, old)
            side.beyond = self.kin.renumbered(side.beyond, old)
