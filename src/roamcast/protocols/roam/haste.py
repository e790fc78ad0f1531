"""How short intervals must be for the events that a node knows (M18).

A summary that comes after an event has expired finds nothing to repair. So of the events that a node knows, the one of
the shortest validity decides, until it expires; then the next one.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.pubsub.event import FOREVER

MOST: Final = 16
"""Events that may decide at some time. They have different validities, so there are few."""


@final
class Haste:
    __slots__ = ("calm_us", "decisive")

    def __init__(self, calm_us: i64) -> None:
        self.calm_us = calm_us  # from this validity on there is no hurry
        self.decisive: list[tuple[int, int]] = []  # expiry and validity; whoever expires later is valid for longer

    def add(self, validity_us: i64, expiry_us: i64) -> None:
        """An event is known from now on. One that is valid for longer than another, and expires no later, never
        decides."""
        if validity_us >= self.calm_us:
            return
        for expiry, validity in self.decisive:
            if validity <= validity_us and expiry >= expiry_us:
                return
        others = [each for each in self.decisive if each[0] > expiry_us or each[1] < validity_us]
        self.decisive = sorted([*others, (int(expiry_us), int(validity_us))])[:MOST]

    def shortest_us(self, now_us: int) -> int:
        """The shortest validity of an event that has not expired."""
        while self.decisive and self.decisive[0][0] <= now_us:
            self.decisive = self.decisive[1:]
        return self.decisive[0][1] if self.decisive else FOREVER
