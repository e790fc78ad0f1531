"""The kernel filter drops datagrams only for a node that cannot keep up."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from roamcast.net.air.kernel_filter import CALM_S, CHANGE_S, KNOWN_MAX, KernelFilter, attach, detach, memory, program
from roamcast.net.air.udp import AT_ONCE, UdpMedium
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.packet import MAGIC
from tests.conformance.real import network
from tests.support.warp import WarpLoop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the filter is Linux's")

OURS = bytes([MAGIC]) + b"something"
GARBAGE = bytes([MAGIC ^ 1]) + b"something"
MANY = 2000


@pytest.fixture(params=["127.0.0.1", "::1"])
def sockets(request: pytest.FixtureRequest) -> Iterator[list[socket.socket]]:
    """A socket that receives, and three that send to it."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    made = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(4)]
    for sock in made:
        try:
            sock.bind((request.param, 0))
        except OSError as error:
            pytest.skip(f"{request.param}: {error}")
    for sock in made[1:]:
        sock.connect(made[0].getsockname())
    made[0].setblocking(False)
    yield made
    for sock in made:
        sock.close()


def heard(hearer: socket.socket) -> list[int]:
    """The ports from which datagrams came."""
    senders = []
    while True:
        try:
            senders.append(hearer.recvfrom(100)[1][1])
        except BlockingIOError:
            return senders


def ports(sockets: list[socket.socket]) -> list[int]:
    return [sock.getsockname()[1] for sock in sockets]


def test_only_known_addresses_pass(sockets: list[socket.socket]) -> None:
    hearer, one, other, stranger = sockets
    others: list[Address] = [("192.0.2.1", 7), ("2001:db8::1", 7), ("fe80::1%lo", 7, 0, 1)]
    attach(hearer, program([*others, other.getsockname(), *others, one.getsockname()], 0.0))
    for speaker in (one, stranger, other, stranger, one):
        speaker.send(OURS)
    assert heard(hearer) == ports([one, other, one])
    assert memory(hearer)[1] == 2
    one.send(GARBAGE)
    one.send(b"")
    assert heard(hearer) == []
    detach(hearer)
    detach(hearer)
    stranger.send(GARBAGE)
    assert heard(hearer) == ports([stranger])


def test_addresses_differ_by_port_and_host(sockets: list[socket.socket]) -> None:
    hearer, one, *_ = sockets
    host, port = one.getsockname()[:2]
    there = "::2" if ":" in host else "127.0.0.2"
    for wrong in [[(host, port ^ 1)], [(there, port)], [(there, port)] * 3, [(there, port), (host, port ^ 1)] * 2]:
        attach(hearer, program(wrong, 0.0))
        one.send(OURS)
        assert heard(hearer) == []


def test_a_share_of_other_addresses_passes(sockets: list[socket.socket]) -> None:
    hearer, stranger, *_ = sockets

    def passing(share: float) -> int:
        attach(hearer, program([], share))
        count = 0
        for _ in range(MANY):
            stranger.send(OURS)
            count += len(heard(hearer))
        return count

    assert passing(1.0) == MANY
    assert passing(0.0) == 0
    assert abs(passing(0.25) - MANY / 4) < 5 * (MANY * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_the_kernel_takes_the_longest_program(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        attach(sock, program([(host, port) for port in range(2 * KNOWN_MAX)], 0.5))


def test_a_system_without_these_socket_options_does_no_harm() -> None:
    class Poor(socket.socket):
        def getsockopt(self, *_: object) -> Any:
            raise OSError(errno.ENOPROTOOPT, "Protocol not available")

        def setsockopt(self, *_: object) -> None:
            raise PermissionError

    loop = WarpLoop()
    with Poor(socket.AF_INET, socket.SOCK_DGRAM) as poor:
        filter = KernelFilter(loop, [poor], list)
        assert filter.dropped() == 0
        filter._dropped = -1  # as if the system had reported drops
        loop.clock += 1.0
        filter.behind()
        filter.close()
    loop.close()


def test_a_flooded_node_still_hears_its_neighbours_and_one_without_a_flood_hears_all() -> None:
    loop = WarpLoop()
    medium = UdpMedium(msgspec.structs.replace(network(), receive_buffer=200_000))
    came: list[int] = []
    neighbour, stranger = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for sock in (neighbour, stranger):
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        sock.connect((medium.network.group, medium.network.port))
    medium.prefer(lambda: [neighbour.getsockname()])

    async def flooded() -> list[int]:
        """How many datagrams of each sender the node reads afterwards."""
        came.clear()
        for n in range(20 * AT_ONCE):
            stranger.send(OURS)
            if n % AT_ONCE == AT_ONCE - 1:
                neighbour.send(OURS)
        await asyncio.sleep(CHANGE_S)
        return [came.count(sock.getsockname()[1]) for sock in (neighbour, stranger)]

    async def go() -> None:
        medium.open(lambda _, address: came.append(address[1]))
        await asyncio.sleep(CHANGE_S)
        assert (await flooded())[0] < 20  # the buffer was full: this is what the filter is for
        assert medium.unread() > 0
        for _ in range(3):
            from_neighbour, from_stranger = await flooded()
            assert from_neighbour == 20
            assert from_stranger < 10 * AT_ONCE
        assert medium.unread() > 3 * 10 * AT_ONCE
        stranger.send(GARBAGE)
        await asyncio.sleep(0.1)
        before = medium.unread()
        await asyncio.sleep(3 * CALM_S)
        came.clear()
        stranger.send(GARBAGE)
        await asyncio.sleep(0.1)
        assert came == ports([stranger])
        assert medium.unread() == before
        medium.close()
        assert medium.unread() == before

    loop.run_until_complete(go())
    loop.close()
    neighbour.close()
    stranger.close()
