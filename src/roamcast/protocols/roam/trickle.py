"""When a node sends its summary: Trickle (kit/trickle.py), with one rule more.

No node stays silent in two of the longest intervals in a row. Otherwise a node at the edge of a room could be silent
for long, because all in the room agree, while somebody outside whom only this node reaches waits for a summary.
"""

from __future__ import annotations

from typing import final

from roamcast.protocols.kit.interface import Host
from roamcast.protocols.kit.trickle import TrickleTimer


@final
class Trickle(TrickleTimer):
    __slots__ = ("silent",)

    def __init__(self, host: Host, key: int, shortest_us: int, longest_us: int, enough: int) -> None:
        super().__init__(host, key, shortest_us, longest_us, enough)
        self.silent = False  # in the last interval

    def suppressed(self) -> bool:
        spoke_lately = not self.silent or self.interval_us < self.longest_us
        self.silent = super().suppressed() and spoke_lately
        return self.silent
