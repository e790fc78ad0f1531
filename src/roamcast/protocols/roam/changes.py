"""When known events change their places, soonest first: a heap of times and ids.

Every event of every node may get here twice. Plain numbers in two vectors take a quarter of the room of a list of
tuples, and less time.
"""

from __future__ import annotations

from typing import final

from librt.vecs import append, pop, vec
from mypy_extensions import i64


@final
class Changes:
    """Of two changes at the same time, the one of the lower id is first."""

    __slots__ = ("ids", "times_us")

    def __init__(self) -> None:
        self.times_us = vec[i64]()
        self.ids = vec[i64]()

    def __len__(self) -> int:
        return len(self.ids)

    def is_due(self, now_us: i64) -> bool:
        return len(self.ids) > 0 and self.times_us[0] <= now_us

    def push(self, time_us: i64, id: i64) -> None:
        times_us, ids = append(self.times_us, time_us), append(self.ids, id)
        self.times_us, self.ids = times_us, ids
        at = i64(len(ids)) - 1
        while at > 0:
            above = (at - 1) >> 1
            if times_us[above] < time_us or (times_us[above] == time_us and ids[above] <= id):
                break
            times_us[at], ids[at] = times_us[above], ids[above]
            at = above
        times_us[at], ids[at] = time_us, id

    def take(self) -> int:
        """The id of the first change, which is over."""
        first = self.ids[0]
        self.times_us, time_us = pop(self.times_us)
        self.ids, id = pop(self.ids)
        if len(self.ids) > 0:
            self._sink(time_us, id)
        return int(first)

    def _sink(self, time_us: i64, id: i64) -> None:
        """Put a change where the first one was, or as far below as it belongs."""
        times_us, ids = self.times_us, self.ids
        end = i64(len(ids))
        at: i64 = 0
        while True:
            below = 2 * at + 1
            if below >= end:
                break
            if below + 1 < end and self._precedes(below + 1, times_us[below], ids[below]):
                below += 1
            if not self._precedes(below, time_us, id):
                break
            times_us[at], ids[at] = times_us[below], ids[below]
            at = below
        times_us[at], ids[at] = time_us, id

    def _precedes(self, at: i64, time_us: i64, id: i64) -> bool:
        other_us = self.times_us[at]
        return other_us < time_us or (other_us == time_us and self.ids[at] < id)
