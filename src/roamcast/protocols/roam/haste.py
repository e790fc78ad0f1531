"""How short intervals must be for the events that a node knows (M18).

A summary that comes after an event has expired finds nothing to repair. So of the events that a node knows, the one of
the shortest validity decides, until it expires; then the next one. Events that no summary is about, because they expire
before the flood that brings them is over, do not count.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.pubsub.event import FOREVER

MOST: Final = 16
"""Events that may decide at some time. They have different validities, so there are few."""


@final
class Haste:
    __slots__ = ("calm_us", "decisive", "least_us")

    def __init__(self, least_us: i64, calm_us: i64) -> None:
        self.least_us = least_us  # up to this validity there is nothing to be gained …
        self.calm_us = calm_us  # … and from this one on there is no hurry
        self.decisive: list[tuple[int, int]] = []  # expiry and validity; whoever expires later is valid for longer

    def add(self, validity_us: i64, expiry_us: i64, now_us: i64) -> bool:
        """An event is known from now on; returns whether it may decide. One that is valid for longer than another, and
        expires no later, never does."""
        if not self.least_us < validity_us < self.calm_us:
            return False
        self.forget(now_us)
        for expiry, validity in self.decisive:
            if validity <= validity_us and expiry >= expiry_us:
                return False
        others = [each for each in self.decisive if each[0] > expiry_us or each[1] < validity_us]
        self.decisive = sorted([*others, (int(expiry_us), int(validity_us))])
        if len(self.decisive) > MOST:  # one stands for two: rather too much haste than too little
            expiry, _ = self.decisive.pop()
            self.decisive[-1] = (expiry, self.decisive[-1][1])
        return True

    def forget(self, now_us: i64) -> None:
        """Those that have expired."""
        while self.decisive and self.decisive[0][0] <= now_us:
            self.decisive = self.decisive[1:]

    def shortest_us(self, now_us: int) -> int:
        """The shortest validity of an event that has not expired."""
        self.forget(now_us)
        return self.decisive[0][1] if self.decisive else FOREVER
