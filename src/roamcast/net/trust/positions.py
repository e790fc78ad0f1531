"""Signed positions: how far a sender has got, as it says itself.

A position is the boot and the counter of a datagram. Receivers refuse datagrams behind the last position that their
sender has signed, so no other node can make them refuse datagrams of that sender (wire/replay.py).

    signed = "roamcast position 1" ‖ group (8 bytes) ‖ sender (4 bytes) ‖ boot (8 bytes) ‖ counter (4 bytes)

A position costs 160 bytes on the air and a signature. It is due with the first datagrams of a boot, then every `EVERY`
datagrams, and with the first one after `Limits.position_s`. A node that sends nothing signs nothing.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from roamcast.net.trust.identity import Identity

EVERY: Final = 128
"""How many datagrams a sender signs one position for. Receivers have a window of 512 ahead of a position, so that three
of them may be lost."""
_CONTEXT: Final = b"roamcast position 1"
_POSITION: Final = Struct("!IQI")


def signed_position(group: bytes, sender: int, boot: int, counter: int) -> bytes:
    """The bytes that are signed."""
    return _CONTEXT + group + _POSITION.pack(sender, boot, counter)


class PositionSchedule:
    """When this node signs its position again."""

    def __init__(self, period_s: float) -> None:
        self._period_us = int(period_s * 1e6)
        self._boot = -1
        self._next = 0  # the counter at which it is due
        self._next_us = 0

    def due(self, boot: int, counter: int, now_us: int) -> bool:
        return boot != self._boot or counter >= self._next or now_us >= self._next_us

    def signed(self, boot: int, counter: int, now_us: int) -> None:
        """At first after 2, 4, 8, … datagrams, because a neighbour that missed the first one hears a new boot only in
        its second window."""
        self._boot = boot
        self._next = counter + min(max(counter, 2), EVERY)
        self._next_us = now_us + self._period_us


def sign_position(identity: Identity, group: bytes, sender: int, boot: int, counter: int) -> bytes:
    return identity.sign(signed_position(group, sender, boot, counter))
