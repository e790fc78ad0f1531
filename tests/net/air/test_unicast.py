"""UDP to named peers: everybody in the settings is reached, and so is a member that was heard from."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.net.air.medium import Sent
from roamcast.net.air.unicast import HEARD_MAX, PORT, Peers, UnicastMedium, peer_address
from roamcast.net.wire.addresses import Address

PATIENCE_S = 20.0
_ports = itertools.count(20_000 + os.getpid() % 5000 * 2)


class Station:
    """A medium on the loopback interface, and what it heard."""

    def __init__(self, *peers: str) -> None:
        self.port = next(_ports)
        self.medium = UnicastMedium(Peers(peers=peers, port=self.port))
        self.heard: list[tuple[bytes, Address]] = []
        self.members: list[Address] = []
        self.medium.prefer(lambda: self.members)
        self.medium.open(lambda data, address: self.heard.append((data, address)))

    def contents(self) -> list[bytes]:
        return [data for data, _ in self.heard]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def play(scene: Callable[[], Any]) -> None:
    asyncio.run(scene())


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_a_broadcast_reaches_the_named_peers_and_an_answer_comes_back(host: str) -> None:
    async def scene() -> None:
        hubs = [Station(), Station()]
        station = Station(*(f"{host}:{hub.port}" for hub in hubs))
        await until(lambda: len(station.medium._located) == 2)
        assert station.medium.send(b"hello") is Sent.SENT
        for hub in hubs:
            await until(hub.contents)
            assert hub.contents() == [b"hello"]
        assert hubs[0].medium.send(b"answer", hubs[0].heard[0][1]) is Sent.SENT
        await until(station.contents)
        assert station.contents() == [b"answer"]
        assert hubs[1].contents() == [b"hello"], "an answer is for one"
        for one in (*hubs, station):
            one.medium.close()

    play(scene)


def test_one_that_names_nobody_answers_members_and_no_strangers() -> None:
    async def scene() -> None:
        hub = Station()
        member, stranger = (Station(f"127.0.0.1:{hub.port}") for _ in range(2))
        assert hub.medium.send(b"nobody is here") is Sent.SENT
        await until(lambda: member.medium._located and stranger.medium._located)
        for one in (member, stranger):
            assert one.medium.send(b"hello") is Sent.SENT
        await until(lambda: len(hub.heard) == 2)
        hub.members = [("127.0.0.1", member.port)]
        assert hub.medium.send(b"for everybody") is Sent.SENT
        assert hub.medium.send(b"last", ("127.0.0.1", stranger.port)) is Sent.SENT
        await until(lambda: member.contents() and stranger.contents())
        assert (member.contents(), stranger.contents()) == ([b"for everybody"], [b"last"])
        hub.medium._heard[hub.members[0]] -= 1000.0
        assert hub.medium._everybody() == [], "it was not heard from for long"
        for one in (hub, member, stranger):
            one.medium.close()

    play(scene)


def test_strangers_do_not_displace_members() -> None:
    async def scene() -> None:
        hub = Station()
        hub.members = [("127.0.0.1", port) for port in (1, 2)]
        for member in hub.members:
            hub.medium._hear(member)
        for port in range(1000, 1000 + 3 * HEARD_MAX):
            hub.medium._hear(("192.0.2.1", port))
            assert len(hub.medium._heard) <= HEARD_MAX
        assert hub.medium._everybody() == hub.members
        hub.medium.close()

    play(scene)


def test_among_members_alone_the_one_that_was_silent_longest_makes_room() -> None:
    async def scene() -> None:
        hub = Station()
        hub.members = [("192.0.2.1", port) for port in range(1, HEARD_MAX + 2)]
        for member in hub.members:
            hub.medium._hear(member)
        assert hub.medium._everybody() == hub.members[1:]
        hub.medium._hear(("192.0.2.2", 1))
        assert hub.medium._everybody() == hub.members[1:], "a stranger does not"
        hub.medium.close()

    play(scene)


def test_a_peer_that_is_named_and_heard_gets_everything_once() -> None:
    async def scene() -> None:
        one, other = Station(), Station()
        one.medium.close()
        one = Station(f"127.0.0.1:{other.port}")
        await until(lambda: one.medium._located)
        one.members = [("127.0.0.1", other.port)]
        one.medium._hear(one.members[0])
        assert one.medium._everybody() == [("127.0.0.1", other.port)]
        one.medium.close()
        other.medium.close()

    play(scene)


def test_a_name_that_is_unknown_leaves_the_others_reachable() -> None:
    async def scene() -> None:
        hub = Station()
        station = Station("nowhere.invalid", f"127.0.0.1:{hub.port}")
        await until(lambda: station.medium._located)
        assert station.medium.send(b"x") is Sent.SENT
        await until(hub.contents)
        assert station.medium.up()
        hub.medium.close()
        station.medium.close()
        lost = Station("nowhere.invalid")
        assert (lost.medium.send(b"x"), lost.medium.up()) == (Sent.DOWN, False)
        lost.medium.close()
        assert lost.medium.send(b"x") is Sent.DOWN

    play(scene)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("station.example", ("station.example", PORT)),
        ("192.0.2.7:7000", ("192.0.2.7", 7000)),
        ("[fd00::7]", ("fd00::7", PORT)),
        ("[fd00::7]:1", ("fd00::7", 1)),
    ],
)
def test_peers_are_read_as_people_write_them(text: str, address: tuple[str, int]) -> None:
    assert peer_address(text) == address


@pytest.mark.parametrize("text", ["", "fd00::7", "a:b", "a:0", "a:70000", "[x]:1", "a b"])
def test_a_wrong_peer_gets_one_line(text: str) -> None:
    with pytest.raises(InputError, match="peer"):
        UnicastMedium(Peers(peers=(text,)))
