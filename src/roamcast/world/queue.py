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

FEW: Final = 250  # so many nodes have a handful of events …
LONG_BITS: Final = 7  # … in an interval of 128 us, …
SHORT_BITS: Final = 4  # … and more nodes in one of 16 us
ROUND_BITS: Final = 17  # the wheel goes round in an eighth of a second
GROUP_BITS: Final = 5
GROUP: Final = 1 << GROUP_BITS  # so many intervals are skipped at once if they have no events
NONE: Final = -1
EVENT: Final = 4  # numbers of an event, …
SERIAL: Final = 1  # … beside its first one
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
    the wheel, which goes round in 2^ROUND_BITS us, and otherwise in the list `later`.

    Many nodes have shorter intervals: a heap of a few events takes less time than one of a dozen.
    """

    __slots__ = (
        "bits",
        "cells",
        "end",
        "free",
        "heads",
        "heap",
        "last",
        "later",
        "marks",
        "on_wheel",
        "reached",
        "size",
    )

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.bits: i64 = interval_bits(nodes)
        intervals = 1 << (ROUND_BITS - interval_bits(nodes))
        self.cells = vec[i64]()  # four for each event that waits: when, serial, key, the next place in its list
        self.free: i64 = NONE  # the list of unused places
        self.heap = vec[i64]()  # four for each event here: when, serial, key, nothing
        self.size: i64 = 0  # how many of these are in use
        self.reached: i64 = 0
        self.end: i64 = intervals  # the first interval that is not on the wheel
        self.last: i64 = intervals - 1  # spoke of the wheel
        self.heads = vec[i64]([NONE] * intervals)  # of each interval's list
        self.marks = vec[i64]([0] * (intervals // GROUP))  # a bit for each interval: whether it has events
        self.on_wheel: i64 = 0
        self.later: i64 = NONE  # the head of the list of events that are not on the wheel

    def push(self, t: i64, kind: i64, node: i64, serial: i64, key: i64) -> None:
        if t > LAST_INSTANT:  # it would not fit, and no run lasts that long
            t = LAST_INSTANT
        when = t << TIME_SHIFT | kind << NODE_BITS | node
        interval = t >> self.bits
        if interval <= self.reached:
            self.order(when, serial, key)
            return
        if self.free == NONE:
            self.free = len(self.cells)
            self.cells = widened(self.cells)
        place = self.free
        cells = self.cells
        self.free = cells[place + NEXT]
        cells[place] = when
        cells[place + SERIAL] = serial
        cells[place + KEY] = key
        self.wait(interval, place)

    def wait(self, interval: i64, place: i64) -> None:
        """Put an event into the list of its interval."""
        if interval < self.end:
            heads = self.heads
            spoke = interval & self.last
            self.cells[place + NEXT] = heads[spoke]
            heads[spoke] = place
            self.marks[spoke >> GROUP_BITS] |= 1 << (spoke & GROUP - 1)
            self.on_wheel += 1
        else:
            self.cells[place + NEXT] = self.later
            self.later = place

    def order(self, when: i64, serial: i64, key: i64) -> None:
        """Put an event into the heap."""
        k = self.size
        if k == len(self.heap):
            self.heap = widened(self.heap)
        self.size = k + EVENT
        heap = self.heap
        while k > 0:
            up = (k - EVENT >> 1) & ~(EVENT - 1)
            parent = heap[up]
            if parent < when or (parent == when and heap[up + SERIAL] <= serial):
                break
            heap[k] = parent
            heap[k + SERIAL] = heap[up + SERIAL]
            heap[k + KEY] = heap[up + KEY]
            k = up
        heap[k] = when
        heap[k + SERIAL] = serial
        heap[k + KEY] = key

    def reach_on(self) -> None:
        """The heap is empty: go on to the next interval that has events."""
        if self.on_wheel == 0:
            self.go_round()
        else:
            self.reached = self.next_with_events(self.reached + 1)
        heads = self.heads
        spoke = self.reached & self.last
        place = heads[spoke]
        heads[spoke] = NONE
        self.marks[spoke >> GROUP_BITS] ^= 1 << (spoke & GROUP - 1)
        cells = self.cells
        while place != NONE:
            self.on_wheel -= 1
            self.order(cells[place], cells[place + SERIAL], cells[place + KEY])
            after = cells[place + NEXT]
            cells[place + NEXT] = self.free
            self.free = place
            place = after

    def next_with_events(self, interval: i64) -> i64:
        """The first interval on the wheel, from this one on, that has events."""
        marks = self.marks
        last = self.last
        ahead = marks[(interval & last) >> GROUP_BITS] >> (interval & GROUP - 1)
        if ahead == 0:
            interval = (interval | GROUP - 1) + 1
            while marks[(interval & last) >> GROUP_BITS] == 0:
                interval += GROUP
            ahead = marks[(interval & last) >> GROUP_BITS]
        while ahead & 1 == 0:
            ahead >>= 1
            interval += 1
        return interval

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
        self.reached = first >> TIME_SHIFT + self.bits
        self.end = self.reached + self.last + 1
        place = self.later
        self.later = NONE
        while place != NONE:
            after = cells[place + NEXT]
            self.wait(cells[place] >> TIME_SHIFT + self.bits, place)
            place = after

    def pop(self) -> tuple[i64, i64, i64]:
        if self.size == 0:
            self.reach_on()
        heap = self.heap
        first = (heap[0], heap[SERIAL], heap[KEY])
        n = self.size - EVENT
        self.size = n
        when = heap[n]
        serial = heap[n + SERIAL]
        key = heap[n + KEY]
        k: i64 = 0
        while True:
            c = 2 * k + EVENT
            if c >= n:
                break
            child = heap[c]
            if c + EVENT < n:
                right = heap[c + EVENT]
                if right < child or (right == child and heap[c + EVENT + SERIAL] < heap[c + SERIAL]):
                    c += EVENT
                    child = right
            if when < child or (when == child and serial <= heap[c + SERIAL]):
                break
            heap[k] = child
            heap[k + SERIAL] = heap[c + SERIAL]
            heap[k + KEY] = heap[c + KEY]
            k = c
        heap[k] = when
        heap[k + SERIAL] = serial
        heap[k + KEY] = key
        return first


def widened(cells: vec[i64]) -> vec[i64]:
    """With room for one more event."""
    for cell in (0, 0, 0, NONE):
        cells = append(cells, cell)
    return cells


COMPILED: Final = not __file__.endswith(".py")


def event_queue(nodes: int) -> EventQueue:
    """A queue for a world of so many nodes."""
    return VecQueue(nodes) if COMPILED else PlainQueue()


def interval_bits(nodes: int) -> int:
    return LONG_BITS if nodes <= FEW else SHORT_BITS
