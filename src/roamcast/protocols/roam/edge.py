"""Known events near an edge of the window: there are few, and each summary looks at them one by one."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.protocols.roam.known import NONE, Window, mixed

BORN: Final = 1  # the cells of an event, behind its id
EXPIRY: Final = 2
CELLS: Final = 3


@final
class Edge:
    """The events that were published first are first. They have their times here as well, so that nobody has to look
    into the table of all events."""

    __slots__ = ("cells", "first")

    def __init__(self) -> None:
        self.cells = vec[i64]()
        self.first: i64 = 0  # where the cells of the first event begin; those before are no longer used

    def __len__(self) -> int:
        return int(len(self.cells) - self.first) // CELLS

    def ids(self) -> list[int]:
        return [int(self.cells[at]) for at in range(self.first, len(self.cells), CELLS)]

    def is_due(self, born_until_us: i64) -> bool:
        """Whether the first event was published so early."""
        return self.first < len(self.cells) and self.cells[self.first + BORN] <= born_until_us

    def add(self, id: i64, born_us: i64, expiry_us: i64) -> None:
        cells = append(append(append(self.cells, id), born_us), expiry_us)
        at = i64(len(cells)) - CELLS
        while at > self.first and cells[at - CELLS + BORN] > born_us:
            for k in range(CELLS):
                cells[at + k] = cells[at - CELLS + k]
            at -= CELLS
        cells[at], cells[at + BORN], cells[at + EXPIRY] = id, born_us, expiry_us
        self.cells = cells

    def take(self) -> tuple[i64, i64, i64]:
        """Remove the first event; returns its id and its times."""
        cells, at = self.cells, self.first
        taken = (cells[at], cells[at + BORN], cells[at + EXPIRY])
        self.first = at + CELLS
        if 2 * self.first > len(cells):
            self.cells = cells[self.first :]
            self.first = 0
        return taken

    def holds(self, id: i64) -> bool:
        return self._find(id) != NONE

    def remove(self, id: i64) -> bool:
        """Returns whether the event was here."""
        cells, at = self.cells, self._find(id)
        if at == NONE:
            return False
        for k in range(at, i64(len(cells)) - CELLS):
            cells[k] = cells[k + CELLS]
        for _ in range(CELLS):
            cells, _cell = pop(cells)
        self.cells = cells
        return True

    def _find(self, id: i64) -> i64:
        """Where the cells of an event begin, or NONE."""
        cells = self.cells
        for at in range(self.first, i64(len(cells)), CELLS):
            if cells[at] == id:
                return at
        return NONE

    def summary(self, window: Window) -> tuple[i64, i64]:
        """How many events are in the window, and their digest."""
        cells = self.cells
        count: i64 = 0
        digest: i64 = 0
        for at in range(self.first, i64(len(cells)), CELLS):
            if cells[at + BORN] <= window.born_us and cells[at + EXPIRY] >= window.expiry_us:
                count += 1
                digest ^= mixed(cells[at])
        return count, digest
