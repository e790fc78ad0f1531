"""When a node sends its summary: Trickle (kit/trickle.py), which follows the number of neighbours (M13) and how long
events are valid (M18).

A node with few neighbours has the medium for itself, and may meet somebody for a moment only: its intervals stay half
as long. And no node stays silent in more than `patience` of the longest intervals in a row, which is one, and more in a
crowd. Otherwise a node at the edge of a room could be silent for long, because all in the room agree, while somebody
outside whom only this node reaches waits for a summary.

Where events are valid for seconds, a summary that comes late finds nothing to repair. So while a node knows such an
event, its intervals are no longer than a part of the event's validity.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import Host
from roamcast.protocols.kit.trickle import TrickleTimer
from roamcast.pubsub.event import FOREVER

FEW: Final = 2
MODERATE: Final = 3
"""Neither few nor a crowd."""
CROWD: Final = 8
"""Neighbours; for each so many, a node may be silent in one interval more …"""
PATIENCE: Final = 3
"""… up to so many, so that neighbours do not take it for gone."""
CHANCES: Final = 16
"""At least so many intervals begin while an event is valid, unless the shortest ones are too long for that."""


@final
class Trickle(TrickleTimer):
    __slots__ = ("expiry_us", "patience", "silent", "usual_us", "validity_us")

    def __init__(self, host: Host, key: int, shortest_us: int, longest_us: int, enough: int) -> None:
        super().__init__(host, key, shortest_us, longest_us, enough)
        self.usual_us = longest_us
        self.patience = 1
        self.silent = 0  # intervals in a row
        self.validity_us = FOREVER  # the shortest one of the events known, …
        self.expiry_us = 0  # … until that event expires: then the next that comes counts

    def follow(self, neighbours: int) -> None:
        self.longest_us = max(self.shortest_us, self.usual_us // 2) if neighbours <= FEW else self.usual_us
        self.patience = min(PATIENCE, 1 + neighbours // CROWD)

    def serve(self, validity_us: int, expiry_us: int) -> None:
        """An event is known from now on, until it expires."""
        if validity_us <= self.validity_us:
            self.validity_us = validity_us
            self.expiry_us = expiry_us

    def keep_up(self, now_us: int) -> None:
        """M18; after `follow`."""
        if now_us >= self.expiry_us:
            self.validity_us = FOREVER
        self.longest_us = max(self.shortest_us, min(self.longest_us, self.validity_us // CHANCES))

    def suppressed(self) -> bool:
        waited = self.interval_us >= self.longest_us and self.silent >= self.patience
        self.silent = self.silent + 1 if super().suppressed() and not waited else 0
        return self.silent > 0
