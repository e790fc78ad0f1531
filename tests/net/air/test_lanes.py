"""Several media: broadcasts leave on all of them, and a neighbour is reached where it was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from roamcast.log import schema
from roamcast.net.air.lanes import LATELY_US, Places
from roamcast.net.air.medium import Medium, MediumSettings, Sent
from roamcast.net.durable import MemoryValues
from roamcast.net.host.runner import Runner
from roamcast.net.limits import Limits
from roamcast.net.trust.membership import Membership
from roamcast.net.wire.addresses import Address
from roamcast.protocols.kit.interface import Params
from tests.conformance.driver import Ping, Probe
from tests.conformance.real import RING
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop

POSITION_BYTES = 132


class Room(Medium):
    """All media in one room hear each other at once. `heard` is what each was sent, and to whom."""

    def __init__(self, room: list[Room], datagram_max: int = 1000, **settings: Any) -> None:
        super().__init__(MediumSettings(**settings))
        self.datagram_max, self.header_bytes = datagram_max, 10
        self.room, self.deaf, self.sent = room, False, list[tuple[int, Address | None]]()
        room.append(self)

    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        self.receive = receive

    def close(self) -> None:
        self.deaf = True

    def up(self) -> bool:
        return not self.deaf

    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        if self.deaf:
            return Sent.DOWN
        self.sent.append((len(datagram), to))
        me = (self.room.index(self),)
        for i, other in enumerate(self.room):
            if other is not self and not other.deaf and to in (None, (i,)):
                asyncio.get_running_loop().call_soon(other.receive, datagram, me)
        return Sent.SENT


class Net:
    """Node 0 has both media, node 1 both, node 2 the fast one, node 3 the slow one."""

    def __init__(self, **limits: Any) -> None:
        self.loop = WarpLoop()
        self.sink = MemorySink()
        fast, slow = list[Room](), list[Room]()
        both = [{"fast": Room(fast), "slow": Room(slow, 140, bps=1000.0, share=1.0)} for _ in range(2)]
        self.media: list[dict[str, Room]] = [*both, {"fast": Room(fast)}, {"slow": Room(slow, 140, bps=1000.0)}]
        self.loop.run_until_complete(self.start(Limits(**limits)))

    async def start(self, limits: Limits) -> None:
        self.runners = [
            Runner(Probe, Params(), Membership.secure(MemoryValues(), RING), media, limits=limits, sink=self.sink)
            for media in self.media
        ]
        for runner in self.runners:
            runner.start()

    def number(self, i: int) -> int:
        return self.runners[i].id

    def run(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def do(self, i: int, deed: Callable[[Any], None], seconds: float = 60.0) -> None:
        async def go() -> None:
            deed(self.runners[i].host)

        self.loop.run_until_complete(go())
        self.run(seconds)

    def heard(self, i: int) -> list[tuple[int, int]]:
        probe = self.runners[i].protocol
        assert isinstance(probe, Probe)
        return probe.numbers()

    def undelivered(self, i: int) -> list[int]:
        probe = self.runners[i].protocol
        assert isinstance(probe, Probe)
        return [call.arguments[0].number for call in probe.calls("undelivered")]


def frames(medium: Room) -> list[tuple[int, Address | None]]:
    """What was sent, without the node's positions."""
    return [(size, to) for size, to in medium.sent if size != POSITION_BYTES]


@pytest.fixture
def net() -> Iterator[Net]:
    made = Net()
    yield made
    for runner in made.runners:
        runner.stop()
    made.loop.close()


def test_a_broadcast_leaves_on_every_medium_and_comes_once(net: Net) -> None:
    zero = net.number(0)
    net.do(0, lambda host: host.broadcast(Ping(1)))
    assert [net.heard(i) for i in (1, 2, 3)] == [[(1, zero)]] * 3
    assert net.runners[1].tally.copies == 1
    sent = [row for row in net.sink.rows if row[2] == schema.SEND]
    assert len(sent) == 2, "two transmissions"
    assert len({row[4] for row in sent}) == 2, "with a serial each"
    assert max(row[7] for row in sent) > 1000 * min(row[7] for row in sent) / 2, "airtime by each medium's own rate"


def test_a_position_is_sent_on_every_medium(net: Net) -> None:
    net.do(0, lambda host: host.broadcast(Ping(1)))
    assert [net.runners[i].tally.positions_in > 0 for i in (2, 3)] == [True, True]


def test_a_frame_is_split_for_the_medium_that_needs_it(net: Net) -> None:
    net.do(0, lambda host: host.broadcast(Ping(1, 0, bytes(500))))
    assert [net.heard(i) for i in (2, 3)] == [[(1, net.number(0))]] * 2
    assert len(frames(net.media[0]["fast"])) == 1
    assert len(frames(net.media[0]["slow"])) > 5
    assert all(size <= 140 for size, _ in frames(net.media[0]["slow"]))


def test_a_slow_medium_does_not_slow_down_a_fast_one(net: Net) -> None:
    net.do(0, lambda host: [host.broadcast(Ping(n, 0, bytes(60))) for n in range(20)], seconds=0.5)
    assert [n for n, _ in net.heard(2)] == list(range(20))
    assert len(net.heard(3)) < 3
    assert len(net.runners[0].outbox) == 0, "the fast one has room, so publishers go on"
    assert net.runners[0].status().media[1].queue > 10
    net.run(60.0)
    assert [n for n, _ in net.heard(3)] == list(range(20))


