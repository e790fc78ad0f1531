"""UDP: broadcast, or IPv4 or IPv6 multicast, on one interface; and what all media over UDP have in common.

There are two sockets. One is bound to the group's port, which all nodes of a machine share, and receives datagrams to
the group. The other has a port of its own. The node sends everything from it, so that receivers know where to answer,
and datagrams for this node alone arrive there.

Interfaces come and go. The kernel reports changes (netlink), and a failed send shows them, too. Then the node joins the
group again, and if that does not help, opens the sockets again: after one second at first, later after up to thirty.
While there is no network, `send` returns `Sent.DOWN`, and nothing else happens.

When more datagrams arrive than can be read, known addresses are preferred (kernel_filter.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import socket
import struct
import sys
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from roamcast.errors import InputError, error_text
from roamcast.net.air import link
from roamcast.net.air.kernel_filter import KernelFilter
from roamcast.net.air.medium import Medium, MediumSettings, Network, Sent
from roamcast.net.wire.addresses import Address

log: Final = logging.getLogger("roamcast.net")

UDP_MAX: Final = 65_507
AT_ONCE: Final = 64
"""How many datagrams are read before timers get their turn."""
LINK_LOCAL: Final = 2
"""IPv6 groups with a scope up to this one exist separately on each interface."""
REOPEN_S: Final = 1.0
REOPEN_MAX_S: Final = 30.0
SETTLE_S: Final = 0.2
"""How long to wait after a change of an interface: there is rarely only one."""
UNWATCHED_S: Final = 30.0
"""How often the group is joined again where the kernel does not report changes."""

_FULL: Final = (errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS, errno.ENOMEM)
_SO_RCVBUFFORCE: Final = 33
_IP_MULTICAST_ALL: Final = 49
_IPV6_MULTICAST_ALL: Final = 29
_NETLINK_GROUPS: Final = 0x1 | 0x10 | 0x40 | 0x100 | 0x400  # links; IPv4 addresses, routes; IPv6 addresses, routes


class IpMedium(Medium):
    """Sockets that are opened again whenever the network changes. A subclass knows which."""

    def __init__(self, settings: MediumSettings, interface: str, receive_buffer: int) -> None:
        super().__init__(settings)
        self._interface = interface
        self._receive_buffer = receive_buffer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receive: Callable[[bytes, Address], None] | None = None
        self._sockets: list[socket.socket] = []
        self._own: socket.socket | None = None  # everything is sent from this one
        self._changes: socket.socket | None = None
        self._next_check: asyncio.TimerHandle | None = None
        self._pause_s = REOPEN_S
        self._buffer = bytearray(UDP_MAX + 1)
        self._view = memoryview(self._buffer)
        self._warned = False  # whether it was logged that there is no network
        self._known: Callable[[], list[Address]] = list
        self._filter: KernelFilter | None = None
        self._unread = 0  # unread datagrams of closed sockets

    @abstractmethod
    def _open_sockets(self) -> None:
        """Open the sockets and give them to `_listen`. OSError: there is no network."""

    @abstractmethod
    def _joined_again(self) -> bool:
        """Whether the sockets can stay after a change of the network."""

    @abstractmethod
    def _missing(self, error: OSError) -> str:
        """Why there is no network, for people."""

    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._watch()
        self._try_open()

    def close(self) -> None:
        self._close_sockets()
        if self._changes is not None and self._loop is not None:
            self._loop.remove_reader(self._changes)
            self._changes.close()
            self._changes = None
        if self._next_check is not None:
            self._next_check.cancel()
            self._next_check = None
        self._loop = None

    def up(self) -> bool:
        """Open sockets are not enough: they stay open while a cable is out or a radio has no carrier."""
        return self._own is not None and link.up(self._own, self._interface)

    def address(self) -> Address:
        """The address that this node sends from; its host part stands for all interfaces."""
        return () if self._own is None else tuple(self._own.getsockname())

    def prefer(self, known: Callable[[], list[Address]]) -> None:
        self._known = known

    def unread(self) -> int:
        return self._unread + (0 if self._filter is None else self._filter.dropped())

    # ---- sending

    def _failed(self, error: OSError) -> Sent:
        if error.errno in _FULL:
            return Sent.FULL
        if error.errno == errno.EMSGSIZE:
            return Sent.TOO_LARGE
        log.debug("sending failed: %s", error)
        self._check_after(self._pause_s)
        return Sent.DOWN

    # ---- receiving

    def _read(self, sock: socket.socket) -> None:
        kernel_filter = self._filter
        assert self._receive is not None
        assert kernel_filter is not None
        for _ in range(AT_ONCE):
            try:
                size, address = sock.recvfrom_into(self._buffer)
            except BlockingIOError:
                return
            except OSError as error:  # an ICMP answer to an earlier datagram, or the interface went down
                log.debug("receiving failed: %s", error)
                self._check_after(self._pause_s)
                return
            kernel_filter.read += 1
            self._receive(bytes(self._view[:size]), address)
            if sock.fileno() < 0:  # the receiver closed the medium
                return
        kernel_filter.behind()

    # ---- sockets

    def _try_open(self) -> None:
        self._close_sockets()
        try:
            self._open_sockets()
        except OSError as error:
            self._close_sockets()
            log.log(logging.DEBUG if self._warned else logging.WARNING, "%s; waiting", self._missing(error))
            self._warned = True
            self._check_after(self._pause_s)
            return
        self._pause_s = REOPEN_S
        if self._warned:
            self._warned = False
            log.warning("the network is available now")

    def _socket(self, family: int) -> socket.socket:
        """A new socket; it is closed with the others."""
        sock = socket.socket(family, socket.SOCK_DGRAM)
        self._sockets.append(sock)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        if sys.platform == "linux":
            with contextlib.suppress(PermissionError):  # above the system's limit, if this process is allowed to
                sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, self._receive_buffer)
        return sock

    def _listen(self, own: socket.socket) -> None:
        """Read all sockets from now on; everything is sent from this one."""
        assert self._loop is not None
        self._own = own
        self._filter = KernelFilter(self._loop, self._sockets, lambda: self._known())
        for sock in self._sockets:
            self._loop.add_reader(sock, self._read, sock)

    def _close_sockets(self) -> None:
        if self._filter is not None:
            self._unread += self._filter.dropped()
            self._filter.close()
            self._filter = None
        for sock in self._sockets:
            if self._loop is not None:
                self._loop.remove_reader(sock)
            sock.close()
        self._sockets, self._own = [], None

    # ---- interfaces come and go

    def _watch(self) -> None:
        assert self._loop is not None
        if not hasattr(socket, "AF_NETLINK"):
            self._check_after(UNWATCHED_S)
            return
        try:
            self._changes = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            self._changes.bind((0, _NETLINK_GROUPS))
        except OSError as error:
            log.info("cannot watch the interfaces: %s", error)
            return
        self._changes.setblocking(False)
        self._loop.add_reader(self._changes, self._read_changes)

    def _read_changes(self) -> None:
        assert self._changes is not None
        with contextlib.suppress(OSError):  # an overflow of this socket is a change as well
            while self._changes.recv(65_536):
                pass
        self._check_after(SETTLE_S)

    def _check_after(self, after_s: float) -> None:
        """Check the sockets after a while, or earlier if that is planned already."""
        if self._loop is None:
            return
        due = self._loop.time() + after_s
        if self._next_check is not None:
            if self._next_check.when() <= due:
                return
            self._next_check.cancel()
        self._next_check = self._loop.call_at(due, self._check)

    def _check(self) -> None:
        self._next_check = None
        if not hasattr(socket, "AF_NETLINK"):
            self._check_after(UNWATCHED_S)
        if self._own is None or not self._joined_again():
            self._pause_s = min(2 * self._pause_s, REOPEN_MAX_S)
            self._try_open()


class UdpMedium(IpMedium):
    settings_class: ClassVar[type[MediumSettings]] = Network

    def __init__(self, network: Network) -> None:
        super().__init__(network, network.interface, network.receive_buffer)
        self.network = network
        try:
            self._group = ipaddress.ip_address(network.group)
        except ValueError:
            raise InputError(f"group {network.group!r}: must be a multicast or broadcast address") from None
        if self._group.version == 6 and not self._group.is_multicast:
            raise InputError(f"group {network.group!r}: IPv6 has no broadcast; must be a multicast address")
        if self._group.version == 6 and self._group.packed[1] & 15 <= LINK_LOCAL and not network.interface:
            raise InputError(f"group {network.group!r}: exists on every link; choose one with --interface NAME")
        self.header_bytes = 28 if self._group.version == 4 else 48
        self.datagram_max = min(network.mtu - self.header_bytes, UDP_MAX)
        self._family = socket.AF_INET if self._group.version == 4 else socket.AF_INET6
        self._common: socket.socket | None = None
        self._index = 0

    def place(self) -> str:
        on = f" on {self.network.interface}" if self.network.interface else ""
        return f"{self.network.group} port {self.network.port}{on}"

    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        if self._own is None:
            return Sent.DOWN
        try:
            self._own.sendto(datagram, self._everybody() if to is None else to)
        except OSError as error:
            return self._failed(error)
        return Sent.SENT

    def _everybody(self) -> Address:
        if self._family == socket.AF_INET:
            return (self.network.group, self.network.port)
        return (self.network.group, self.network.port, 0, self._index)

    def _missing(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return f"port {self.network.port} is used by another program that does not share it"
        why = error_text(error)
        if error.errno == errno.ENETUNREACH and self._family == socket.AF_INET6:
            why = "no route for IPv6 multicast (loopback never has one; nodes on one machine meet by IPv4)"
        return f"no network on {self.network.interface or 'any interface'}: {why}"

    def _open_sockets(self) -> None:
        self._index = socket.if_nametoindex(self.network.interface) if self.network.interface else 0
        self._common, own = self._group_socket(), self._group_socket()
        self._common.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "darwin":
            self._common.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if self._group.is_multicast:
            bind_to = self.network.group if sys.platform != "win32" else ""
            self._common.bind((bind_to, self.network.port, 0, self._index)[: 2 if self._group.version == 4 else 4])
            self._join(self._common)
        else:
            self._common.bind(("", self.network.port))
        own.bind(("", 0))
        self._aim(own)
        if self._family == socket.AF_INET6:
            self._find_route()
        self._listen(own)

    def _find_route(self) -> None:
        """Raise OSError if there is no route. Connecting a socket, without sending, shows it."""
        with socket.socket(self._family, socket.SOCK_DGRAM) as asking:
            self._aim(asking)
            asking.connect(self._everybody())

    def _join(self, sock: socket.socket) -> None:
        if self._family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, self._mreqn())
            if sys.platform == "linux":  # receive on this interface only, not on each one where this machine has joined
                sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        else:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, self._mreq6())
            if sys.platform == "linux":
                with contextlib.suppress(OSError):  # the same for IPv6, since Linux 4.20
                    sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_MULTICAST_ALL, 0)

    def _leave(self, sock: socket.socket) -> None:
        if self._family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_DROP_MEMBERSHIP, self._mreqn())
        else:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_LEAVE_GROUP, self._mreq6())

    def _mreqn(self) -> bytes:
        return struct.pack("=4s4si", self._group.packed, bytes(4), self._index)

    def _mreq6(self) -> bytes:
        return self._group.packed + struct.pack("@I", self._index)

    def _aim(self, sock: socket.socket) -> None:
        """Send to the group on the configured interface, with one hop at most, and to this machine as well."""
        if not self._group.is_multicast:
            return
        if self._family == socket.AF_INET:
            if self._index:
                interface = struct.pack("=4s4si", bytes(4), bytes(4), self._index)
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        else:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, self._index)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1)

    def _joined_again(self) -> bool:
        """Whether the sockets can stay: the interface is the same one, and the group can be joined on it."""
        assert self._common is not None
        try:
            if self.network.interface and socket.if_nametoindex(self.network.interface) != self._index:
                return False
            if self._group.is_multicast:
                with contextlib.suppress(OSError):
                    self._leave(self._common)
                self._join(self._common)
        except OSError:
            return False
        return True

    def _group_socket(self) -> socket.socket:
        sock = self._socket(self._family)
        if self._family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if not self._group.is_multicast:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            if self.network.interface and hasattr(socket, "SO_BINDTODEVICE"):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self.network.interface.encode())
        return sock
