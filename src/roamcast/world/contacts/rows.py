"""For each node a sorted row of numbers of nodes, which contacts keep up to date (`Neighbourhood.hearers`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from librt.vecs import extend, vec
from mypy_extensions import i64

ROOM: Final = 16  # numbers in a row at first: 16 of 8 bytes each are two lines of memory


@final
class SortedRows:
    """For each node a sorted row of nodes, all rows in one vector. A row that is returned is a copy and does not
    change."""

    __slots__ = ("nodes", "rooms", "spans")

    def __init__(self, n: int) -> None:
        self.nodes = vec[i64]([0] * (n * ROOM))
        self.spans = vec[i64]([0] * (2 * n))  # where each row begins, and how long it is
        self.rooms = vec[i64]([ROOM] * n)
        for i in range(n):
            self.spans[2 * i] = i * ROOM

    def __len__(self) -> int:
        return len(self.rooms)

    def __iter__(self) -> Iterator[vec[i64]]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, i: i64) -> vec[i64]:
        start = self.spans[2 * i]
        return self.nodes[start : start + self.spans[2 * i + 1]]

    def find(self, i: i64, j: i64) -> i64:
        """The position in `nodes` at which j is in the row of i, or would be."""
        nodes = self.nodes
        low = self.spans[2 * i]
        high = low + self.spans[2 * i + 1]
        while low < high:
            middle = (low + high) >> 1
            if nodes[middle] < j:
                low = middle + 1
            else:
                high = middle
        return low

    def is_at(self, at: i64, i: i64, j: i64) -> bool:
        return at < self.spans[2 * i] + self.spans[2 * i + 1] and self.nodes[at] == j

    def holds(self, i: i64, j: i64) -> bool:
        return self.is_at(self.find(i, j), i, j)

    def put(self, i: i64, j: i64, there: bool) -> bool:
        """Add j to the row of i, or remove it; False if there was nothing to do."""
        at = self.find(i, j)
        if self.is_at(at, i, j) == there:
            return False
        length = self.spans[2 * i + 1]
        if there and length == self.rooms[i]:
            at -= self.spans[2 * i]
            self.widen(i)
            at += self.spans[2 * i]
        end = self.spans[2 * i] + length
        nodes = self.nodes
        if there:
            for k in range(end, at, -1):
                nodes[k] = nodes[k - 1]
            nodes[at] = j
            self.spans[2 * i + 1] = length + 1
        else:
            for k in range(at, end - 1):
                nodes[k] = nodes[k + 1]
            self.spans[2 * i + 1] = length - 1
        return True

    def widen(self, i: i64) -> None:
        """Move a full row to a place with twice the room. The old place stays unused; doubling bounds that waste."""
        row = self[i]
        self.spans[2 * i] = len(self.nodes)
        self.nodes = extend(extend(self.nodes, row), row)  # the second half only makes room
        self.rooms[i] *= 2