def test_what_a_slow_medium_has_no_room_for_is_counted_there() -> None:
    net = Net(queue=5)
    net.do(0, lambda host: [host.broadcast(Ping(n, 0, bytes(60))) for n in range(20)])
    fast, slow = net.runners[0].status().media
    assert (fast.queue_full, slow.queue_full > 10) == (0, True)
    assert net.runners[0].tally.dropped["queue full"] == slow.queue_full
    assert len(net.heard(2)) == 20
    for runner in net.runners:
        runner.stop()
    net.loop.close()


def test_a_neighbour_is_reached_where_it_was_heard_and_the_first_medium_is_preferred(net: Net) -> None:
    for i in (1, 2, 3):
        net.do(i, lambda host: host.broadcast(Ping(0)))
    before = {name: len(frames(medium)) for name, medium in net.media[0].items()}
    for i in (1, 2, 3):
        net.do(0, lambda host, i=i: host.send(net.number(i), Ping(i)))  # type: ignore[misc]
    assert [net.heard(i)[-1] for i in (1, 2, 3)] == [(i, net.number(0)) for i in (1, 2, 3)]
    new = {name: frames(medium)[before[name] :] for name, medium in net.media[0].items()}
    assert [to for _, to in new["fast"]] == [(1,), (2,)]
    assert [to for _, to in new["slow"]] == [(2,)]
    assert {peer.node: peer.medium for peer in net.runners[0].status().neighbours} == {
        net.number(1): "fast",
        net.number(2): "fast",
        net.number(3): "slow",
    }


def test_a_neighbour_that_left_one_medium_is_reached_on_another(net: Net) -> None:
    net.do(1, lambda host: host.broadcast(Ping(0)))
    net.media[1]["fast"].deaf = True
    net.do(0, lambda host: host.send(net.number(1), Ping(7)))
    assert net.heard(1) == [(7, net.number(0))]
    assert net.undelivered(0) == []
    net.media[1]["slow"].deaf = True
    net.do(0, lambda host: host.send(net.number(1), Ping(8)))
    assert net.undelivered(0) == [8]


def test_a_neighbour_that_is_heard_and_hears_nothing_is_tried_once_on_every_medium(net: Net) -> None:
    for medium in net.media[1].values():
        medium.receive = lambda *_: None
    net.do(1, lambda host: host.broadcast(Ping(0)))
    net.do(0, lambda host: host.send(net.number(1), Ping(8)), seconds=0.0)
    for _ in range(120):
        net.do(1, lambda host: host.broadcast(Ping(0)), seconds=0.5)
    assert net.undelivered(0) == [8]
    attempts = net.runners[0].limits.attempts
    assert [len(frames(medium)) for medium in net.media[0].values()] == [attempts, attempts]
    assert net.runners[0].tally.dropped["no ack"] == 2


def test_one_that_was_never_heard_is_looked_for_everywhere(net: Net) -> None:
    net.do(0, lambda host: host.send(net.number(3), Ping(5)))
    assert net.heard(3) == [(5, net.number(0))]
    net.do(0, lambda host: host.send(12345, Ping(6)))
    assert net.undelivered(0) == [6]


def test_different_frames_for_one_neighbour_have_different_numbers_on_all_media(net: Net) -> None:
    """A number that came before would be taken for a repetition."""
    net.do(1, lambda host: host.broadcast(Ping(0)))
    net.do(0, lambda host: host.send(net.number(1), Ping(1)))
    net.media[1]["fast"].deaf = True
    net.do(0, lambda host: host.send(net.number(1), Ping(2)))
    assert [n for n, _ in net.heard(1)] == [1, 2]


def test_status_shows_each_medium(net: Net) -> None:
    net.do(0, lambda host: host.broadcast(Ping(1)))
    net.media[0]["slow"].deaf = True
    fast, slow = net.runners[0].status().media
    assert (fast.name, fast.up, slow.name, slow.up) == ("fast", True, "slow", False)
    sent = [len(medium.sent) for medium in net.media[0].values()]
    assert [fast.datagrams_out, slow.datagrams_out, slow.airtime_s > 100 * fast.airtime_s] == [*sent, True]
    assert net.runners[1].status().media[1].bytes_in == slow.bytes_out
    assert net.runners[0].status().network, "one is enough"


def test_a_place_counts_while_it_is_about_as_recent_as_the_others() -> None:
    places = Places(2)
    assert places.of(7) is None
    places.heard(7, 1, ("b",), 0)
    places.heard(7, 0, ("a",), 10)
    assert places.of(7) == (0, ("a",))
    places.heard(7, 1, ("b",), 10 + LATELY_US)
    assert places.of(7) == (0, ("a",))
    places.heard(7, 1, ("c",), 11 + LATELY_US)
    assert places.of(7) == (1, ("c",))
    places.heard(7, 0, ("a",), 12 + LATELY_US)
    assert places.of(7, frozenset({0})) == (1, ("c",))
    assert places.of(7, frozenset({0, 1})) is None
    places.heard(8, 0, ("d",), 0)
    places.heard(9, 0, ("e",), 0)
    assert places.of(7) is None, "there is room for two"
