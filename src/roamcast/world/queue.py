"""What happens next: a total order of events by (time, kind, node, serial).

The order is never that of pushing, so a run does not depend on how the queue is built, on the order of neighbours or on
an event that was pushed again. The first three are packed into one int: `time << 24 | kind << 20 | node`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

# Kinds, in the order they happen at one instant: what was sent arrives before anybody acts on the same instant.
END: Final = 0  # a transmission is over
ACKNOWLEDGE: Final = 1  # a receiver's SIFS is over: send the acknowledgement
TIMEOUT: Final = 2  # no acknowledgement came
FAULT: Final = 3  # a node sleeps, wakes, crashes or recovers
MOTION: Final = 4  # a leg is over
SAMPLE: Final = 5  # look at everybody's routing state
PUBLISH: Final = 6
TIMER: Final = 7
ATTEMPT: Final = 8  # back-off over: transmit

NODE_BITS: Final = 20
TIME_SHIFT: Final = 24
NODE_MASK: Final = (1 << 20) - 1
KIND_MASK: Final = 15
LAST_INSTANT: Final = (1 << 39) - 1
"""About 152 hours: what fits beside kind and node in 63 bits."""
LONGEST_S: Final = 500_000.0
"""Of a run: about six days, which leaves room for what is planned for after it."""


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
    """The same as a binary heap on unboxed vectors: the fastest when compiled."""

    __slots__ = ("keys", "serials", "size", "whens")

    def __init__(self) -> None:
        super().__init__()
        self.size: i64 = 0
        self.whens = vec[i64]()
        self.serials = vec[i64]()
        self.keys = vec[i64]()

    def push(self, t: i64, kind: i64, node: i64, serial: i64, key: i64) -> None:
        if t > LAST_INSTANT:  # it would not fit: never, then
            t = LAST_INSTANT
        when = t << TIME_SHIFT | kind << NODE_BITS | node
        k = self.size
        if k == len(self.whens):
            self.whens = append(self.whens, 0)
            self.serials = append(self.serials, 0)
            self.keys = append(self.keys, 0)
        self.size = k + 1
        whens = self.whens
        serials = self.serials
        keys = self.keys
        while k > 0:
            up = (k - 1) >> 1
            parent = whens[up]
            if parent < when or (parent == when and serials[up] <= serial):
                break
            whens[k] = parent
            serials[k] = serials[up]
            keys[k] = keys[up]
            k = up
        whens[k] = when
        serials[k] = serial
        keys[k] = key

    def pop(self) -> tuple[i64, i64, i64]:
        whens = self.whens
        serials = self.serials
        keys = self.keys
        first = (whens[0], serials[0], keys[0])
        n = self.size - 1
        self.size = n
        when = whens[n]
        serial = serials[n]
        key = keys[n]
        k: i64 = 0
        while True:
            c = 2 * k + 1
            if c >= n:
                break
            child = whens[c]
            if c + 1 < n:
                right = whens[c + 1]
                if right < child or (right == child and serials[c + 1] < serials[c]):
                    c += 1
                    child = right
            if when < child or (when == child and serial <= serials[c]):
                break
            whens[k] = child
            serials[k] = serials[c]
            keys[k] = keys[c]
            k = c
        whens[k] = when
        serials[k] = serial
        keys[k] = key
        return first


COMPILED: Final = not __file__.endswith(".py")


def event_queue() -> EventQueue:
    if COMPILED:
        return VecQueue()
    return PlainQueue()
