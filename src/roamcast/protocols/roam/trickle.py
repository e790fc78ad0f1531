"""When a node sends its summary: Trickle (kit/trickle.py), which follows the number of neighbours (M13) and the
validity of events (M18; haste.py).

A node with few neighbours has the medium for itself, and may meet somebody for a moment only: its intervals stay half
as long. And no node stays silent in more than `patience` of the longest intervals in a row, which is one, and more in a
crowd. Otherwise a node at the edge of a room could be silent for long, because all in the room agree, while somebody
outside whom only this node reaches waits for a summary. While intervals are short, somebody differs, and it takes a few
of them until they are long again; a neighbour that differs all the time does not keep others silent for longer.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import Host
from roamcast.protocols.kit.trickle import TrickleTimer

FEW: Final = 2
MODERATE: Final = 3
"""Neither few nor a crowd."""
CROWD: Final = 8
"""Neighbours; for each so many, a node may be silent in one interval more …"""
PATIENCE: Final = 3
"""… up to so many, so that neighbours do not take it for gone."""


@final
class Trickle(TrickleTimer):
    __slots__ = ("doublings", "patience", "silent", "usual_us")

    def __init__(self, host: Host, key: int, shortest_us: int, longest_us: int, enough: int) -> None:
        super().__init__(host, key, shortest_us, longest_us, enough)
        self.usual_us = longest_us
        self.doublings = (longest_us // shortest_us).bit_length()  # intervals until they are the longest, and one
        self.patience = 1
        self.silent = 0  # intervals in a row

    def follow(self, neighbours: int, limit_us: float) -> None:
        """No interval needs to be longer than `limit_us`."""
        longest_us = self.usual_us // 2 if neighbours <= FEW else self.usual_us
        self.longest_us = max(self.shortest_us, int(min(longest_us, limit_us)))
        self.patience = min(PATIENCE, 1 + neighbours // CROWD)

    def hurry(self, limit_us: float) -> None:
        """From now on, no interval needs to be longer than that."""
        self.longest_us = max(self.shortest_us, int(min(self.longest_us, limit_us)))
        if self.running and self.interval_us > self.longest_us:
            self.interval_us = self.longest_us
            self._begin()

    def suppressed(self) -> bool:
        patience = self.patience if self.interval_us >= self.longest_us else self.patience + self.doublings
        waited = self.silent >= patience
        self.silent = self.silent + 1 if super().suppressed() and not waited else 0
        return self.silent > 0
