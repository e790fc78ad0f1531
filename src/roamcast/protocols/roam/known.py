"""The events that a node knows, by their ids, and their digests.

Every node of a large world has such a table, and the processor mostly waits for this memory. So there is no object for
an event at a node, but a *place*: some numbers in one vector. An event that comes takes the place behind the others.
Whether it has come before is asked for every frame, and a set of ids answers. Everything else goes by the order of ids,
in which a list is compared range by range.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.protocols.kit.seen import IdSet
from roamcast.pubsub.event import Event

NONE: Final = -1
"""No id, or no place."""
LATE: Final = 32
"""How many places are in an order of their own until they are merged with all others."""
BORN: Final = 1  # the cells of a place, behind the id
EXPIRY: Final = 2
MARKS: Final = 3
CELLS: Final = 4

# what a node remembers of an event; above these three bits, the how-many-eth it was
OWN: Final = 1  # it was published here
DELIVERED: Final = 2
WANTED: Final = 4  # it is of the kind that this node asks for (M15)
CAME: Final = 8

LOW_BITS: Final = (1 << 62) - 1
MASK: Final = (1 << 63) - 1


def mixed(id: i64) -> i64:
    """63 bits that depend on all bits of the id (the finaliser of SplitMix64, one bit shorter)."""
    mask: i64 = LOW_BITS  # compiled, a constant of 63 bits would be an object
    mask += mask + 1
    z = (id * 0x1E3779B97F4A7C15) & mask
    z = ((z ^ z >> 30) * 0x3F58476D1CE4E5B9) & mask
    z = ((z ^ z >> 27) * 0x14D049BB133111EB) & mask
    return z ^ z >> 31


def unmixed(digest: i64) -> i64:
    """The only id with this digest: each step of `mixed` can be undone, so nobody needs a table of digests."""
    z = digest ^ digest >> 31 ^ digest >> 62
    z = (z * 0x319642B2D24D8EC3) & MASK
    z = ((z ^ z >> 27 ^ z >> 54) * 0x16DE1B173F119089) & MASK
    return ((z ^ z >> 30 ^ z >> 60) * 0x71DE83E19937733D) & MASK


@final
class Window:
    """The events that were published at `born_us` or before, and do not expire before `expiry_us`, by this node's
    clock."""

    __slots__ = ("born_us", "expiry_us")

    def __init__(self, born_us: i64, expiry_us: i64) -> None:
        self.born_us = born_us
        self.expiry_us = expiry_us


@final
class KnownEvents:
    __slots__ = ("cells", "events", "here", "ids", "latest", "merged", "order")

    def __init__(self) -> None:
        self.here = IdSet()
        self.cells = vec[i64]()  # four for each place: id, time of publication by this node's clock, expiry, marks
        self.events: list[Event | None] = []  # None if it had to make room
        self.order = vec[i64]()  # places by ascending id: `merged` of them, and then the late ones …
        self.ids = vec[i64]()  # … and these ids
        self.merged: i64 = 0
        self.latest: i64 = 0  # events so far

    def __len__(self) -> int:
        return len(self.events)

    def __contains__(self, id: int) -> bool:
        return id in self.here

    def add(self, event: Event, born_us: i64, marks: i64) -> i64:
        """A new event; returns its place."""
        id: i64 = event.id
        place = i64(len(self.events))
        self.latest += 1
        self.here.add(id)
        cells = append(append(self.cells, id), born_us)
        self.cells = append(append(cells, born_us + event.validity_us), self.latest * CAME | marks)
        self.events.append(event)
        ids, order = append(self.ids, id), append(self.order, place)
        at = place
        while at > self.merged and ids[at - 1] > id:
            ids[at], order[at] = ids[at - 1], order[at - 1]
            at -= 1
        ids[at], order[at] = id, place
        self.ids, self.order = ids, order
        if place + 1 - self.merged > LATE:
            self.by_id()
        return place

    def remove(self, id: i64) -> None:
        """The event at the last place takes the place of this one."""
        at = self._in_order(id)
        place, last = self.order[at], i64(len(self.events)) - 1
        self.order[self._in_order(self.id(last))] = place
        self.order, _place = pop(self.order, at)
        self.ids, _id = pop(self.ids, at)
        if at < self.merged:
            self.merged -= 1
        self.here.remove(id)
        cells = self.cells
        for k in range(CELLS - 1, -1, -1):
            cells[place * CELLS + k] = cells[last * CELLS + k]
            cells, _cell = pop(cells)
        self.cells = cells
        self.events[place] = self.events[last]
        self.events.pop()

    def place(self, id: i64) -> i64:
        """Where this event is, or NONE."""
        return self.order[self._in_order(id)] if id in self.here else NONE

    def id(self, place: i64) -> i64:
        return self.cells[place * CELLS]

    def born_us(self, place: i64) -> i64:
        return self.cells[place * CELLS + BORN]

    def expiry_us(self, place: i64) -> i64:
        return self.cells[place * CELLS + EXPIRY]

    def set_expiry(self, place: i64, expiry_us: i64) -> None:
        self.cells[place * CELLS + EXPIRY] = expiry_us

    def has(self, place: i64, mark: i64) -> bool:
        return self.cells[place * CELLS + MARKS] & mark != 0

    def mark(self, place: i64, mark: i64, value: bool) -> None:
        marks = self.cells[place * CELLS + MARKS]
        self.cells[place * CELLS + MARKS] = marks | mark if value else marks & ~mark

    def is_held(self, id: i64) -> bool:
        place = self.place(id)
        return place != NONE and self.events[place] is not None

    def as_they_came(self) -> list[Event | None]:
        places = sorted([(int(self.cells[place * CELLS + MARKS]), place) for place in range(len(self.events))])
        return [self.events[place] for _, place in places]

    def oldest_first(self) -> list[int]:
        """All places, by the times of publication."""
        places = [(int(self.born_us(place)), int(self.id(place)), place) for place in range(len(self.events))]
        return [place for _, _, place in sorted(places)]

    def summary(self, window: Window) -> tuple[i64, i64]:
        """How many ids are in the window, and their digest."""
        ids = self.within(window)
        digest: i64 = 0
        for id in ids:
            digest ^= mixed(id)
        return len(ids), digest

    # ---- in the order of ids

    def by_id(self) -> vec[i64]:
        """All ids, ascending. Late ones are merged with the others, from the last id on."""
        ids, order = self.ids, self.order
        late_ids, late = ids[self.merged :], order[self.merged :]
        at = self.merged - 1
        for k in range(i64(len(late)) - 1, -1, -1):
            id = late_ids[k]
            while at >= 0 and ids[at] > id:
                ids[at + k + 1], order[at + k + 1] = ids[at], order[at]
                at -= 1
            ids[at + k + 1], order[at + k + 1] = id, late[k]
        self.merged = len(order)
        return ids

    def _in_order(self, id: i64) -> i64:
        """The position in `order` of the place of a known id."""
        at = self._below(id, 0, self.merged)
        if at < self.merged and self.ids[at] == id:
            return at
        return self._below(id, self.merged, len(self.ids))

    def _below(self, id: i64, low: i64, high: i64) -> i64:
        """The first position in `order`, from `low` to `high`, that is not of a lower id than this."""
        ids = self.ids
        while low < high:
            middle = (low + high) >> 1
            if ids[middle] < id:
                low = middle + 1
            else:
                high = middle
        return low

    def all(self) -> list[int]:
        return [int(id) for id in self.by_id()]

    def count(self, low: i64, high: i64) -> int:
        """How many ids there are from `low` to `high`."""
        end = i64(len(self.by_id()))
        behind = self._below(high + 1, 0, end) if high < MASK else end
        return int(behind - self._below(low, 0, end))

    def within(self, window: Window, marks: i64 = 0) -> vec[i64]:
        """All ids of the window that have these marks."""
        cells, order = self.cells, self.order
        born_until_us, expiry_from_us = window.born_us, window.expiry_us
        ids = self.by_id()
        some = vec[i64]()
        for k in range(i64(len(ids))):
            cell = order[k] * CELLS
            is_in = cells[cell + BORN] <= born_until_us and cells[cell + EXPIRY] >= expiry_from_us
            if is_in and cells[cell + MARKS] & marks == marks:
                some = append(some, ids[k])
        return some

    def is_offered(self, place: i64, window: Window) -> bool:
        """Whether it is held, and in the window."""
        return (
            self.born_us(place) <= window.born_us
            and self.expiry_us(place) >= window.expiry_us
            and self.events[place] is not None
        )

    def lacking(self, ranges: vec[i64], low: i64, high: i64, window: Window) -> tuple[list[int], bool]:
        """Beside a list of the ids from `low` to `high`, in ranges: first and last id of each, ascending. Returns the
        ids of events that are held, in the window and not on the list; and whether all that are on it are known."""
        ids = self.by_id()
        some: list[int] = []
        listed: i64 = 0
        for at in range(0, i64(len(ranges)), 2):
            listed += ranges[at + 1] - ranges[at] + 1
        at = 0
        k = self._below(low, 0, len(ids))
        while k < len(ids) and ids[k] <= high:
            id = ids[k]
            while at < len(ranges) and ranges[at + 1] < id:
                at += 2
            if at < len(ranges) and ranges[at] <= id:
                listed -= 1
            elif self.is_offered(self.order[k], window):
                some.append(int(id))
            k += 1
        return some, listed == 0

    def incomplete(self, ranges: vec[i64]) -> vec[i64]:
        """Those of the ranges, as above, of which not all ids are known."""
        ids = self.by_id()
        some = vec[i64]()
        k: i64 = self._below(ranges[0], 0, len(ids)) if len(ranges) > 0 else 0
        for at in range(0, i64(len(ranges)), 2):
            first, last = ranges[at], ranges[at + 1]
            while k < len(ids) and ids[k] < first:
                k += 1
            before = k
            while k < len(ids) and ids[k] <= last:
                k += 1
            if k - before <= last - first:
                some = append(append(some, first), last)
        return some
