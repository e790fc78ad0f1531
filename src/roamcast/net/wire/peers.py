"""What is remembered about peers: senders whose datagrams came under the group's key.

For each peer there are its replay windows, its rates, its last address and the number of the last frame that it
addressed to this node.

A replay window belongs to one key, because a datagram can be replayed only under the key it was made with. When a key
is removed, its windows are removed too, together with anything that a node without the new key did to them under
another node's number. A boot that was received under a newer key makes all earlier boots under older keys stale.

When the table is full, a new peer takes the place of the one that was silent for longest, if that one was silent for
`sender_idle_s` at least. The positions (boot and counter) of removed peers are kept, also through a restart (`export`,
`restore`), so that their old datagrams cannot be replayed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress

import msgspec

from roamcast.net.limits import Limits
from roamcast.net.refusal import NEWCOMERS, SENDER_RATE, STALE, TABLE_FULL, Refused
from roamcast.net.wire.addresses import Address, bucket
from roamcast.net.wire.packet import Header
from roamcast.net.wire.replay import ReplayWindow

Positions = dict[int, tuple[int, int]]
"""How far a sender has got: boot and counter, by key."""


class Peer:
    """A sender that was received."""

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
        self.boot = -1  # of the datagram received last
        self.address = address
        self.heard_us = now_us
        self.frames_rate = bucket(limits.sender_frames_per_s, now_us)
        self.rate = bucket(limits.sender_bytes_per_s, now_us)
        self.signatures = bucket(limits.sender_signatures_per_s, now_us)
        self.accepted = -1  # number of the last frame addressed to this node; a repetition is acknowledged again
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
        self.known: OrderedDict[int, Peer] = OrderedDict()  # the one heard last comes last
        self._removed: OrderedDict[int, Positions] = OrderedDict()  # of removed peers

    def get(self, number: int) -> Peer | None:
        return self.known.get(number)

    def heard_since(self, since_us: int) -> list[int]:
        """The numbers of the peers that were heard at that time or later."""
        return sorted(number for number, peer in self.known.items() if peer.heard_us >= since_us)

    def refuse(self, header: Header) -> str:
        """The reason why a datagram with this header is not new; empty if it may be. It need not be genuine yet."""
        peer = self.known.get(header.sender)
        windows = _windows(self._removed.get(header.sender, {})) if peer is None else peer.windows
        window = windows.get(header.key_id)
        old = "" if window is None else window.check(header.boot, header.counter)
        return old or (STALE if header.boot < self._newer_boot(header.key_id, windows) else "")

    def _newer_boot(self, key: int, windows: dict[int, ReplayWindow]) -> int:
        """The latest boot under a newer key than this one."""
        newer = self._keys[self._keys.index(key) + 1 :] if key in self._keys else []
        return max((windows[key].boot for key in newer if key in windows), default=-1)

    def accept(self, header: Header, address: Address, now_us: int) -> tuple[Peer, int]:
        """The sender of a genuine datagram, and the number of the peer that was removed for it (or -1)."""
        peer = self.known.get(header.sender)
        removed = -1
        if peer is None:
            self._check_room(now_us)
            positions = self._removed.pop(header.sender, {})
            removed = self._make_room()
            peer = Peer(self._limits, _windows(positions), address, now_us)
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
        return peer, removed

    def _full(self) -> bool:
        return len(self.known) >= self._limits.senders

    def _check_room(self, now_us: int) -> None:
        if self._full() and now_us - next(iter(self.known.values())).heard_us < self._idle_us:
            raise Refused(TABLE_FULL)
        if not self._newcomers.take(1.0, now_us):
            raise Refused(NEWCOMERS)

    def _make_room(self) -> int:
        if not self._full():
            return -1
        oldest, peer = self.known.popitem(last=False)
        self._removed[oldest] = _positions(peer.windows)
        if len(self._removed) > self._limits.senders_forgotten:
            self._removed.popitem(last=False)
        return oldest

    def keep(self, keys: Collection[int]) -> None:
        """Use these keys from now on, oldest first. Positions under other keys are not needed any more."""
        self._keys = list(keys)
        for peer in self.known.values():
            peer.windows = {key: window for key, window in peer.windows.items() if key in keys}
        remaining = ((n, {key: at for key, at in old.items() if key in keys}) for n, old in self._removed.items())
        self._removed = OrderedDict((n, positions) for n, positions in remaining if positions)

    # ---- through a restart

    def export(self) -> bytes:
        """The positions of all peers, for `restore` after a restart."""
        exported = [*self._removed.items(), *((n, _positions(peer.windows)) for n, peer in self.known.items())]
        return msgspec.msgpack.encode(exported[-self._limits.senders_forgotten :])

    def restore(self, exported: bytes) -> None:
        """Restore the positions that `export` returned before a restart; anything else is ignored."""
        try:
            positions = msgspec.msgpack.decode(exported, type=list[tuple[int, Positions]])
        except msgspec.DecodeError:
            positions = self._without_keys(exported)
        self._removed.update(positions[-self._limits.senders_forgotten :])

    def _without_keys(self, exported: bytes) -> list[tuple[int, Positions]]:
        """An export of an older version, which did not record keys: the positions count under every key."""
        with suppress(msgspec.DecodeError):
            old = msgspec.msgpack.decode(exported, type=list[tuple[int, int, int]])
            return [(number, dict.fromkeys(self._keys, (boot, top))) for number, boot, top in old]
        return []


def _positions(windows: dict[int, ReplayWindow]) -> Positions:
    return {key: (window.boot, window.top) for key, window in windows.items()}


def _windows(positions: Positions) -> dict[int, ReplayWindow]:
    return {key: ReplayWindow(boot, top) for key, (boot, top) in positions.items()}
