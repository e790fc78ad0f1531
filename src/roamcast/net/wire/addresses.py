"""Rate limits by address, before any cryptography.

An attacker can forge any address, so there are two limits. An address that sent something genuine lately has a limit of
its own; all other addresses share one. A flood from made-up addresses uses up the shared limit and does not touch
neighbours.

An address that lately kept to its limit is a *known address*. Known addresses are preferred when more datagrams come
than a node can even read (air/kernel_filter.py).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.refusal import ADDRESS_RATE, STRANGERS, Refused

Address = tuple[Any, ...]
"""A socket's address: (host, port) or (host, port, flow, scope)."""

BURST_S: Final = 2.0
"""How many seconds of a rate can be saved up."""
EXCESS_US: Final = 10_000_000
"""How long it is remembered that an address sent too much."""


def bucket(rate_per_s: float, now_us: int) -> TokenBucket:
    return TokenBucket(rate_per_s, max(rate_per_s * BURST_S, 1.0), now_us)


class AddressLimits:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._strangers = bucket(limits.strangers_per_s, 0)
        self._genuine: OrderedDict[Address, TokenBucket] = OrderedDict()
        self._excess: dict[Address, int] = {}  # when a genuine address was last refused

    def __len__(self) -> int:
        return len(self._genuine)

    def check(self, address: Address, now_us: int) -> None:
        own = self._genuine.get(address)
        if own is None:
            if not self._strangers.take(1.0, now_us):
                raise Refused(STRANGERS)
        elif not own.take(1.0, now_us):
            self._excess[address] = now_us
            raise Refused(ADDRESS_RATE)

    def proven(self, address: Address, now_us: int) -> None:
        """This address sent something genuine."""
        if address in self._genuine:
            self._genuine.move_to_end(address)
            return
        self._genuine[address] = bucket(self._limits.address_per_s, now_us)
        if len(self._genuine) > self._limits.addresses:
            self._excess.pop(self._genuine.popitem(last=False)[0], None)

    def known(self, now_us: int) -> list[Address]:
        """The known addresses; the one that sent something genuine last comes first."""
        since_us = now_us - EXCESS_US
        addresses: list[Address] = []
        for address, own in reversed(self._genuine.items()):
            own.refill(now_us)
            if 2 * own.tokens >= own.burst and self._excess.get(address, since_us) <= since_us:
                addresses.append(address)
        return addresses
