"""First in, first out, however long the queue gets.

`list.pop(0)` moves all items behind the first one, so a queue of n items costs n² to empty. Here an item is moved once:
those that came wait in one list, and when the other list is empty, they are turned round into it, so that the first
item is at its end.
"""

from __future__ import annotations

from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class Fifo(Generic[T]):
    __slots__ = ("came", "goes")

    def __init__(self) -> None:
        self.came: list[T] = []
        self.goes: list[T] = []  # the first one last

    def __bool__(self) -> bool:
        return len(self.goes) > 0 or len(self.came) > 0

    def __len__(self) -> int:
        return len(self.goes) + len(self.came)

    def append(self, item: T) -> None:
        self.came.append(item)

    def first(self) -> T:
        if not self.goes:
            self.turn_round()
        return self.goes[-1]

    def take(self) -> T:
        """Remove the first item and return it."""
        if not self.goes:
            self.turn_round()
        return self.goes.pop()

    def turn_round(self) -> None:
        self.came.reverse()
        self.came, self.goes = self.goes, self.came

    def in_order(self) -> list[T]:
        return self.goes[::-1] + self.came

    def remove(self, k: int) -> None:
        """Remove the item at position k of `in_order`. Unlike the rest, this takes time for every item."""
        self.came = self.in_order()
        self.goes = []
        del self.came[k]
