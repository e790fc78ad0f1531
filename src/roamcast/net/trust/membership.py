"""What a node needs to take part in a group, and the numbers that it must never use twice.

Two kinds of numbers survive a restart, because using one twice would do harm. A boot number makes the key of the
datagrams of one boot: a repeated one would repeat nonces. A sequence number makes the id of an event: a repeated one
would name two events. Both are written to disk before they are used.
"""

from __future__ import annotations

import secrets
import time
from typing import Final

from roamcast.errors import InputError
from roamcast.net.durable import DurableValues, MemoryValues
from roamcast.net.trust.identity import NODE_MAX, Identity, Roster, node_number
from roamcast.net.trust.keys import KeyRing

SEQUENCE_MAX: Final = (1 << 32) - 1
SEQUENCE_BLOCK: Final = 256
_FINE_BITS: Final = 16


def take_boot(durable: DurableValues, unix_us: int | None = None) -> int:
    """A number for a new boot of this node, higher than all earlier ones; on disk when this returns.

    It follows the clock if the clock is ahead. So a node that lost its durable values still gets a higher number than
    before, and its neighbours do not take its datagrams for old ones. The last 16 bits are random, so that two copies
    of one node's files hardly ever take the same number.
    """
    stored = durable.load("boot")
    last = int.from_bytes(stored, "big") if stored is not None else 0
    now_us = time.time_ns() // 1000 if unix_us is None else unix_us
    coarse = max((last >> _FINE_BITS) + 1, max(now_us, 0) >> _FINE_BITS)
    if coarse >= 1 << 48:
        raise InputError("the boot numbers of this identity are used up: it cannot send any more")
    boot = coarse << _FINE_BITS | secrets.randbits(_FINE_BITS)
    durable.store("boot", boot.to_bytes(8, "big"))
    return boot


class Sequence:
    """The numbers of a publisher's events, never the same one twice. Reserved in blocks: one write for 256 numbers."""

    def __init__(self, durable: DurableValues, block: int = SEQUENCE_BLOCK) -> None:
        self._durable = durable
        self._block = block
        stored = durable.load("sequence")
        self._reserved = int.from_bytes(stored, "big") if stored is not None else 0
        self._last = self._reserved

    def next(self) -> int:
        if self._last >= SEQUENCE_MAX:
            raise InputError("this identity has published all the events it can")
        if self._last >= self._reserved:
            self._reserved = min(self._last + self._block, SEQUENCE_MAX)
            self._durable.store("sequence", self._reserved.to_bytes(8, "big"))
        self._last += 1
        return self._last


class Membership:
    """Number, identity, the group's keys, the roster, and the durable values behind them."""

    def __init__(
        self,
        number: int,
        durable: DurableValues,
        identity: Identity | None,
        ring: KeyRing | None,
        roster: Roster | None,
        clocks_within_s: float | None = None,
    ) -> None:
        if not 0 <= number <= NODE_MAX:
            raise InputError(f"node number {number}: must be between 0 and {NODE_MAX}")
        self.number = number
        self.durable = durable
        self.identity = identity
        self.ring = ring
        self.roster = roster
        self.clocks_within_s = clocks_within_s
        self.sequence = Sequence(durable)

    @classmethod
    def secure(
        cls, durable: DurableValues, ring: KeyRing, roster: Roster | None = None, clocks_within_s: float | None = None
    ) -> Membership:
        """`clocks_within_s`: the clocks of all members are guaranteed to be right within this many seconds."""
        identity = Identity.of(durable)
        number = node_number(identity.public)
        if roster is not None:
            if identity.public not in roster.numbers:
                raise InputError(f"this node is not on the roster; its public key is {identity.public.hex()}")
            number = roster.numbers[identity.public]
        return cls(number, durable, identity, ring, roster, clocks_within_s)

    @classmethod
    def insecure(cls, number: int | None = None, durable: DurableValues | None = None) -> Membership:
        """Nothing is encrypted, authenticated or signed. Only for experiments without attackers."""
        drawn = secrets.randbits(31) if number is None else number
        return cls(drawn, durable or MemoryValues(), None, None, None)

    def take_boot(self) -> int:
        return take_boot(self.durable)

    @property
    def group_name(self) -> str:
        """A name for the nodes whose frames this node accepts: the group's id, or any node."""
        return "insecure" if self.ring is None else self.ring.group.hex()
