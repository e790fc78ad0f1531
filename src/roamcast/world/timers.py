"""The timers of a station that were set and have not gone off: which setting of each still counts.

A setting has a serial, above 0. They are in a hash table of plain numbers, like sets of ids (protocols/kit/seen.py),
because nodes that wait to forward several events set timers for most of what they receive.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.kit.seen import HALF, SPREAD

NONE: Final = 0  # instead of a serial
FEWEST: Final = 4


@final
class Timers:
    __slots__ = ("cells", "size")

    def __init__(self) -> None:
        self.size: i64 = 0
        # a serial and a key for each slot; slots are a power of two, and at least half of them are free
        self.cells = vec[i64]([NONE] * (2 * FEWEST))

    def __len__(self) -> int:
        return int(self.size)

    def set(self, key: i64, serial: i64) -> None:
        cells, slot = self.cells, self._slot_of(key)
        if cells[slot] == NONE:
            self.size += 1
        cells[slot] = serial
        cells[slot + 1] = key
        if 4 * self.size > len(cells):
            self._widen()

    def serial(self, key: i64) -> i64:
        return self.cells[self._slot_of(key)]

    def remove(self, key: i64) -> None:
        """Free its slot, if it is set. Timers that a search would no longer find behind the gap move into it."""
        cells = self.cells
        last = i64(len(cells)) - 1
        gap = slot = self._slot_of(key)
        if cells[gap] == NONE:
            return
        self.size -= 1
        while True:
            slot = slot + 2 & last
            if cells[slot] == NONE:
                break
            home = 2 * (cells[slot + 1] * SPREAD >> HALF) & last
            if slot - home & last >= slot - gap & last:
                cells[gap], cells[gap + 1] = cells[slot], cells[slot + 1]
                gap = slot
        cells[gap] = NONE

    def _slot_of(self, key: i64) -> i64:
        """The slot of this timer, or the free slot where it would be."""
        cells = self.cells
        last = i64(len(cells)) - 1
        slot = 2 * (key * SPREAD >> HALF) & last
        while cells[slot] != NONE and cells[slot + 1] != key:
            slot = slot + 2 & last
        return slot

    def _widen(self) -> None:
        before = self.cells
        self.cells = vec[i64]([NONE] * (2 * len(before)))
        for k in range(0, i64(len(before)), 2):
            if before[k] != NONE:
                slot = self._slot_of(before[k + 1])
                self.cells[slot], self.cells[slot + 1] = before[k], before[k + 1]
