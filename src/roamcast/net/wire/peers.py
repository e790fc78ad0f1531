"""What is remembered about peers: senders whose datagrams came under the group's key.

For each peer there are its history (which datagrams were received already), its rates, its last address and the number
of the last frame that it addressed to this node.

When the table is full, a new peer takes the place of the one that was silent for longest, if that one was silent for
`sender_idle_s` at least. The positions of removed peers are kept, also through a restart (`export`, `restore`), so that
their old datagrams cannot be replayed.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from roamcast.net.limits import Limits
from roamcast.net.refusal import NEWCOMERS, SENDER_RATE, TABLE_FULL, Refused
from roamcast.net.wire.addresses import Address, bucket
from roamcast.net.wire.packet import POSITION, Header
from roamcast.net.wire.replay import History, Positions


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
        "history",
        "positions_rate",
        "rate",
        "signatures",
    )

    def __init__(self, limits: Limits, history: History, address: Address, now_us: int) -> None:
        self.history = history
        self.boot = -1  # of the datagram received last
        self.address = address
        self.heard_us = now_us
        self.frames_rate = bucket(limits.sender_frames_per_s, now_us)
        self.rate = bucket(limits.sender_bytes_per_s, now_us)
        self.signatures = bucket(limits.sender_signatures_per_s, now_us)
        # As many as frames: fewer would let forged positions keep a sender from proving its own.
        self.positions_rate = bucket(limits.sender_frames_per_s, now_us)
        self.accepted = -1  # number of the last frame addressed to this node; a repetition is acknowledged again
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
        self.known: OrderedDict[int, Peer] = OrderedDict()  # the one heard last comes last
        self._removed: OrderedDict[int, Positions] = OrderedDict()  # of removed peers

    def get(self, number: int) -> Peer | None:
        return self.known.get(number)

    def heard_since(self, since_us: int) -> list[int]:
        """The numbers of the peers that were heard at that time or later."""
        return sorted(number for number, peer in self.known.items() if peer.heard_us >= since_us)

    def refuse(self, header: Header, datagram: bytes) -> str:
        """The reason why a datagram with this header is not new; empty if it may be. It need not be genuine yet."""
        peer = self.known.get(header.sender)
        history = History(self._removed.get(header.sender)) if peer is None else peer.history
        if header.kind == POSITION:
            return history.check_position(header.boot, header.counter)
        return history.check(header.boot, header.counter, datagram)

    def admit(self, header: Header, address: Address, now_us: int) -> tuple[Peer, int]:
        """The sender of a genuine datagram, and the number of the peer that was removed for it (or -1)."""
        peer = self.known.get(header.sender)
        removed = -1
        if peer is None:
            self._check_room(now_us)
            positions = self._removed.pop(header.sender, None)
            removed = self._make_room()
            peer = Peer(self._limits, History(positions), address, now_us)
            self.known[header.sender] = peer
        else:
            self.known.move_to_end(header.sender)
        if header.boot != peer.boot:
            peer.boot, peer.accepted = header.boot, -1
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
        self._removed[oldest] = peer.history.positions()
        if len(self._removed) > self._limits.senders_forgotten:
            self._removed.popitem(last=False)
        return oldest

    # ---- through a restart

    def export(self) -> bytes:
        """The positions of all peers, for `restore` after a restart."""
        exported = [*self._removed.items(), *((n, peer.history.positions()) for n, peer in self.known.items())]
        return msgspec.msgpack.encode(exported[-self._limits.senders_forgotten :])

    def restore(self, exported: bytes) -> None:
        """Restore the positions that `export` returned before a restart; anything else is ignored."""
        try:
            positions = msgspec.msgpack.decode(exported, type=list[tuple[int, Positions]])
        except msgspec.DecodeError:  # damaged, or of an earlier version of the wire, whose datagrams are refused anyway
            return
        self._removed.update(positions[-self._limits.senders_forgotten :])
