"""When datagrams come faster than a node reads them, the system drops whatever finds its buffer full: a flood's and
neighbours' alike. So the choice is made before the buffer, by a filter in the kernel (classic BPF, Linux only):

    what does not begin as our datagrams do         goes
    what comes from an address in good standing     stays
    of everything else                              a share stays, such that about `STRANGERS_PER_S` are read

The filter is put there when a buffer is filling up, and taken away when nothing was dropped for a while: a node that
keeps up has none, and reads and counts everything itself.
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

from roamcast.net.packet import MAGIC
from roamcast.net.peers import Address

STRANGERS_PER_S: Final = 2000.0
FULL: Final = 0.25
"""The filling of a buffer at which it is time."""
LOOK_S: Final = 0.02
"""How often to look at that while there is more than can be read at once …"""
CHANGE_S: Final = 0.1
"""… and how often to change a filter that is there."""
CALM_S: Final = 1.0
LEAST_SHARE: Final = 1 / 4096
FAVOURED_MAX: Final = 256
"""The kernel takes programs of 4096 instructions; an address of IPv6 has 11."""

_SO_ATTACH_FILTER: Final = 26
_SO_DETACH_FILTER: Final = 27
_SO_MEMINFO: Final = 55
_USED, _ROOM, _DROPS = 0, 1, 8  # positions in what SO_MEMINFO tells
_INSTRUCTION: Final = struct.Struct("=HBBI")
_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x28, 0x30, 0x15, 0x35, 0x06
_IP: Final = 0xFFF00000  # offsets above this one are into the IP header
_RANDOM: Final = 0xFFFFF000 + 56
_PAYLOAD: Final = 8  # the filter of a UDP socket sees the UDP header first
_ALL: Final = 0xFFFFFFFF


def program(favoured: list[Address], share: float) -> bytes:
    """Datagrams from `favoured` pass, and this share of others, if they begin as ours do."""
    said = [(_LOAD_BYTE, 0, 0, _PAYLOAD), (_IF_EQUAL, 1, 0, MAGIC), (_RETURN, 0, 0, 0)]
    for host, port, *_ in favoured[:FAVOURED_MAX]:
        family, offset = (socket.AF_INET6, _IP + 8) if ":" in host else (socket.AF_INET, _IP + 12)
        packed = socket.inet_pton(family, host.partition("%")[0])
        words = struct.unpack(f"!{len(packed) // 4}I", packed)
        checks = [(_LOAD_WORD, offset + 4 * i, word) for i, word in enumerate(words)] + [(_LOAD_HALF, 0, port)]
        for left, (load, at, value) in zip(range(len(checks), 0, -1), checks, strict=True):
            said += [(load, 0, 0, at), (_IF_EQUAL, 0, 2 * left - 1, value)]  # else on to the next address
        said.append((_RETURN, 0, 0, _ALL))
    said += [(_LOAD_WORD, 0, 0, _RANDOM), (_IF_AT_LEAST, 0, 1, min(_ALL, int(share * 2**32)))]
    said += [(_RETURN, 0, 0, 0), (_RETURN, 0, 0, _ALL)]
    return b"".join(_INSTRUCTION.pack(*one) for one in said)


def attach(sock: socket.socket, code: bytes) -> None:
    held = array("B", code)
    length = len(code) // _INSTRUCTION.size
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", length, held.buffer_info()[0]))


def detach(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # there was none
        sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)


def memory(sock: socket.socket) -> tuple[float, int]:
    """How full its buffer is, and how many datagrams for it the system dropped, as far as the system tells."""
    if sys.platform != "linux":
        return 0.0, 0
    try:
        told = struct.unpack("=9I", sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36))
    except (OSError, struct.error):
        return 0.0, 0
    return told[_USED] / told[_ROOM], told[_DROPS]


class Sieve:
    """In front of some sockets. `favoured` names the addresses in good standing."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sockets: list[socket.socket], favoured: Callable[[], list[Address]]
    ) -> None:
        self._loop = loop
        self._sockets = sockets
        self._favoured = favoured
        self._looked = loop.time()
        self._dropped = self._dropped_then = self.dropped()
        self._timer: asyncio.TimerHandle | None = None
        self.read = 0  # datagrams since somebody looked; counted by whoever reads them
        self.share = 1.0  # of strangers' datagrams that pass

    def dropped(self) -> int:
        return sum(memory(sock)[1] for sock in self._sockets)

    def behind(self) -> None:
        """There is more to be read."""
        if self._loop.time() - self._looked >= (LOOK_S if self._timer is None else CHANGE_S):
            self._look()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now, dropped = self._loop.time(), self.dropped()
        passed_s, missed = max(now - self._looked, LOOK_S), dropped - self._dropped
        self._looked, self._dropped = now, dropped
        if missed or max(memory(sock)[0] for sock in self._sockets) > FULL:
            first = self._timer is None  # all that came was either read or missed; later we know what was read
            per_s = max(self.read + (missed if first else 0), 1) / passed_s
            self.share = min(1.0, max(LEAST_SHARE, self.share * min(2.0, STRANGERS_PER_S / per_s)))
            code = program(self._favoured(), self.share)
            with contextlib.suppress(OSError):  # where that is not permitted, a flood is what it was
                for sock in self._sockets:
                    attach(sock, code)
            if first:
                self._wait()
        self.read = 0

    def _wait(self) -> None:
        self._dropped_then = self._dropped
        self._timer = self._loop.call_later(CALM_S, self._calm)

    def _calm(self) -> None:
        """Is it over?"""
        before = self._dropped_then
        self._look()
        if self._dropped != before:
            self._wait()
            return
        self._timer = None
        self.share = 1.0
        for sock in self._sockets:
            detach(sock)
