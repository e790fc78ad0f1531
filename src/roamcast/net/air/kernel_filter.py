"""The kernel filter: which datagrams the kernel keeps when more arrive than a node can read.

Without it, the system drops all datagrams that arrive while its buffer is full, also those of neighbours. So a filter
in the kernel (classic BPF, Linux only) decides before the buffer:

    datagrams that do not begin with our magic byte    are dropped
    datagrams from known addresses                     are kept
    all other datagrams                                are kept at random, so that about `STRANGERS_PER_S` are read

The filter is attached when a buffer fills up and detached when nothing was dropped for a while. A node that keeps up
has no filter, and reads and counts everything itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
from array import array
from collections.abc import Callable
from typing import Final

from roamcast.net.wire.addresses import Address
from roamcast.net.wire.packet import MAGIC

STRANGERS_PER_S: Final = 2000.0
FULL: Final = 0.25
"""The share of a buffer that is filled when the filter is attached."""
LOOK_S: Final = 0.02
"""How often to check the buffer while there is more than can be read at once."""
CHANGE_S: Final = 0.1
"""How often to change an attached filter."""
CALM_S: Final = 1.0
"""How long nothing must be dropped before the filter is detached."""
LEAST_SHARE: Final = 1 / 4096
KNOWN_MAX: Final = 256
"""The kernel takes programs of up to 4096 instructions; an IPv6 address needs 11."""

_SO_ATTACH_FILTER: Final = 26
_SO_DETACH_FILTER: Final = 27
_SO_MEMINFO: Final = 55
_USED, _ROOM, _DROPS = 0, 1, 8  # positions in the result of SO_MEMINFO
_INSTRUCTION: Final = struct.Struct("=HBBI")
_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x28, 0x30, 0x15, 0x35, 0x06
_IP: Final = 0xFFF00000  # offsets above this one are into the IP header
_RANDOM: Final = 0xFFFFF000 + 56
_PAYLOAD: Final = 8  # the filter of a UDP socket sees the UDP header first
_ALL: Final = 0xFFFFFFFF


def program(known: list[Address], share: float) -> bytes:
    """Datagrams with our magic byte pass if they come from `known` addresses; of the others, this share passes."""
    code = [(_LOAD_BYTE, 0, 0, _PAYLOAD), (_IF_EQUAL, 1, 0, MAGIC), (_RETURN, 0, 0, 0)]
    for host, port, *_ in known[:KNOWN_MAX]:
        family, offset = (socket.AF_INET6, _IP + 8) if ":" in host else (socket.AF_INET, _IP + 12)
        packed = socket.inet_pton(family, host.partition("%")[0])
        words = struct.unpack(f"!{len(packed) // 4}I", packed)
        checks = [(_LOAD_WORD, offset + 4 * i, word) for i, word in enumerate(words)] + [(_LOAD_HALF, 0, port)]
        for left, (load, at, value) in zip(range(len(checks), 0, -1), checks, strict=True):
            code += [(load, 0, 0, at), (_IF_EQUAL, 0, 2 * left - 1, value)]  # otherwise, jump to the next address
        code.append((_RETURN, 0, 0, _ALL))
    code += [(_LOAD_WORD, 0, 0, _RANDOM), (_IF_AT_LEAST, 0, 1, min(_ALL, int(share * 2**32)))]
    code += [(_RETURN, 0, 0, 0), (_RETURN, 0, 0, _ALL)]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in code)


def attach(sock: socket.socket, code: bytes) -> None:
    buffer = array("B", code)
    length = len(code) // _INSTRUCTION.size
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", length, buffer.buffer_info()[0]))


def detach(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # there was no filter
        sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)


def memory(sock: socket.socket) -> tuple[float, int]:
    """The filled share of the socket's buffer, and how many datagrams for it the system dropped."""
    if sys.platform != "linux":
        return 0.0, 0
    try:
        fields = struct.unpack("=9I", sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36))
    except (OSError, struct.error):
        return 0.0, 0
    return fields[_USED] / fields[_ROOM], fields[_DROPS]


class KernelFilter:
    """In front of some sockets; `known` gives the known addresses."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sockets: list[socket.socket], known: Callable[[], list[Address]]
    ) -> None:
        self._loop = loop
        self._sockets = sockets
        self._known = known
        self._looked = loop.time()
        self._dropped = self._dropped_then = self.dropped()
        self._timer: asyncio.TimerHandle | None = None
        self.read = 0  # datagrams read since the last check; the reader counts them
        self.share = 1.0  # the share of datagrams from other addresses that pass

    def dropped(self) -> int:
        return sum(memory(sock)[1] for sock in self._sockets)

    def behind(self) -> None:
        """The reader has left datagrams unread for now."""
        if self._loop.time() - self._looked >= (LOOK_S if self._timer is None else CHANGE_S):
            self._look()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now, dropped = self._loop.time(), self.dropped()
        passed_s, lost = max(now - self._looked, LOOK_S), dropped - self._dropped
        self._looked, self._dropped = now, dropped
        if lost or max(memory(sock)[0] for sock in self._sockets) > FULL:
            first = (
                self._timer is None
            )  # until now all datagrams were read or dropped; from now on only those that were read are counted
            per_s = max(self.read + (lost if first else 0), 1) / passed_s
            self.share = min(1.0, max(LEAST_SHARE, self.share * min(2.0, STRANGERS_PER_S / per_s)))
            code = program(self._known(), self.share)
            with contextlib.suppress(OSError):  # where that is not permitted, there is no filter
                for sock in self._sockets:
                    attach(sock, code)
            if first:
                self._wait()
        self.read = 0

    def _wait(self) -> None:
        self._dropped_then = self._dropped
        self._timer = self._loop.call_later(CALM_S, self._calm)

    def _calm(self) -> None:
        """Detach the filter if the flood is over."""
        before = self._dropped_then
        self._look()
        if self._dropped != before:
            self._wait()
            return
        self._timer = None
        self.share = 1.0
        for sock in self._sockets:
            detach(sock)
