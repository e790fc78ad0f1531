"""The event queue: a total order of events by (time, kind, node, serial).

The order is never that of pushing, so a run does not depend on how the queue is built, on the order of neighbours or on
an event that was pushed again. The first three are packed into one int: `time << 24 | kind << 20 | node`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

# Kinds, in the order they happen at one instant: frames arrive before nodes act at the same instant.
END: Final = 0  # a transmission is over
ACKNOWLEDGE: Final = 1  # a receiver's SIFS is over: send the acknowledgement
TIMEOUT: Final = 2  # no acknowledgement came
FAULT: Final = 3  # a node sleeps, wakes, crashes or recovers
MOTION: Final = 4  # a leg is over
SAMPLE: Final = 5  # sample the routing state of all nodes
PUBLISH: Final = 6
TIMER: Final = 7
ATTEMPT: Final = 8  # back-off over: transmit

NODE_BITS: Final = 20
TIME_SHIFT: Final = 24
NODE_MASK: Final = (1 << 20) - 1
KIND_MASK: Final = 15
LAST_INSTANT: Final = (1 << 39) - 1
"""About 152 hours: the largest time that fits beside kind and node into 63 bits."""
LONGEST_S: Final = 500_000.0
"""The longest run: about six days, which leaves room for events planned after its end."""

INTERVAL_BITS: Final = 6  # an interval of 64 us: hundreds of busy nodes have a handful of events in it
WHEEL: Final = 2048  # intervals, a power of two: an eighth of a second
NONE: Final = -1
SERIAL: Final = 1  # the cells of an event, beside its first one
KEY: Final = 2
NEXT: Final = 3


class EventQueue:
    """`now` is the clock of the whole world."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now: i64 = 0

    def push(self, t: i64, kind: i64, node: i64, serial: i64, key: i64) -> None:
        raise NotImplementedError

    def pop(self) -> tuple[i64, i64, i64]:
        """The first event: (time << 24 | kind << 20 | node, serial, key)."""
        raise NotImplementedError


@final
class PlainQueue(EventQueue):
    """`heapq` on tuples: the fastest when interpreted, and the twin that `VecQueue` is tested against."""

    __slots__ = ("heap",)

    def __init__(self) -> None:
        super().__init__()
        self.heap: list[tuple[i64, i64, i64]] = []

    def push(self, t: i64, kind: i64, node: i64, serial: i64, key: i64) -> None:
        heappush(self.heap, (t << TIME_SHIFT | kind << NODE_BITS | node, serial, key))

    def pop(self) -> tuple[i64, i64, i64]:
        return heappop(self.heap)


