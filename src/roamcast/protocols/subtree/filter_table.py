"""The filters that a broker of the subscription tree and its tree neighbours want, and which of them to advertise.

A tree neighbour gets the filters that are wanted elsewhere, except those that another filter wanted elsewhere covers
(Baldoni et al. §II, note 1). Going through all filters for every neighbour after every change would cost more than
everything else a broker does. So the filters that each neighbour wants, and those that it got, are sets with one bit
for each filter, and the table of covers (cover_table.py) has the results of earlier comparisons. What to advertise to a
neighbour can only change for filters that have come or gone elsewhere since the last time, and for the filters that
these cover. Only these are examined.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.subtree.cover_table import SHARED, KnownFilter, SharedTables, key_of
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

OWN: Final = NOBODY
"""The source of the filters of the application on this node."""

MAX_FILTERS: Final = 8192
"""Ours: the most filters of neighbours that a broker knows (R9): eight full tables.

Memory is quadratic in the number of filters. With the spare room (cover_table.py) these take 110 MB in the worst case,
and a third of it where few filters cover others. The filters of the application are always known, whatever they take.
"""

IDLE_HEARTBEATS: Final = 10
"""Ours: for how many heartbeats a filter that is no longer wanted keeps its place in the order: it may come back."""


@final
class FilterSets:
    """The filters that a tree neighbour wants (OWN: this node), and those that were advertised to it, as sets."""

    __slots__ = ("advertised", "others_wanted", "repeated", "stale", "wanted")

    def __init__(self) -> None:
        self.wanted = 0
        self.repeated: dict[str, int] = {}  # keys of filters that it wants several times, and how many further times
        self.advertised = 0
        self.stale = 0  # the advertised filters that need not be advertised any more
        self.others_wanted = 0  # the filters that others wanted at the last advertisement

    def forget_advertised(self) -> None:
        self.advertised = self.stale = self.others_wanted = 0


@final
class FilterTable:
    """The filters that a broker and its tree neighbours want or wanted lately, in the order they became known.

    Brokers of one owner share comparisons (cover_table.py).
    """

    def __init__(self, owner: object = None, shared: SharedTables = SHARED) -> None:
        self.room = MAX_FILTERS
        self.shared = shared
        self.covers = shared.for_owner(owner)
        self.sources: dict[int, FilterSets] = {}
        self.order: dict[KnownFilter, int] = {}
        self.next_place = 0
        self.known = 0  # the filters in `order` as a set
        self.released = 0  # wanted after the last heartbeat, and perhaps no longer
        self.recent: list[int] = []  # for each of the last heartbeats, what was wanted since the one before

    # ---- what is wanted

    def sets_of(self, source: int) -> FilterSets:
        sets = self.sources.get(source)
        if sets is None:
            sets = FilterSets()
            self.sources[source] = sets
        return sets

    def add(self, filter: Filter, sets: FilterSets) -> None:
        key = key_of(filter)
        known = self.covers.by_key.get(key)
        if known is None or not self.known & known.bit:
            known = self._add_new(key, filter)
        if sets.wanted & known.bit:
            sets.repeated[key] = sets.repeated.get(key, 0) + 1
        else:
            sets.wanted |= known.bit

    def remove(self, filter: Filter, sets: FilterSets) -> None:
        """The source wants the filter once less."""
        key = key_of(filter)
        repeated = sets.repeated.pop(key, 0)
        if repeated == 0:
            bit = self.covers.by_key[key].bit
            sets.wanted &= ~bit
            self.released |= bit
        elif repeated > 1:
            sets.repeated[key] = repeated - 1

    def remove_all(self, sets: FilterSets) -> None:
        self.released |= sets.wanted
        sets.wanted = 0
        sets.repeated.clear()

    def forget(self, source: int) -> None:
        sets = self.sources.pop(source, None)
        if sets is not None:
            self.released |= sets.wanted

    def has_room_for(self, filter: Filter) -> bool:
        """A filter that is known already needs no room."""
        if len(self.order) < self.room:
            return True
        known = self.covers.by_key.get(key_of(filter))
        return known is not None and self.known & known.bit != 0

    def _add_new(self, key: str, filter: Filter) -> KnownFilter:
        if key not in self.covers.by_key and not self.covers.has_room(1):
            self._move_to_larger_table()
        known = self.covers.add(key, filter, self.known)
        self.known |= known.bit
        self.order[known] = self.next_place
        self.next_place += 1
        return known

    def forget_idle(self) -> None:
        """Forget filters that were not wanted for a while. Called with every heartbeat."""
        wanted = self.released
        for sets in self.sources.values():
            wanted |= sets.wanted
        self.released = 0
        self.recent.append(wanted)
        if len(self.recent) > IDLE_HEARTBEATS:
            idle = self.recent.pop(0)
            for later in self.recent:
                idle &= ~later
            self.known &= ~idle
            for known in self.covers.members(idle):
                del self.order[known]

    def any_wanted_matches(self, sets: FilterSets, event: Event) -> bool:
        return self.covers.any_matches(sets.wanted, event)

    # ---- what to advertise

    def wanted_by_others(self, sets: FilterSets) -> int:
        """What is wanted by any source except this tree neighbour."""
        wanted = 0
        for other in self.sources.values():
            if other is not sets:
                wanted |= other.wanted
        return wanted

    def changes(self, sets: FilterSets, removals: bool) -> tuple[list[KnownFilter], list[KnownFilter]]:
        """The filters to add to what was advertised to a neighbour, in order, and those to remove from it.

        From now on they count as advertised. Without `removals`, filters to remove are left for later.
        """
        wanted = self.wanted_by_others(sets)
        changed = wanted ^ sets.others_wanted
        if not changed and not sets.stale:
            return [], []
        # a filter that was advertised and is no longer wanted is among the changed, or was stale before
        doubtful = changed | sets.stale | (self.covers.replaced_by_any(changed) & wanted)
        needed = self.covers.not_replaced(doubtful & wanted, wanted)
        added, sets.stale = needed & ~sets.advertised, doubtful & sets.advertised & ~needed
        sets.others_wanted = wanted
        sets.advertised |= added
        removed = sets.stale if removals else 0
        sets.advertised ^= removed
        sets.stale ^= removed
        return self.in_order(added), self.covers.members(removed)

    def in_order(self, bits: int) -> list[KnownFilter]:
        members = self.covers.members(bits)
        if len(members) > 1:
            members.sort(key=self.order.__getitem__)
        return members

    # ---- when the shared table is full

    def _move_to_larger_table(self) -> None:
        old, used = self.covers, self.known
        for sets in self.sources.values():
            used |= sets.advertised | sets.others_wanted
        self.covers = self.shared.with_room(used.bit_count() + 1)
        self.covers.copy_from(old, used)
        self.order = {self.covers.by_key[known.key]: place for known, place in self.order.items()}
        self.known = self.covers.renumbered(self.known, old)
        self.released = self.covers.renumbered(self.released, old)
        self.recent = [self.covers.renumbered(wanted, old) for wanted in self.recent]
        for sets in self.sources.values():
            sets.wanted = self.covers.renumbered(sets.wanted, old)
            sets.advertised = self.covers.renumbered(sets.advertised, old)
            sets.stale = self.covers.renumbered(sets.stale, old)
            sets.others_wanted = self.covers.renumbered(sets.others_wanted, old)
