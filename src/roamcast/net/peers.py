"""All that is kept about others, within bounds: addresses before cryptography, senders behind it.

*Addresses* can be forged by anybody, so the gate in front of cryptography has two doors. Addresses that sent something
genuine lately have a bucket each; all others share one. A flood from made-up addresses uses up the shared bucket and
leaves neighbours alone. Who kept to his rate lately is in good standing, and preferred when there is more than a node
can even look at (sieve.py).

*Senders* are numbers that came under the group's key. Each has its replay window, its rates, its last address and the
number of the last frame addressed to us. When the table is full, a newcomer takes the place of whoever was silent for
longest, but of nobody who was heard within `sender_idle_s`; of those who go, their place in their numbers is kept, and
so it is through a restart (`export`, `restore`), so that what they said cannot be replayed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import msgspec

from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.packet import Header
from roamcast.net.refusal import ADDRESS_RATE, NEWCOMERS, SENDER_RATE, STRANGERS, TABLE_FULL, Refused
from roamcast.net.replay import ReplayWindow

Address = tuple[Any, ...]
"""A socket's address: (host, port) or (host, port, flow, scope)."""

BURST_S: Final = 2.0
"""How many seconds of a rate can be saved up."""
STANDING_US: Final = 10_000_000
"""How long it is remembered that an address sent too much."""


def bucket(rate_per_s: float, now_us: int) -> TokenBucket:
    return TokenBucket(rate_per_s, max(rate_per_s * BURST_S, 1.0), now_us)


class Gate:
    """Who is let in to cryptography."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._strangers = bucket(limits.strangers_per_s, 0)
        self._known: OrderedDict[Address, TokenBucket] = OrderedDict()
        self._excess: dict[Address, int] = {}  # when one of these was refused last

    def __len__(self) -> int:
        return len(self._known)

    def check(self, address: Address, now_us: int) -> None:
        known = self._known.get(address)
        if known is None:
            if not self._strangers.take(1.0, now_us):
                raise Refused(STRANGERS)
        elif not known.take(1.0, now_us):
            self._excess[address] = now_us
            raise Refused(ADDRESS_RATE)

    def proven(self, address: Address, now_us: int) -> None:
        """Something genuine came from there."""
        if address in self._known:
            self._known.move_to_end(address)
            return
        self._known[address] = bucket(self._limits.address_per_s, now_us)
        if len(self._known) > self._limits.addresses:
            self._excess.pop(self._known.popitem(last=False)[0], None)

    def favoured(self, now_us: int) -> list[Address]:
        """Addresses in good standing, those first that sent something genuine last."""
        since_us = now_us - STANDING_US
        found: list[Address] = []
        for address, known in reversed(self._known.items()):
            known.refill(now_us)
            if 2 * known.tokens >= known.burst and self._excess.get(address, since_us) <= since_us:
                found.append(address)
        return found


class Peer:
    """A sender that was heard."""

    __slots__ = ("accepted", "address", "bytes", "frames", "frames_rate", "heard_us", "rate", "signatures", "window")

    def __init__(self, limits: Limits, window: ReplayWindow, address: Address, now_us: int) -> None:
        self.window = window
        self.address = address
        self.heard_us = now_us
        self.frames_rate = bucket(limits.sender_frames_per_s, now_us)
        self.rate = bucket(limits.sender_bytes_per_s, now_us)
        self.signatures = bucket(limits.sender_signatures_per_s, now_us)
        self.accepted = -1  # number of the last frame that was addressed to us; acknowledged again if it comes again
        self.frames = 0
        self.bytes = 0

    def charge(self, size: int, now_us: int) -> None:
        if not self.frames_rate.take(1.0, now_us) or not self.rate.take(size, now_us):
            raise Refused(SENDER_RATE)


class Peers:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._idle_us = int(limits.sender_idle_s * 1e6)
        self._newcomers = bucket(limits.newcomers_per_s, 0)
        self.known: OrderedDict[int, Peer] = OrderedDict()  # in order of when they were heard last
        self._past: OrderedDict[int, tuple[int, int]] = OrderedDict()  # of those forgotten: (boot, top)

    def get(self, number: int) -> Peer | None:
        return self.known.get(number)

    def refuse(self, header: Header) -> str:
        """Why a datagram with this header cannot be new, before it is known to be genuine; empty if it can."""
        peer = self.known.get(header.sender)
        if peer is not None:
            return peer.window.check(header.boot, header.counter)
        past = self._past.get(header.sender)
        return "" if past is None else ReplayWindow(*past).check(header.boot, header.counter)

    def accept(self, header: Header, address: Address, now_us: int) -> tuple[Peer, int]:
        """The sender of a genuine datagram, and the number of whoever was forgotten for it (or -1)."""
        peer = self.known.get(header.sender)
        forgotten = -1
        if peer is None:
            forgotten = self._make_place(now_us)
            boot, top = self._past.pop(header.sender, (header.boot, -1))
            peer = Peer(self._limits, ReplayWindow(boot, top), address, now_us)
            self.known[header.sender] = peer
        else:
            self.known.move_to_end(header.sender)
        if header.boot != peer.window.boot:
            peer.accepted = -1
        peer.window.accept(header.boot, header.counter)
        peer.address = address
        peer.heard_us = now_us
        return peer, forgotten

    def _make_place(self, now_us: int) -> int:
        full = len(self.known) >= self._limits.senders
        oldest = next(iter(self.known), -1)
        if full and now_us - self.known[oldest].heard_us < self._idle_us:
            raise Refused(TABLE_FULL)
        if not self._newcomers.take(1.0, now_us):
            raise Refused(NEWCOMERS)
        if not full:
            return -1
        self._remember(oldest, self.known.pop(oldest).window)
        return oldest

    def _remember(self, number: int, window: ReplayWindow) -> None:
        self._past[number] = (window.boot, window.top)
        if len(self._past) > self._limits.senders_forgotten:
            self._past.popitem(last=False)

    # ---- through a restart

    def export(self) -> bytes:
        """Where everybody was in their numbers."""
        heard = [[n, boot, top] for n, (boot, top) in self._past.items()]
        heard += [[n, peer.window.boot, peer.window.top] for n, peer in self.known.items()]
        return msgspec.msgpack.encode(heard[-self._limits.senders_forgotten :])

    def restore(self, exported: bytes) -> None:
        """What a vault gave back; anything else than an export is as good as nothing."""
        try:
            heard = msgspec.msgpack.decode(exported, type=list[tuple[int, int, int]])
        except msgspec.DecodeError:
            return
        for number, boot, top in heard[-self._limits.senders_forgotten :]:
            self._past[number] = (boot, top)
