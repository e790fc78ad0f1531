"""A protocol over real sockets: what the conformance suite does not test."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from roamcast.errors import InputError, NodeClosed, StoreError
from roamcast.net.air.udp import UdpMedium
from roamcast.net.durable import MemoryValues
from roamcast.net.host.boot_record import KEEP_S
from roamcast.net.host.runner import Runner
from roamcast.net.host.senses import Senses
from roamcast.net.limits import Limits
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.protocols import registry
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import BROADCAST, Params
from roamcast.protocols.kit.parameters import build
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import topic
from tests.conformance.driver import WHY, Ping, Probe
from tests.conformance.real import RING, Walled, network
from tests.net.conftest import broadcast_all
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop


def test_the_application_gets_an_event_and_can_answer_at_once(real: Any) -> None:
    gossip = registry.get("gossip")
    driver = real(
        protocol=gossip, params=gossip.params_class(), subscriptions=[(1, topic("ask")), (0, topic("answer"))]
    )
    got: list[tuple[Event, Event]] = []

    def take(event: Event, sealed: Event) -> None:
        got.append((event, sealed))
        if event.topic == "ask":
            driver.runners[1].publish(driver.runners[1].publisher.prepare("answer", {"to": event.id}))

    for runner in driver.runners:
        runner.deliveries.on_deliver = take
    id = driver.publish_event(0, "ask", {"n": 5}, payload=b"text", validity_us=9_000_000)
    driver.run(2.0)
    (question, sealed), (answer, _) = got
    assert (question.id, question.attrs, question.payload, question.validity_us) == (
        id,
        {"n": 5},
        b"text",
        9_000_000,
    )
    assert len(sealed.payload) == len(b"text") + SEAL_BYTES
    assert answer.attrs == {"to": id}
    assert answer.publisher == 1


@pytest.mark.parametrize("again", [False, True])
def test_own_events_that_a_neighbour_sends_back_cost_no_verification(real: Any, again: bool) -> None:
    gossip = registry.get("gossip")
    limits = Limits(sender_signatures_per_s=1e-6)
    driver = real(protocol=gossip, params=build(gossip, {"p": 1.0}), limits=limits)
    publisher, neighbour = driver.runners
    for _ in range(5):
        event = publisher.publisher.prepare("news")
        (publisher.publish_again if again else publisher.publish)(event)
        neighbour.outbox.add(EventFrame(event, 0, 0), BROADCAST)
    driver.run(1.0)
    assert publisher.tally.frames_in >= 5
    assert "signature rate" not in publisher.tally.drops()


def test_publishing_inside_a_handler_waits_until_it_is_over(real: Any) -> None:
    driver = real()
    order: list[str] = []

    def first(probe: Probe, _: Event) -> None:
        driver.runners[0].publish(driver.runners[0].publisher.prepare("deed", {"deed": 1}))
        order.append("end of the first")

    driver.deeds += [first, lambda *_: order.append("second")]
    driver.probe(0).deeds = driver.deeds
    driver.publish(0, 0)
    driver.run(0.1)
    assert order == ["end of the first", "second"]


@pytest.mark.parametrize(
    "content",
    [
        {"attrs": {"a": None}},
        {"attrs": {"a": [1]}},
        {"attrs": {1: 2}},
        {"attrs": {str(n): n for n in range(65)}},
        {"attrs": {"a": 1 << 70}},
        {"attrs": {"a": float("nan")}},
        {"attrs": {"a": float("-inf")}},
        {"topic": 5},
        {"topic": "\ud800"},
        {"payload": "text"},
        {"validity_us": -1},
        {"scope": 2},
        {"payload": bytes(70_000)},
    ],
    ids=lambda c: str(c)[:40],
)
def test_an_event_that_is_not_allowed_gets_one_line_and_uses_no_number(real: Any, content: dict[str, Any]) -> None:
    driver = real([0.0])
    with pytest.raises(InputError, match="cannot publish") as error:
        driver.runners[0].publisher.prepare(**content)
    assert "\n" not in str(error.value)
    assert driver.runners[0].publisher.prepare("x").id == 1


def test_an_event_of_the_largest_size_arrives_in_fragments(real: Any) -> None:
    gossip = registry.get("gossip")
    driver = real(protocol=gossip, params=build(gossip, {"p": 1.0}), subscriptions=[(1, topic("big"))])
    got: list[bytes] = []
    driver.runners[1].deliveries.on_deliver = lambda event, _: got.append(event.payload)
    driver.publish_event(0, "big", payload=bytes(range(250)) * 240)
    driver.run(5.0)
    assert got == [bytes(range(250)) * 240]
    assert driver.runners[0].tally.datagrams_out > 40


def test_an_application_that_fails_does_not_stop_the_node(real: Any, caplog: pytest.LogCaptureFixture) -> None:
    driver = real()
    driver.runners[1].deliveries.on_deliver = lambda *_: 1 / 0
    driver.do(1, lambda probe, event: probe.host.deliver(event))
    driver.do(0, lambda probe, _: probe.host.broadcast(Ping(7)))
    assert driver.probe(1).numbers() == [(7, 0)]
    assert driver.runners[1].tally.drops() == {"application full": 1}


def test_an_application_may_stop_the_node_when_an_event_arrives(real: Any) -> None:
    driver = real()
    driver.probe(1).react["frame"] = lambda *_: driver.runners[1].stop()
    driver.do(0, broadcast_all(range(3)))
    assert driver.probe(1).numbers() == [(0, 0)]
    with pytest.raises(NodeClosed, match="not running"):
        driver.publish_event(1, "x")


def test_subscriptions_can_be_added_and_removed_at_any_time(real: Any) -> None:
    driver = real()
    number = driver.runners[0].subscribe(topic("news"))
    driver.runners[0].unsubscribe(number)
    driver.runners[0].subscribe(topic("sport"))
    calls = [(call.what, call.arguments[0]) for call in driver.probe(0).inputs[1:]]
    assert calls == [("subscribe", 1), ("unsubscribe", 1), ("subscribe", 2)]
    driver.crash(0)
    driver.recover(0, keep_tables=False)
    assert [call.arguments for call in driver.probe(0).calls("subscribe")] == [(2, topic("sport"))]


def test_errors_of_a_protocol_are_counted_and_reported_and_the_node_goes_on(
    real: Any, caplog: pytest.LogCaptureFixture
) -> None:
    driver = real()
    driver.runners[1].handlers.on_error = None

    def fail(probe: Probe, *_: Any) -> None:
        probe.inside = False
        raise ZeroDivisionError

    driver.probe(1).react["frame"] = fail
    for n in range(3):
        driver.do(0, lambda probe, _, n=n: probe.host.broadcast(Ping(n)))
    assert len(driver.probe(1).numbers()) == 3
    assert driver.runners[1].tally.drops() == {"protocol error": 3}
    assert len([r for r in caplog.records if "the protocol failed" in r.message]) == 1


def test_speed_battery_signals_and_motion_come_from_the_application() -> None:
    class Instruments(Senses):
        def speed(self) -> float:
            return 3.5

        def battery(self) -> float:
            return 0.25

        def signal(self) -> float:
            return -70.0

    class Mobile(Probe):
        wants_motion = True

    async def go() -> None:
        for kind, expected in ((Mobile, [True, False]), (Probe, [])):
            runner = Runner(kind, Params(), Membership.insecure(1), UdpMedium(network()), senses=Instruments())
            runner.start()
            runner.motion(True)
            runner.motion(False)
            assert (runner.host.speed(), runner.host.battery(), runner.host.signal()) == (3.5, 0.25, -70.0)
            assert isinstance(runner.protocol, Probe)
            assert [t.arguments[0] for t in runner.protocol.calls("motion")] == expected
            runner.stop()

    asyncio.run(go())


def test_a_node_at_rest_sleeps(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = real([0.0, 0.3, 0.6])
    rounds: list[int] = []
    once = driver.loop._run_once

    def counted() -> None:
        rounds.append(1)
        once()

    monkeypatch.setattr(driver.loop, "_run_once", counted)
    driver.run(10_000.0)
    assert len(rounds) < 3 * 10_000 / 300 * 2 + 20, "each node only writes its boot record every five minutes"


def test_memory_for_muted_ids_is_bounded_and_keeps_the_ids_heard_last(real: Any) -> None:
    driver = real([0.0], limits=Limits(muted=10))
    runner = driver.runners[0]
    for id in range(1, 30):
        runner.host.mute(id)
    assert len(runner.muted) == 10
    assert 29 in runner.muted


def test_status_is_plain_and_complete(real: Any) -> None:
    def noted(probe: Probe, _: Event) -> None:
        probe.host.broadcast(Ping(1))
        probe.host.note(WHY)

    driver = real()
    driver.do(0, noted)
    driver.runners[1].subscribe(topic("news"))
    status = msgspec.to_builtins(driver.runners[1].status(), str_keys=True)
    assert status["node"] == 1
    assert [n["node"] for n in status["neighbours"]] == [0]
    assert status["neighbours"][0]["frames"] == 1
    assert status["subscriptions"] == {"1": str(topic("news"))}
    assert (status["secure"], status["network"], status["dropped"]) == (True, True, {})
    assert driver.runners[0].status().decisions == {"forward: probe": 1}


def runner_of(durable: MemoryValues, loop: WarpLoop, meeting: Any, sink: MemorySink) -> Runner:
    async def make() -> Runner:
        medium = Walled(meeting, loop, lambda _: True)
        runner = Runner(Probe, Params(), Membership.secure(durable, RING), medium, sink=sink)
        runner.start()
        return runner

    return loop.run_until_complete(make())


def test_a_disk_that_fails_for_a_while_prevents_neither_running_nor_stopping(caplog: pytest.LogCaptureFixture) -> None:
    loop, meeting, sink, durable = WarpLoop(), network(), MemorySink(), Fragile()
    runner = runner_of(durable, loop, meeting, sink)
    durable.broken = True
    loop.run_until_complete(asyncio.sleep(KEEP_S + 1))
    assert "alive" not in durable.values
    durable.broken = False
    loop.run_until_complete(asyncio.sleep(KEEP_S))
    assert "alive" in durable.values
    durable.broken = True
    runner.stop()
    assert [record.message for record in caplog.records if record.name == "roamcast.net"] == ["disk full"] * 2
    loop.close()


class Fragile(MemoryValues):
    broken = False

    def store(self, name: str, value: bytes) -> None:
        if self.broken:
            raise StoreError("disk full")
        super().store(name, value)


def test_a_restarted_node_is_heard_and_uses_no_number_twice() -> None:
    loop, meeting, sink = WarpLoop(), network(), MemorySink()
    durable, heard, ids = MemoryValues(), 0, list[int]()
    listener = runner_of(MemoryValues(), loop, meeting, sink)
    for boot in range(4):
        runner = runner_of(durable, loop, meeting, sink)
        for n in range(3):
            runner.host.broadcast(Ping(10 * boot + n))
            ids.append(runner.publisher.prepare("x").id)
        loop.run_until_complete(asyncio.sleep(1.0))
        if boot % 2:
            runner.stop()
        else:
            runner.lanes[0].medium.close()  # it is killed, without an orderly stop
    assert isinstance(listener.protocol, Probe)
    heard = len(listener.protocol.numbers())
    assert heard == 12
    assert listener.tally.drops() == {}
    assert len(set(ids)) == 12
    listener.stop()
    loop.close()


def test_recorded_datagrams_cannot_be_replayed_to_a_restarted_node() -> None:
    loop, meeting, sink = WarpLoop(), network(), MemorySink()
    recorded: list[bytes] = []
    durable = MemoryValues()
    speaker = runner_of(MemoryValues(), loop, meeting, sink)
    spy = Walled(meeting, loop, lambda _: True)

    async def record() -> None:
        spy.open(lambda data, _: recorded.append(data))

    loop.run_until_complete(record())
    first = runner_of(durable, loop, meeting, sink)
    for n in range(5):
        speaker.host.broadcast(Ping(n))
    loop.run_until_complete(asyncio.sleep(1.0))
    first.stop()
    speaker.stop()
    second = runner_of(durable, loop, meeting, sink)
    assert speaker.tally.positions_out == 3
    assert len(recorded) == 5 + 3
    for data in recorded[:]:
        spy.send(data)
    loop.run_until_complete(asyncio.sleep(1.0))
    assert isinstance(second.protocol, Probe)
    assert second.protocol.numbers() == []
    assert second.tally.drops() == {"stale": 8}
    second.stop()
    spy.close()
    loop.close()


def test_no_frame_is_lost_while_keys_are_rotated(real: Any) -> None:
    driver = real([0.0, 0.3, 0.6])
    steps = [RING.with_next()]
    steps += [steps[0].promoted()]
    steps += [steps[1].retired()]
    number = 0
    for ring in steps:
        for runner in driver.runners:
            runner.use(ring)
            number += 1
            driver.do(number % 3, lambda probe, _, n=number: probe.host.broadcast(Ping(n)))
    for i, probe in enumerate(driver.probes()):
        assert [n for n, _ in probe.numbers()] == [n for n in range(1, 10) if n % 3 != i]
    assert all(runner.tally.drops() == {} for runner in driver.runners)
    with pytest.raises(InputError, match="another group"):
        driver.runners[0].use(type(RING).new())


def test_insecure_mode_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def go(member: Membership) -> None:
        runner = Runner(Probe, Params(), member, UdpMedium(network()))
        runner.start()
        runner.stop()

    with caplog.at_level(logging.WARNING):
        asyncio.run(go(Membership.secure(MemoryValues(), RING)))
        assert caplog.records == []
        asyncio.run(go(Membership.insecure(3)))
    assert [r.message for r in caplog.records] == [
        "INSECURE: node 3 neither encrypts nor authenticates nor signs anything"
    ]


@pytest.mark.parametrize("bytes_max, warns", [(131, True), (132, False)])
def test_a_medium_without_room_for_positions_is_warned_of_and_gets_none(
    bytes_max: int, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> int:
        medium = UdpMedium(network())
        medium.datagram_max = bytes_max
        runner = Runner(Probe, Params(), Membership.secure(MemoryValues(), RING), medium)
        runner.start()
        runner.host.broadcast(Ping(1))
        runner.stop()
        return runner.tally.positions_out

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(go()) == (0 if warns else 1)
    assert ["no room for signed positions" in record.message for record in caplog.records] == [True] * warns
