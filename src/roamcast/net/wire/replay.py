"""Which datagrams of a sender were received already: a window that moves along its counters.

As in IPsec (RFC 4303, 3.4.3): a counter above all earlier ones moves the window, a counter inside the window is
accepted once, and a counter below the window is refused. A datagram of an earlier boot is refused. A datagram of a
later boot starts a new window, unless the boot number is further ahead than any clock can explain.
"""

from __future__ import annotations

from typing import Final

from roamcast.net.refusal import LEAP, REPLAYED, STALE

WINDOW: Final = 1024
LEAP_MAX: Final = 1 << 52
"""How far a boot number may be above the one before: 142 years. Clocks that were never set show 1970."""
_MASK: Final = (1 << WINDOW) - 1


class ReplayWindow:
    """For one sender under one key. `check` changes nothing and `accept` remembers: a forgery must not move the
    window."""

    __slots__ = ("boot", "seen", "top")

    def __init__(self, boot: int, top: int = -1) -> None:
        self.boot = boot
        self.top = top  # the highest counter of that boot; at first, all counters up to it count as received
        self.seen = _MASK  # bit i: top - i was received

    def check(self, boot: int, counter: int) -> str:
        """The reason why a datagram is refused; empty if it is new."""
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
