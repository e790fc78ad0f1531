"""Which datagrams of a sender were received already.

A replay is a datagram that is received a second time, byte for byte. So a window remembers digests of datagrams, each
at the place of its counter, and not only that a counter was used. A member of the group can send another datagram with
a counter that the true sender still has to use. Both datagrams are accepted, and the true sender is not silenced.

A window has an end, and what is behind it is refused. So only the sender may move it: the sender signs its *position*
(boot and counter) from time to time, and the window around the last signed position moves with these alone. Datagrams
ahead of that window pass through a second window. Every datagram moves it, and the next signed position deletes it. A
forged frame far ahead of its alleged sender moves only this second window.
"""

from __future__ import annotations

import secrets
from array import array
from hashlib import blake2b
from typing import Final, NamedTuple

from roamcast.net.refusal import REPLAYED, STALE

WINDOW: Final = 1024
AHEAD: Final = WINDOW // 2
"""How many counters after a signed position belong to its window; as many before it do."""
NEVER: Final = -1
_DIGEST_KEY: Final = secrets.token_bytes(16)
"""Members of the group know all keys except this one, so they cannot make two datagrams with one digest."""


class Positions(NamedTuple):
    """What is kept of a sender through a restart. `NEVER`: there is none."""

    signed_boot: int
    signed_counter: int
    received: int  # the highest counter in the window of the signed position
    boot: int  # of the second window
    counter: int


class Window:
    """`WINDOW` counters of one boot. Those up to `floor` count as received."""

    __slots__ = ("boot", "floor", "received", "slots", "top")

    def __init__(self, boot: int, top: int, floor: int = NEVER) -> None:
        self.boot = boot
        self.top = top
        self.floor = floor
        self.received = floor  # the highest counter that was accepted
        self.slots: array[int] | None = None  # counter and digest of the last datagram at each place

    def check(self, counter: int, datagram: bytes) -> str:
        """The reason why a datagram of this window is refused; empty if it is new."""
        if counter <= self.floor:
            return STALE
        entry = 0 if self.slots is None else self.slots[counter % WINDOW]
        return REPLAYED if entry and entry == _entry(counter, datagram) else ""

    def accept(self, counter: int, datagram: bytes) -> None:
        if self.slots is None:
            self.slots = array("Q", bytes(8 * WINDOW))
        self.slots[counter % WINDOW] = _entry(counter, datagram)
        self.received = max(self.received, counter)

    def take_over(self, other: Window) -> None:
        """Remember also what another window of this boot remembers."""
        self.floor = max(self.floor, other.floor)
        if other.slots is not None:
            mine = self.slots or array("Q", bytes(8 * WINDOW))
            self.slots = array("Q", map(max, mine, other.slots))  # the higher counter at each place


class History:
    """What was received from one sender. `check` changes nothing: a datagram need not be genuine yet."""

    __slots__ = ("signed", "unsigned")

    def __init__(self, positions: Positions | None = None) -> None:
        self.signed: Window | None = None
        self.unsigned: Window | None = None
        if positions is not None and positions.signed_boot != NEVER:
            self.signed = Window(positions.signed_boot, positions.signed_counter, positions.received)
        if positions is not None and positions.boot != NEVER:
            self.unsigned = Window(positions.boot, positions.counter, positions.counter)

    def positions(self) -> Positions:
        signed, unsigned = self.signed, self.unsigned
        return Positions(
            NEVER if signed is None else signed.boot,
            NEVER if signed is None else signed.top,
            NEVER if signed is None else signed.received,
            NEVER if unsigned is None else unsigned.boot,
            NEVER if unsigned is None else unsigned.top,
        )

    def check(self, boot: int, counter: int, datagram: bytes) -> str:
        """The reason why a datagram is refused; empty if it is new."""
        signed, unsigned = self.signed, self.unsigned
        if signed is not None and boot <= signed.boot:
            if boot < signed.boot or counter <= signed.top - AHEAD:
                return STALE
            if counter <= signed.top + AHEAD:
                return signed.check(counter, datagram)
        if unsigned is None or (boot, counter) > (unsigned.boot, unsigned.top):
            return ""
        if boot < unsigned.boot or counter <= unsigned.top - WINDOW:
            return STALE
        return unsigned.check(counter, datagram)

    def accept(self, boot: int, counter: int, datagram: bytes) -> None:
        """Remember a genuine datagram that `check` let pass."""
        signed, unsigned = self.signed, self.unsigned
        if signed is not None and boot == signed.boot and counter <= signed.top + AHEAD:
            signed.accept(counter, datagram)
            return
        if unsigned is None or boot != unsigned.boot:
            unsigned = self.unsigned = Window(boot, counter)
        unsigned.top = max(unsigned.top, counter)
        unsigned.accept(counter, datagram)

    def check_position(self, boot: int, counter: int) -> str:
        """The reason why a position need not be verified; empty if it is ahead of the last one that was signed."""
        signed = self.signed
        return STALE if signed is not None and (boot, counter) <= (signed.boot, signed.top) else ""

    def move(self, boot: int, counter: int) -> None:
        """The sender has signed this position, which `check_position` let pass."""
        unsigned = self.unsigned if self.unsigned is not None and self.unsigned.boot >= boot else None
        if self.signed is None or self.signed.boot != boot:
            self.signed = Window(boot, counter)
        if unsigned is not None and unsigned.boot == boot:
            self.signed.take_over(unsigned)
            self.signed.received = max(self.signed.received, min(unsigned.received, counter))
            unsigned = None
        self.signed.top = counter
        self.signed.floor = min(self.signed.floor, counter)  # a forged frame may have lifted it ahead of the sender
        self.unsigned = unsigned


def _entry(counter: int, datagram: bytes) -> int:
    """Not 0, which is the entry of a free place."""
    return counter << 32 | int.from_bytes(blake2b(datagram, digest_size=4, key=_DIGEST_KEY).digest(), "big") | 1