@final
class VecQueue(EventQueue):
    """The same on unboxed vectors: the fastest when compiled.

    Time is cut into intervals. A binary heap orders the events up to the end of the interval that is `reached`; these
    are few, so the heap is shallow. All other events wait without order: in the list of their interval if that is on
    the wheel, which goes round once for every WHEEL intervals, and otherwise in the list `later`.
    """

    __slots__ = ("cells", "end", "free", "heads", "later", "on_wheel", "places", "reached", "size", "whens")

    def __init__(self) -> None:
        super().__init__()
        self.cells = vec[i64]()  # four for each event, from its place on: when, serial, key, the next place in its list
        self.free: i64 = NONE  # the list of unused places
        self.size: i64 = 0  # of the heap, …
        self.whens = vec[i64]()  # … which has each event's first cell here
        self.places = vec[i64]()
        self.reached: i64 = 0
        self.end: i64 = WHEEL  # the first interval that is not on the wheel
        self.heads = vec[i64]([NONE] * WHEEL)  # of each interval's list
        self.on_wheel: i64 = 0
        self.later: i64 = NONE  # the head of the list of events that are not on the wheel

    def push(self, t: i64, kind: i64, node: i64, serial: i64, key: i64) -> None:
        if t > LAST_INSTANT:  # it would not fit, and no run lasts that long
            t = LAST_INSTANT
        when = t << TIME_SHIFT | kind << NODE_BITS | node
        if self.free == NONE:
            self.one_more()
        place = self.free
        cells = self.cells
        self.free = cells[place + NEXT]
        cells[place] = when
        cells[place + SERIAL] = serial
        cells[place + KEY] = key
        interval = t >> INTERVAL_BITS
        if interval <= self.reached:
            self.order(when, place)
        else:
            self.wait(interval, place)

    def one_more(self) -> None:
        """Room for one more event."""
        self.free = len(self.cells)
        for cell in (0, 0, 0, NONE):
            self.cells = append(self.cells, cell)

    def wait(self, interval: i64, place: i64) -> None:
        """Put an event into the list of its interval."""
        if interval < self.end:
            heads = self.heads
            spoke = interval & WHEEL - 1
            self.cells[place + NEXT] = heads[spoke]
            heads[spoke] = place
            self.on_wheel += 1
        else:
            self.cells[place + NEXT] = self.later
            self.later = place

    def order(self, when: i64, place: i64) -> None:
        """Put an event into the heap."""
        k = self.size
        if k == len(self.whens):
            self.whens = append(self.whens, 0)
            self.places = append(self.places, 0)
        self.size = k + 1
        whens = self.whens
        places = self.places
        while k > 0:
            up = (k - 1) >> 1
            parent = whens[up]
            if parent < when or (parent == when and not self.precedes(place, places[up])):
                break
            whens[k] = parent
            places[k] = places[up]
            k = up
        whens[k] = when
        places[k] = place

    def precedes(self, one: i64, other: i64) -> bool:
        """Whether one event comes before another of the same instant, kind and node."""
        return self.cells[one + SERIAL] < self.cells[other + SERIAL]

    def reach_on(self) -> None:
        """The heap is empty: go on to the next interval that has events."""
        heads = self.heads
        if self.on_wheel == 0:
            self.go_round()
        else:
            reached = self.reached + 1
            while heads[reached & WHEEL - 1] == NONE:
                reached += 1
            self.reached = reached
        spoke = self.reached & WHEEL - 1
        place = heads[spoke]
        heads[spoke] = NONE
        cells = self.cells
        while place != NONE:
            self.on_wheel -= 1
            self.order(cells[place], place)
            place = cells[place + NEXT]

    def go_round(self) -> None:
        """Put the events of the next round that has any on the wheel."""
        if self.later == NONE:
            raise IndexError("the queue is empty")
        cells = self.cells
        first = cells[self.later]
        place = self.later
        while place != NONE:
            if cells[place] < first:
                first = cells[place]
            place = cells[place + NEXT]
        self.reached = first >> TIME_SHIFT + INTERVAL_BITS
        self.end = self.reached + WHEEL
        place = self.later
        self.later = NONE
        while place != NONE:
            after = cells[place + NEXT]
            self.wait(cells[place] >> TIME_SHIFT + INTERVAL_BITS, place)
            place = after

    def pop(self) -> tuple[i64, i64, i64]:
        if self.size == 0:
            self.reach_on()
        cells = self.cells
        whens = self.whens
        places = self.places
        place = places[0]
        first = (whens[0], cells[place + SERIAL], cells[place + KEY])
        cells[place + NEXT] = self.free
        self.free = place
        n = self.size - 1
        self.size = n
        when = whens[n]
        place = places[n]
        k: i64 = 0
        while True:
            c = 2 * k + 1
            if c >= n:
                break
            child = whens[c]
            if c + 1 < n:
                right = whens[c + 1]
                if right < child or (right == child and self.precedes(places[c + 1], places[c])):
                    c += 1
                    child = right
            if when < child or (when == child and not self.precedes(places[c], place)):
                break
            whens[k] = child
            places[k] = places[c]
            k = c
        whens[k] = when
        places[k] = place
        return first


COMPILED: Final = not __file__.endswith(".py")


def event_queue() -> EventQueue:
    if COMPILED:
        return VecQueue()
    return PlainQueue()
