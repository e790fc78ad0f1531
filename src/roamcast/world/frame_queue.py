"""The frames that a station has to send, and to whom: first in, first out, however long the queue gets.

`list.pop(0)` moves all items behind the first one, so a queue of n items costs n² to empty. Here an item is moved once:
those that came wait in one list, and when the other list is empty, they are turned round into it, so that the first
item is at its end. Frames and addressees have lists of their own, because a pair of them would be an object more: where
floods overload a medium without a limit, a hundred million frames wait.
"""

from __future__ import annotations

from typing import final

from roamcast.protocols.kit.interface import Frame


@final
class FrameQueue:
    __slots__ = ("came", "came_to", "goes", "goes_to")

    def __init__(self) -> None:
        self.came: list[Frame] = []
        self.came_to: list[int] = []
        self.goes: list[Frame] = []  # the first frame last
        self.goes_to: list[int] = []

    def __bool__(self) -> bool:
        return len(self.goes) > 0 or len(self.came) > 0

    def __len__(self) -> int:
        return len(self.goes) + len(self.came)

    def append(self, frame: Frame, to: int) -> None:
        self.came.append(frame)
        self.came_to.append(to)

    def take(self) -> tuple[Frame, int]:
        """Remove the first frame, and return it with its addressee."""
        if not self.goes:
            self.turn_round()
        return self.goes.pop(), self.goes_to.pop()

    def turn_round(self) -> None:
        self.came.reverse()
        self.came_to.reverse()
        self.came, self.goes = self.goes, self.came
        self.came_to, self.goes_to = self.goes_to, self.came_to

    def remove(self, id: int, to: int) -> bool:
        """Remove the first frame with this id and addressee. Returns whether there was one. Unlike the rest, this takes
        time for every frame that waits."""
        self.came = self.goes[::-1] + self.came
        self.came_to = self.goes_to[::-1] + self.came_to
        self.goes = []
        self.goes_to = []
        for k in range(len(self.came)):
            if self.came[k].id == id and self.came_to[k] == to:
                del self.came[k]
                del self.came_to[k]
                return True
        return False
