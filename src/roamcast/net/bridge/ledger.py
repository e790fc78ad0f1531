"""Which events have reached the broker, and so up to which position the node's subscription may move.

Events are done in any order, because several are on their way at the same time, and because another bridge to the same
broker may have brought one there. The subscription moves on to the last position below which everything is done.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

REMEMBERED: Final = 10_000


class Ledger:
    def __init__(self) -> None:
        self._undone: OrderedDict[int, int] = OrderedDict()  # ids by position
        self._done: OrderedDict[int, None] = OrderedDict()  # ids
        self._last = 0  # the highest position that came

    def __len__(self) -> int:
        """How many events are not done."""
        return len(self._undone)

    def begin(self) -> None:
        """The subscription begins again at its position: everything that is not done comes again."""
        self._undone.clear()
        self._last = 0

    def add(self, position: int, id: int) -> bool:
        """An event came from the node. Whether it still has to go to the broker."""
        self._last = position
        if id in self._done:
            return False
        self._undone[position] = id
        return True

    def skip(self, position: int) -> None:
        """An event that has nothing to do at the broker."""
        self._last = position

    def done(self, id: int) -> None:
        """The broker has this event, from this bridge or from another one, perhaps before it came here."""
        self._done[id] = None
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
        for position in [position for position, known in self._undone.items() if known == id]:
            del self._undone[position]

    def undone(self) -> list[int]:
        """The ids of the events that are not done, in their order."""
        return list(self._undone.values())

    def position(self) -> int:
        """Everything up to here is done."""
        return next(iter(self._undone)) - 1 if self._undone else self._last
