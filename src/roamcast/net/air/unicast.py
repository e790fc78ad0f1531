"""UDP to named peers, for nodes that no broadcast reaches: behind a router, in another building, over a tunnel.

What is for every node in range goes to each peer in the settings, and to each node that was heard from lately and
proved to be a member of the group. So it is enough if one of two nodes names the other: a node with a fixed address
names nobody, and the others name it. One socket, bound to `port`, sends and receives over IPv4 and IPv6.

Names are looked up when the medium opens, when the network changes, and every `LOOK_UP_S` seconds.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

import msgspec

from roamcast.errors import InputError, error_text
from roamcast.net.air.medium import MediumSettings, Sent
from roamcast.net.air.udp import UDP_MAX, IpMedium, log
from roamcast.net.wire.addresses import Address

PORT: Final = 7668
LOOK_UP_S: Final = 60.0
HEARD_S: Final = 120.0
"""How long after its last datagram a node that is not in the settings still gets what is for everybody."""
HEARD_MAX: Final = 256
_MAPPED: Final = "::ffff:"
"""An IPv4 address on a socket of IPv6 begins like this."""


class Peers(MediumSettings, frozen=True):
    """The nodes to send to, and the own port."""

    peers: tuple[str, ...] = ()  # "station.example", "192.0.2.7:7668", "[fd00::7]:7668"
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = PORT
    interface: str = ""  # its name; empty: any
    mtu: Annotated[int, msgspec.Meta(ge=256, le=65535)] = 1280  # of the packets, IP header included; IPv6 carries 1280
    receive_buffer: Annotated[int, msgspec.Meta(ge=4096)] = 1 << 22


def peer_address(text: str) -> tuple[str, int]:
    """Host and port of a peer as people write it."""
    address = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::(\d+))?|([^:\[\]\s]+)(?::(\d+))?", text)
    port = int(address[2] or address[4] or PORT) if address else 0
    if address is None or not 1 <= port <= 65535:
        raise InputError(f"peer {text!r}: must be HOST, HOST:PORT or [IPv6]:PORT")
    return address[1] or address[3], port


class UnicastMedium(IpMedium):
    settings_class: ClassVar[type[MediumSettings]] = Peers
    header_bytes = 48

    def __init__(self, peers: Peers) -> None:
        super().__init__(peers, peers.interface, peers.receive_buffer)
        self.peers = peers
        self._wanted = [peer_address(text) for text in peers.peers]
        self.datagram_max = min(peers.mtu - self.header_bytes, UDP_MAX)
        self._family = socket.AF_INET6
        self._located: dict[tuple[str, int], Address] = {}  # peers that were looked up
        self._heard: OrderedDict[Address, float] = OrderedDict()  # when something came from there; it may be forged
        self._reached = True  # by the last datagram for everybody
        self._looking: asyncio.Task[None] | None = None

    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        def heard(datagram: bytes, address: Address) -> None:
            plain = _plain(address)
            self._hear(plain)
            receive(datagram, plain)

        super().open(heard)
        if self._wanted:
            self._looking = asyncio.create_task(self._look_up_always())

    def close(self) -> None:
        super().close()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def up(self) -> bool:
        return super().up() and self._reached

    def place(self) -> str:
        return f"port {self.peers.port}, peers {', '.join(self.peers.peers) or 'that name this node'}"

    # ---- sending

    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        if self._own is None:
            return Sent.DOWN
        if to is not None:
            return self._send(datagram, to)
        results = {self._send(datagram, address) for address in self._everybody()}
        self._reached = not self._wanted or bool(results - {Sent.DOWN})
        for result in (Sent.SENT, Sent.FULL, Sent.TOO_LARGE, Sent.DOWN):
            if result in results:
                return result
        return Sent.DOWN if self._wanted else Sent.SENT

    def _send(self, datagram: bytes, to: Address) -> Sent:
        assert self._own is not None
        try:
            self._own.sendto(datagram, _on_socket(to, self._family))
        except OSError as error:
            return self._failed(error)
        return Sent.SENT

    def _everybody(self) -> list[Address]:
        """The peers of the settings, and others that were heard and are known to be members."""
        assert self._loop is not None
        since = self._loop.time() - HEARD_S
        members = [address for address in self._known() if self._heard.get(address, since) > since]
        return list(dict.fromkeys([*self._located.values(), *members]))

    def _hear(self, address: Address) -> None:
        assert self._loop is not None
        self._heard[address] = self._loop.time()
        self._heard.move_to_end(address)
        if len(self._heard) > HEARD_MAX:
            self._make_room(address)

    def _make_room(self, newest: Address) -> None:
        """Strangers go first, whatever their number: one host has many ports, and can forge many addresses."""
        members = set(self._known())
        for stranger in [other for other in self._heard if other not in members and other != newest]:
            del self._heard[stranger]
        if len(self._heard) > HEARD_MAX:
            self._heard.popitem(last=newest not in members)

    # ---- sockets

    def _missing(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return f"port {self.peers.port} is used by another program"
        return f"no network on {self.peers.interface or 'any interface'}: {error_text(error)}"

    def _open_sockets(self) -> None:
        try:
            own = self._socket(socket.AF_INET6)
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            self._family = socket.AF_INET6
        except OSError:  # a system without IPv6
            self._close_sockets()
            own = self._socket(socket.AF_INET)
            self._family = socket.AF_INET
        if self.peers.interface:
            socket.if_nametoindex(self.peers.interface)
            if hasattr(socket, "SO_BINDTODEVICE"):
                own.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self.peers.interface.encode())
        own.bind(("", self.peers.port))
        self._listen(own)

    def _joined_again(self) -> bool:
        """The socket stays: it belongs to no interface, unless one is named, and then to that one alone."""
        self._reached = True
        if self._wanted and self._loop is not None:
            self._loop.create_task(self._look_up())
        try:
            return not self.peers.interface or bool(socket.if_nametoindex(self.peers.interface))
        except OSError:
            return False

    def _failed(self, error: OSError) -> Sent:
        """One peer that cannot be reached is no reason to open the socket again."""
        if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPERM, errno.ECONNREFUSED):
            return Sent.DOWN
        return super()._failed(error)

    # ---- names

    async def _look_up_always(self) -> None:
        while True:
            await self._look_up()
            await asyncio.sleep(LOOK_UP_S if len(self._located) == len(set(self._wanted)) else LOOK_UP_S / 10)

    async def _look_up(self) -> None:
        for host, port in self._wanted:
            try:
                answers: list[Any] = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
            except OSError as error:
                log.info("peer %s: %s", host, error_text(error))
                continue
            self._located[host, port] = _plain(answers[0][4])


def _plain(address: Address) -> Address:
    """(host, port), of IPv4 as IPv4 writes it; an address of one link keeps its scope."""
    if str(address[0]).startswith(_MAPPED):
        return (address[0].removeprefix(_MAPPED), address[1])
    return tuple(address) if len(address) > 3 and address[3] else tuple(address[:2])


def _on_socket(address: Address, family: int) -> Address:
    """The same address as the socket takes it."""
    if family == socket.AF_INET6 and ":" not in address[0]:
        return (_MAPPED + address[0], address[1])
    return address
