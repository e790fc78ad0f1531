"""Sets of ids of events, and the ids that were seen, oldest first, up to a limit that the user of the table keeps.

Every node has such a table and looks up every event that reaches it, so in a large world the processor mostly waits for
this memory. A hash table of plain numbers takes less than half the room of a dict of ints, and a lookup reads memory
once. It uses open addressing: an id is in its slot or in the next free one after it. When an id is removed, those
behind it move up, so that no slot needs a mark that it was used.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

FREE: Final = 0
FEWEST_SLOTS: Final = 16
SPREAD: Final = 0x1E3779B97F4A7C15  # odd, with evenly spread bits, from the golden ratio
HALF: Final = 32


class IdSet:
    """Ids above 0."""

    __slots__ = ("size", "slots")

    def __init__(self) -> None:
        self.size: i64 = 0
        self.slots = vec[i64]([FREE] * FEWEST_SLOTS)  # a power of two, at least half of them free

    @final
    def __len__(self) -> int:
        return int(self.size)

    @final
    def __contains__(self, id: i64) -> bool:
        return self.slots[self.slot_of(id)] != FREE

    def add(self, id: int) -> bool:
        """Returns False if the id was there."""
        slot = self.slot_of(id)
        if self.slots[slot] != FREE:
            return False
        self.slots[slot] = id
        self.size += 1
        if 2 * self.size > len(self.slots):
            self.rehash(2 * len(self.slots))
        return True

    @final
    def remove(self, id: i64) -> None:
        """Free the slot of an id, if it has one. Ids that a search would not find behind the gap move into it."""
        slots = self.slots
        last = len(slots) - 1
        gap = slot = self.slot_of(id)
        if slots[gap] == FREE:
            return
        self.size -= 1
        while True:
            slot = slot + 1 & last
            other = slots[slot]
            if other == FREE:
                break
            home = other * SPREAD >> HALF & last
            if slot - home & last >= slot - gap & last:
                slots[gap] = other
                gap = slot
        slots[gap] = FREE

    @final
    def slot_of(self, id: i64) -> i64:
        """The slot of this id, or the free slot where it would be."""
        slots = self.slots
        last = len(slots) - 1
        slot = id * SPREAD >> HALF & last
        while slots[slot] != id and slots[slot] != FREE:
            slot = slot + 1 & last
        return slot

    @final
    def rehash(self, slots: i64) -> None:
        before = self.slots
        self.slots = vec[i64]([FREE] * int(slots))
        for id in before:
            if id != FREE:
                self.slots[self.slot_of(id)] = id


@final
class Seen(IdSet):
    """Ids above 0, each once, in the order in which they came."""

    __slots__ = ("ids", "oldest")

    def __init__(self) -> None:
        super().__init__()
        self.ids = vec[i64]()  # in the order in which they came, beginning at `oldest`
        self.oldest: i64 = 0

    def in_order(self) -> list[int]:
        return [int(id) for id in self.ids[self.oldest :]]

    def add(self, id: int) -> bool:
        """Returns False if the id was there; then it keeps its place in the order."""
        if not super().add(id):
            return False
        self.ids = append(self.ids, id)
        return True

    def take_oldest(self) -> int:
        id = self.ids[self.oldest]
        self.oldest += 1
        if 2 * self.oldest > len(self.ids):
            self.ids = self.ids[self.oldest :]
            self.oldest = 0
        self.remove(id)
        return int(id)
