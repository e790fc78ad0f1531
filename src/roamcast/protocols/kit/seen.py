"""Ids that were seen, oldest first, as far back as somebody wants to remember.

Every node has such a memory of its own and asks it about every event that reaches it, so in a large world it is what
the processor waits for: a hash table of plain numbers takes less than half the room of a dict of ints, and one look at
it is one look at memory. Open addressing: an id lies in its slot or in the next free one after it, and whoever is taken
out makes those behind it move up, so nothing marks where one was.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

FREE: Final = 0
FEWEST_SLOTS: Final = 16
SPREAD: Final = 0x1E3779B97F4A7C15  # odd, and its bits as even as those of the golden ratio
HALF: Final = 32


@final
class Seen:
    """Ids above 0, each once."""

    __slots__ = ("ids", "oldest", "slots")

    def __init__(self) -> None:
        self.ids = vec[i64]()  # in the order in which they came, from `oldest` on
        self.oldest: i64 = 0
        self.slots = vec[i64]([FREE] * FEWEST_SLOTS)  # a power of two, at least half of them free

    def __len__(self) -> int:
        return int(len(self.ids) - self.oldest)

    def __contains__(self, id: int) -> bool:
        return self.slots[self.place(id)] != FREE

    def in_order(self) -> list[int]:
        return [int(id) for id in self.ids[self.oldest :]]

    def add(self, id: int) -> bool:
        """False when it was there; it then stays where it is."""
        place = self.place(id)
        if self.slots[place] != FREE:
            return False
        self.slots[place] = id
        self.ids = append(self.ids, id)
        if 2 * (len(self.ids) - self.oldest) > len(self.slots):
            self.file_again(2 * len(self.slots))
        return True

    def take_oldest(self) -> int:
        id = self.ids[self.oldest]
        self.oldest += 1
        if 2 * self.oldest > len(self.ids):
            self.ids = self.ids[self.oldest :]
            self.oldest = 0
        self.move_up(self.place(id))
        return int(id)

    def place(self, id: i64) -> i64:
        """Where it is, or the free slot where it would be."""
        slots = self.slots
        last = len(slots) - 1
        at = id * SPREAD >> HALF & last
        while slots[at] != id and slots[at] != FREE:
            at = at + 1 & last
        return at

    def move_up(self, gap: i64) -> None:
        """Free a slot, and close the gap with whatever is found only by passing over it."""
        slots = self.slots
        last = len(slots) - 1
        at = gap
        while True:
            at = at + 1 & last
            id = slots[at]
            if id == FREE:
                break
            home = id * SPREAD >> HALF & last
            if at - home & last >= at - gap & last:
                slots[gap] = id
                gap = at
        slots[gap] = FREE

    def file_again(self, slots: i64) -> None:
        self.slots = vec[i64]([FREE] * int(slots))
        for id in self.ids[self.oldest :]:
            self.slots[self.place(id)] = id
