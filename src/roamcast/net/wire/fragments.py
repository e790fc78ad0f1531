"""Frames that are longer than a datagram: split, and put together again within a budget.

The fragments of a frame have consecutive counters, so that counter - part names the frame. Every fragment is
authenticated by itself, so only members of the group can use this table. The harm that one member can do to it is
bounded: each sender may have a few unfinished frames, and all senders together may use a limited number of bytes. When
the bytes are used up, the sender that uses most of them loses its oldest unfinished frame.
"""

from __future__ import annotations

from typing import NamedTuple

from roamcast.net.limits import Limits
from roamcast.net.refusal import FRAGMENT, FRAGMENT_BUDGET, FRAGMENT_TIMEOUT, Refused, Tally
from roamcast.net.wire.packet import FramePart
from roamcast.protocols.kit.wire import MAX_FRAME

COST: int = 200
"""Bytes that are counted for an unfinished frame in addition to its content."""


def split(body: bytes, room: int) -> list[bytes]:
    """Pieces of at most `room` bytes."""
    return [body[at : at + room] for at in range(0, len(body), room)]


class _Key(NamedTuple):
    sender: int
    boot: int
    first: int


class _Partial:
    __slots__ = ("missing", "pieces", "since_us", "size")

    def __init__(self, parts: int, now_us: int) -> None:
        self.pieces: list[bytes | None] = [None] * parts
        self.missing = parts
        self.size = COST + 8 * parts
        self.since_us = now_us


class Reassembly:
    def __init__(self, limits: Limits, tally: Tally) -> None:
        self._limits = limits
        self._tally = tally
        self._partial: dict[_Key, _Partial] = {}  # in order of age
        self._of_sender: dict[int, list[_Key]] = {}  # oldest first
        self._bytes_of: dict[int, int] = {}  # bytes by sender
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._partial)

    def add(self, sender: int, boot: int, counter: int, piece: FramePart, now_us: int) -> bytes | None:
        """The frame, if this was the last missing piece of it."""
        self.expire(now_us)
        if counter < piece.part:
            raise Refused(FRAGMENT)
        key = _Key(sender, boot, counter - piece.part)
        partial = self._partial.get(key)
        if partial is None:
            partial = self._begin(key, piece.parts, now_us)
        elif len(partial.pieces) != piece.parts or partial.pieces[piece.part] is not None:
            raise Refused(FRAGMENT)
        if partial.size - COST - 8 * piece.parts + len(piece.body) > MAX_FRAME:
            self._forget(key)
            raise Refused(FRAGMENT)
        partial.pieces[piece.part] = piece.body
        partial.missing -= 1
        self._weigh(key, partial, len(piece.body))
        if partial.missing == 0:
            self._forget(key)
            return b"".join(p for p in partial.pieces if p is not None)
        self._make_room()
        return None

    def expire(self, now_us: int) -> None:
        """Drop unfinished frames that have waited too long."""
        oldest_us = now_us - int(self._limits.partial_s * 1e6)
        for key, partial in list(self._partial.items()):
            if partial.since_us >= oldest_us:
                break
            self._forget(key)
            self._tally.drop(FRAGMENT_TIMEOUT)

    def forget_sender(self, sender: int) -> None:
        for key in list(self._of_sender.get(sender, ())):
            self._forget(key)

    def _begin(self, key: _Key, parts: int, now_us: int) -> _Partial:
        own = self._of_sender.get(key.sender)
        if own is not None and len(own) >= self._limits.sender_partial_frames:
            self._forget(own[0])
            self._tally.drop(FRAGMENT_BUDGET)
        partial = _Partial(parts, now_us)
        self._partial[key] = partial
        self._of_sender.setdefault(key.sender, []).append(key)
        self._bytes_of[key.sender] = self._bytes_of.get(key.sender, 0) + partial.size
        self.bytes += partial.size
        return partial

    def _weigh(self, key: _Key, partial: _Partial, size: int) -> None:
        partial.size += size
        self._bytes_of[key.sender] += size
        self.bytes += size

    def _make_room(self) -> None:
        while self.bytes > self._limits.partial_bytes:
            heaviest = max(self._bytes_of, key=self._bytes_of.__getitem__)
            self._forget(self._of_sender[heaviest][0])
            self._tally.drop(FRAGMENT_BUDGET)

    def _forget(self, key: _Key) -> None:
        partial = self._partial.pop(key)
        self.bytes -= partial.size
        own = self._of_sender[key.sender]
        own.remove(key)
        if own:
            self._bytes_of[key.sender] -= partial.size
        else:
            del self._of_sender[key.sender], self._bytes_of[key.sender]
