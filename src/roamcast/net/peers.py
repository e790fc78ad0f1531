"""All that is kept about others, within bounds: addresses before cryptography, senders behind it.

*Addresses* can be forged by anybody, so the gate in front of cryptography has two doors. Addresses that sent something
genuine lately have a bucket each; all others share one. A flood from made-up addresses uses up the shared bucket and
leaves neighbours alone. Who kept to his rate lately is in good standing, and preferred when there is more than a node
can even look at (sieve.py).

*Senders* are numbers that came under the group's key. Each has its replay windows, its rates, its last address and the
number of the last frame addressed to us. A window belongs to a key, because what was said under one can be replayed
under that one only. So windows go when their key goes, and with them whatever a member who was left out of a rotation
did to them in others' names. But a life that was heard under a newer key ends the earlier ones under older keys. When
the table is full, a newcomer takes the place of whoever was silent for longest, but of nobody who was heard within
`sender_idle_s`; of those who go, their place in their numbers is kept, and so it is through a restart (`export`,
`restore`), so that what they said cannot be replayed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

import msgspec

from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.packet import Header
from roamcast.net.refusal import ADDRESS_RATE, NEWCOMERS, SENDER_RATE, STALE, STRANGERS, TABLE_FULL, Refused
from roamcast.net.replay import ReplayWindow

Address = tuple[Any, ...]
"""A socket's address: (host, port) or (host, port, flow, scope)."""

Places = dict[int, tuple[int, int]]
"""Where a sender was in its numbers: boot and counter, by key."""

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

    __slots__ = (
        "accepted",
        "address",
        "boot",
        "bytes",
        "frames",
        "frames_rate",
        "heard_us",
        "rate",
        "signatures",
        "windows",
    )

    def __init__(self, limits: Limits, windows: dict[int, ReplayWindow], address: Address, now_us: int) -> None:
        self.windows = windows  # by key
        self.boot = -1  # of the datagram heard last
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
    def __init__(self, limits: Limits, keys: Collection[int] = ()) -> None:
        self._limits = limits
        self._keys = list(keys)  # oldest first
        self._idle_us = int(limits.sender_idle_s * 1e6)
        self._newcomers = bucket(limits.newcomers_per_s, 0)
        self.known: OrderedDict[int, Peer] = OrderedDict()  # in order of when they were heard last
        self._past: OrderedDict[int, Places] = OrderedDict()  # of those forgotten

    def get(self, number: int) -> Peer | None:
        return self.known.get(number)

    def refuse(self, header: Header) -> str:
        """Why a datagram with this header cannot be new, before it is known to be genuine; empty if it can."""
        peer = self.known.get(header.sender)
        windows = _windows(self._past.get(header.sender, {})) if peer is None else peer.windows
        window = windows.get(header.key_id)
        old = "" if window is None else window.check(header.boot, header.counter)
        return old or (STALE if header.boot < self._newer_boot(header.key_id, windows) else "")

    def _newer_boot(self, key: int, windows: dict[int, ReplayWindow]) -> int:
        """The latest life under a newer key than this."""
        newer = self._keys[self._keys.index(key) + 1 :] if key in self._keys else []
        return max((windows[key].boot for key in newer if key in windows), default=-1)

    def accept(self, header: Header, address: Address, now_us: int) -> tuple[Peer, int]:
        """The sender of a genuine datagram, and the number of whoever was forgotten for it (or -1)."""
        peer = self.known.get(header.sender)
        forgotten = -1
        if peer is None:
            self._check_place(now_us)
            places = self._past.pop(header.sender, {})
            forgotten = self._make_place()
            peer = Peer(self._limits, _windows(places), address, now_us)
            self.known[header.sender] = peer
        else:
            self.known.move_to_end(header.sender)
        if header.boot != peer.boot:
            peer.boot, peer.accepted = header.boot, -1
        if header.key_id not in peer.windows:
            peer.windows[header.key_id] = ReplayWindow(header.boot)
        peer.windows[header.key_id].accept(header.boot, header.counter)
        peer.address = address
        peer.heard_us = now_us
        return peer, forgotten

    def _full(self) -> bool:
        return len(self.known) >= self._limits.senders

    def _check_place(self, now_us: int) -> None:
        if self._full() and now_us - next(iter(self.known.values())).heard_us < self._idle_us:
            raise Refused(TABLE_FULL)
        if not self._newcomers.take(1.0, now_us):
            raise Refused(NEWCOMERS)

    def _make_place(self) -> int:
        if not self._full():
            return -1
        oldest, peer = self.known.popitem(last=False)
        self._past[oldest] = _places(peer.windows)
        if len(self._past) > self._limits.senders_forgotten:
            self._past.popitem(last=False)
        return oldest

    def keep(self, keys: Collection[int]) -> None:
        """These are the keys, oldest first. Forget what was said under others: nothing under them is heard again."""
        self._keys = list(keys)
        for peer in self.known.values():
            peer.windows = {key: window for key, window in peer.windows.items() if key in keys}
        kept = ((n, {key: place for key, place in places.items() if key in keys}) for n, places in self._past.items())
        self._past = OrderedDict((n, places) for n, places in kept if places)

    # ---- through a restart

    def export(self) -> bytes:
        """Where everybody was in their numbers."""
        heard = [*self._past.items(), *((n, _places(peer.windows)) for n, peer in self.known.items())]
        return msgspec.msgpack.encode(heard[-self._limits.senders_forgotten :])

    def restore(self, exported: bytes) -> None:
        """What a vault gave back; anything else than an export is as good as nothing."""
        try:
            heard = msgspec.msgpack.decode(exported, type=list[tuple[int, Places]])
        except msgspec.DecodeError:
            heard = self._former(exported)
        self._past.update(heard[-self._limits.senders_forgotten :])

    def _former(self, exported: bytes) -> list[tuple[int, Places]]:
        """An export of a version that did not tell keys apart: it may have been under any."""
        with suppress(msgspec.DecodeError):
            heard = msgspec.msgpack.decode(exported, type=list[tuple[int, int, int]])
            return [(number, dict.fromkeys(self._keys, (boot, top))) for number, boot, top in heard]
        return []


def _places(windows: dict[int, ReplayWindow]) -> Places:
    return {key: (window.boot, window.top) for key, window in windows.items()}


def _windows(places: Places) -> dict[int, ReplayWindow]:
    return {key: ReplayWindow(boot, top) for key, (boot, top) in places.items()}
