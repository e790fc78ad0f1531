"""Whether an interface can send now: it is switched on, and it has a carrier.

The questions go through a socket of the medium, because that knows in which network namespace it was opened.
"""

from __future__ import annotations

import array
import contextlib
import socket
import struct
import sys
from typing import Final

_SIOCGIFCONF: Final = 0x8912
_SIOCGIFFLAGS: Final = 0x8913
_NAME: Final = 16
_REQUEST: Final = struct.Struct(f"{_NAME}sH22x")
_LIST: Final = struct.Struct("iP")
_MOST: Final = 64
_UP: Final = 0x1
_LOOPBACK: Final = 0x8
_RUNNING: Final = 0x40
_MULTICAST: Final = 0x1000


def up(sock: socket.socket, interface: str) -> bool:
    """Whether this interface can send; without a name, whether any can. Systems other than Linux do not say."""
    if sys.platform != "linux":
        return True
    if interface:
        return _runs(_flags(sock, interface))
    if sock.family != socket.AF_INET:
        return True
    flags = [_flags(sock, name) for name in _names(sock)]
    return any(_runs(each) and (not each & _LOOPBACK or each & _MULTICAST) for each in flags)


def _runs(flags: int) -> bool:
    return flags & (_UP | _RUNNING) == _UP | _RUNNING


def _flags(sock: socket.socket, interface: str) -> int:
    """0 if there is no such interface."""
    import fcntl

    with contextlib.suppress(OSError):
        _, flags = _REQUEST.unpack(fcntl.ioctl(sock, _SIOCGIFFLAGS, _REQUEST.pack(interface.encode(), 0)))
        return int(flags)
    return 0


def _names(sock: socket.socket) -> list[str]:
    """The interfaces with an address of IPv4."""
    import fcntl

    entries = array.array("B", bytes(_MOST * _REQUEST.size))
    address, size = entries.buffer_info()
    used, _ = _LIST.unpack(fcntl.ioctl(sock, _SIOCGIFCONF, _LIST.pack(size, address)))
    names = (entries[at : at + _NAME].tobytes() for at in range(0, used, _REQUEST.size))
    return [name.partition(b"\0")[0].decode() for name in names]
