"""What of a sender was heard already: a window that slides along its counters.

As in IPsec (RFC 4303, 3.4.3): a counter above all others moves the window, one inside it is new once, one behind it is
refused unseen. A sender's lives follow each other: a datagram of an earlier one is refused, of a later one begins anew,
unless it is later than any clock can explain.
"""

from __future__ import annotations

from typing import Final

from roamcast.net.refusal import LEAP, REPLAYED, STALE

WINDOW: Final = 1024
LEAP_MAX: Final = 1 << 52
"""How far a life may be ahead of the one before: 142 years. Clocks that were never set show 1970."""
_MASK: Final = (1 << WINDOW) - 1


class ReplayWindow:
    """Of one sender under one key. `check` asks, `accept` remembers: a forgery must not move the window."""

    __slots__ = ("boot", "seen", "top")

    def __init__(self, boot: int, top: int = -1) -> None:
        self.boot = boot
        self.top = top  # the highest counter heard in that life; what is not above it counts as heard in the beginning
        self.seen = _MASK  # bit i: top - i was heard

    def check(self, boot: int, counter: int) -> str:
        """Why a datagram must be refused; empty if it need not be."""
        if boot != self.boot:
            return STALE if boot < self.boot else LEAP if boot - self.boot > LEAP_MAX else ""
        behind = self.top - counter
        if behind < 0:
            return ""
        if behind >= WINDOW:
            return STALE
        return REPLAYED if self.seen >> behind & 1 else ""

    def accept(self, boot: int, counter: int) -> None:
        """Remember a genuine datagram that `check` let pass."""
        if boot != self.boot:
            self.boot = boot
            self.top = counter
            self.seen = 1
        elif counter > self.top:
            self.seen = ((self.seen << (counter - self.top)) | 1) & _MASK if counter - self.top < WINDOW else 1
            self.top = counter
        else:
            self.seen |= 1 << (self.top - counter)
