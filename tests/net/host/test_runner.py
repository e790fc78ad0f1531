"""A node over real sockets: what the conformance suite does not ask for."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from roamcast.errors import InputError, StoreError
from roamcast.log import schema
from roamcast.log.writer import MemorySink
from roamcast.net.air.medium import Sent
from roamcast.net.air.udp import UdpMedium
from roamcast.net.durable import MemoryValues
from roamcast.net.host.boot_record import KEEP_S
from roamcast.net.host.runner import Runner
from roamcast.net.host.senses import Senses
from roamcast.net.limits import Limits
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.protocols import registry
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.interface import Frame, Host, Params
from roamcast.protocols.kit.parameters import build
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from tests.conformance.driver import WHY, Deed, Parcel, Ping, Probe
from tests.conformance.real import RING, Real, Walled, network
from tests.net.conftest import rows_of
from tests.net.members import member, publication
from tests.support.warp import WarpLoop

S = 1_000_000


def say_all(numbers: Iterable[int], content: bytes = b"") -> Deed:
    def deed(probe: Probe, _: Event) -> None:
        for number in numbers:
            probe.host.broadcast(Ping(number, 0, content))

    return deed


# ------------------------------------------------------------------------------------------------------- applications


def test_the_application_gets_what_was_published_and_can_answer_at_once(real: Any) -> None:
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
    asked = driver.say(0, "ask", {"n": 5}, payload=b"text", validity_us=9_000_000)
    driver.run(2.0)
    (question, sealed), (answer, _) = got
    assert (question.id, question.attrs, question.payload, question.validity_us) == (
        asked,
        {"n": 5},
        b"text",
        9_000_000,
    )
    assert len(sealed.payload) == len(b"text") + SEAL_BYTES
    assert answer.attrs == {"to": asked}
    assert answer.publisher == 1


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
def test_what_cannot_be_published_is_said_in_one_line_and_costs_no_number(real: Any, content: dict[str, Any]) -> None:
    driver = real([0.0])
    with pytest.raises(InputError, match="cannot publish") as error:
        driver.runners[0].publisher.prepare(**content)
    assert "\n" not in str(error.value)
    assert driver.runners[0].publisher.prepare("x").id == 1


def test_an_event_as_large_as_can_be_arrives_in_fragments(real: Any) -> None:
    gossip = registry.get("gossip")
    driver = real(protocol=gossip, params=build(gossip, {"p": 1.0}), subscriptions=[(1, topic("big"))])
    got: list[bytes] = []
    driver.runners[1].deliveries.on_deliver = lambda event, _: got.append(event.payload)
    driver.say(0, "big", payload=bytes(range(250)) * 240)
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


def test_an_application_may_stop_the_node_when_something_arrives(real: Any) -> None:
    driver = real()
    driver.probe(1).react["frame"] = lambda *_: driver.runners[1].stop()
    driver.do(0, say_all(range(3)))
    assert driver.probe(1).numbers() == [(0, 0)]
    with pytest.raises(InputError, match="not running"):
        driver.say(1, "x")


def test_subscriptions_can_be_made_and_taken_back_at_any_time(real: Any) -> None:
    driver = real()
    number = driver.runners[0].subscribe(topic("news"))
    driver.runners[0].unsubscribe(number)
    driver.runners[0].subscribe(topic("sport"))
    told = [(told.what, told.arguments[0]) for told in driver.probe(0).inputs[1:]]
    assert told == [("subscribe", 1), ("unsubscribe", 1), ("subscribe", 2)]
    driver.crash(0)
    driver.recover(0, keep_tables=False)
    assert [told.arguments for told in driver.probe(0).told("subscribe")] == [(2, topic("sport"))]


def test_a_protocol_that_fails_is_counted_and_told_and_the_node_goes_on(
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


def test_senses_and_motion_come_from_who_has_instruments() -> None:
    class Instruments(Senses):
        def speed(self) -> float:
            return 3.5

        def battery(self) -> float:
            return 0.25

    class Mobile(Probe):
        wants_motion = True

    async def go() -> None:
        for kind, told in ((Mobile, [True, False]), (Probe, [])):
            runner = Runner(kind, Params(), Membership.insecure(1), UdpMedium(network()), senses=Instruments())
            runner.start()
            runner.motion(True)
            runner.motion(False)
            assert (runner.host.speed(), runner.host.battery()) == (3.5, 0.25)
            assert isinstance(runner.protocol, Probe)
            assert [t.arguments[0] for t in runner.protocol.told("motion")] == told
            runner.stop()

    asyncio.run(go())


# ------------------------------------------------------------------------------------------------------- own frames


def test_own_transmissions_keep_to_their_share_of_airtime(real: Any) -> None:
    """1000 bytes and some are 8.8 ms at 1 Mbit/s; a tenth of the time gives eleven a second."""
    driver = real(limits=Limits(airtime_share=0.1, airtime_burst_s=0.05, queue=500))
    driver.begin(0, say_all(range(200), bytes(1000)))
    driver.run(10.0)
    sent = rows_of(driver, schema.SEND)
    assert sum(row[7] for row in sent) <= 0.1 * 10.0e6 + 0.05e6 + sent[0][7]
    assert len(sent) > 100, "and use it"
    assert [number for number, _ in driver.probe(1).numbers()] == list(range(len(sent))), "in order"


def test_answers_do_not_use_up_the_airtime_of_own_frames(real: Any) -> None:
    """A neighbour asks for ten times more acknowledgements than this node has airtime for."""
    slow = Limits(airtime_share=0.05, airtime_burst_s=0.05, sender_frames_per_s=1e6, queue=10_000)
    driver = real(limits=slow)
    driver.do(0, lambda probe, _: probe.host.broadcast(Ping(0)))
    driver.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    asker, address = driver.runners[1].codec, driver.media[0].port()
    driver.begin(0, say_all(range(1, 31)))
    for n in range(1000):
        (ask,) = asker.outgoing(asker.encode(Ping(n)), 0, n)[1]
        driver.media[1].send(ask, ("127.0.0.1", address))
        driver.run(0.001)
    own = [number for number, sender in driver.probe(1).numbers() if sender == 0]
    assert own == list(range(31))
    assert driver.runners[0].tally.acks_out * 70 * 8 <= 0.5 * (0.05 * 2.1e6 + 0.05e6)
    assert driver.runners[0].tally.dropped["ack airtime"] > 500


def test_a_full_queue_loses_the_newest_and_says_so(real: Any) -> None:
    driver = real(limits=Limits(airtime_share=0.01, airtime_burst_s=0.001, queue=5))
    driver.do(0, say_all(range(20)))
    assert driver.runners[0].tally.drops() == {"queue full": 14}
    assert {row[8] for row in rows_of(driver, schema.LOSE)} == {"queue"}
    driver.run(5.0)
    assert [number for number, _ in driver.probe(1).numbers()] == [0, 1, 2, 3, 4, 5]


class Choked(Walled):
    """Every so often the system has no room, or the network is gone, or never takes what is large."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.says: list[Sent] = []
        self.tried = 0

    def send(self, datagram: bytes, to: Any = None) -> Sent:
        self.tried += 1
        if self.says:
            said = self.says.pop(0)
            if said is not Sent.SENT:
                return said
        return super().send(datagram, to)


@pytest.fixture
def choked(monkeypatch: pytest.MonkeyPatch, real: Any) -> Real:
    monkeypatch.setattr("tests.conformance.real.Walled", Choked)
    driver = real()
    assert isinstance(driver, Real)
    return driver


def says(driver: Real, *said: Sent) -> Choked:
    medium = driver.media[0]
    assert isinstance(medium, Choked)
    medium.says = list(said)
    return medium


def test_a_full_buffer_delays_and_loses_nothing(choked: Real) -> None:
    full, sent = Sent.FULL, Sent.SENT
    medium = says(choked, full, full, sent, full, sent, sent, full, full, full, full, full, full, full, full)
    choked.begin(0, say_all(range(4), bytes(2000)))
    choked.run(5.0)
    assert [number for number, _ in choked.probe(1).numbers()] == [0, 1, 2, 3]
    assert choked.runners[0].tally.drops() == {}
    assert medium.tried == 8 + 11


def test_a_buffer_that_stays_full_is_not_asked_all_the_time(choked: Real) -> None:
    medium = says(choked, *[Sent.FULL] * 10_000)
    choked.begin(0, lambda probe, _: probe.host.broadcast(Ping(1)))
    choked.run(60.0)
    assert 590 < medium.tried < 620


def test_without_a_network_broadcasts_are_lost_and_neighbours_are_tried_again(choked: Real) -> None:
    choked.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    says(choked, Sent.DOWN, Sent.DOWN, Sent.DOWN)

    def deed(probe: Probe, _: Event) -> None:
        probe.host.broadcast(Ping(1))
        probe.host.send(1, Ping(2))
        probe.host.broadcast(Ping(3))

    choked.do(0, deed)
    assert [number for number, _ in choked.probe(1).numbers()] == [2, 3]
    assert choked.runners[0].tally.drops() == {"no network": 3}


def test_a_frame_that_the_network_will_not_take_is_given_up_at_once(choked: Real) -> None:
    says(choked, Sent.TOO_LARGE, Sent.TOO_LARGE)

    def deed(probe: Probe, _: Event) -> None:
        probe.host.broadcast(Ping(1))
        probe.host.send(1, Ping(2))
        probe.host.broadcast(Ping(3))

    choked.do(0, deed)
    assert [number for number, _ in choked.probe(1).numbers()] == [3]
    assert [told.arguments[0].number for told in choked.probe(0).told("undelivered")] == [2]
    assert choked.runners[0].tally.drops() == {"too large": 2}


def test_a_neighbour_whose_address_changed_is_found_again(real: Any) -> None:
    driver = real()
    driver.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    before = driver.media[1].port()
    driver.crash(1)
    driver.recover(1, keep_tables=True)
    assert driver.media[1].port() != before
    driver.do(0, lambda probe, _: probe.host.send(1, Ping(5)))
    driver.run(2.0)
    assert driver.probe(1).numbers() == [(5, 0)]
    assert driver.probe(0).told("undelivered") == []
    assert driver.runners[0].tally.retries > 0


def test_a_neighbour_is_asked_alone_where_its_address_is_known(real: Any) -> None:
    driver = real([0.0, 0.3, 0.6])
    driver.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    before = driver.runners[2].tally.datagrams_in
    driver.do(0, lambda probe, _: probe.host.send(1, Ping(5)))
    assert driver.runners[2].tally.datagrams_in == before
    driver.do(0, lambda probe, _: probe.host.send(2, Ping(6)))
    assert driver.runners[1].tally.dropped["not for us"] == 1, "who was never heard is asked for by everybody's address"


# --------------------------------------------------------------------------------------------------------- at rest


def test_a_node_at_rest_sleeps(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = real([0.0, 0.3, 0.6])
    rounds: list[int] = []
    once = driver.loop._run_once

    def counted() -> None:
        rounds.append(1)
        once()

    monkeypatch.setattr(driver.loop, "_run_once", counted)
    driver.run(10_000.0)
    assert len(rounds) < 3 * 10_000 / 300 * 2 + 20, "every five minutes each node writes down what it heard; no more"


def test_memory_for_muted_ids_is_bounded_and_keeps_those_heard_last(real: Any) -> None:
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
    told = msgspec.to_builtins(driver.runners[1].status(), str_keys=True)
    assert told["node"] == 1
    assert [n["node"] for n in told["neighbours"]] == [0]
    assert told["neighbours"][0]["frames"] == 1
    assert told["subscriptions"] == {"1": str(topic("news"))}
    assert (told["secure"], told["network"], told["dropped"]) == (True, True, {})
    assert driver.runners[0].status().decisions == {"forward: probe": 1}


# ----------------------------------------------------------------------------------------------------------- lives


def runner_of(vault: MemoryValues, loop: WarpLoop, meeting: Any, sink: MemorySink) -> Runner:
    async def make() -> Runner:
        medium = Walled(meeting, loop, lambda _: True)
        runner = Runner(Probe, Params(), Membership.secure(vault, RING), medium, sink=sink)
        runner.start()
        return runner

    return loop.run_until_complete(make())


def test_a_disk_that_fails_for_a_while_stops_neither_the_node_nor_its_end(caplog: pytest.LogCaptureFixture) -> None:
    loop, meeting, sink, vault = WarpLoop(), network(), MemorySink(), Fragile()
    runner = runner_of(vault, loop, meeting, sink)
    vault.broken = True
    loop.run_until_complete(asyncio.sleep(KEEP_S + 1))
    assert "alive" not in vault.values
    vault.broken = False
    loop.run_until_complete(asyncio.sleep(KEEP_S))
    assert "alive" in vault.values
    vault.broken = True
    runner.stop()
    assert [record.message for record in caplog.records if record.name == "roamcast.net"] == ["disk full"] * 2
    loop.close()


class Fragile(MemoryValues):
    broken = False

    def store(self, name: str, value: bytes) -> None:
        if self.broken:
            raise StoreError("disk full")
        super().store(name, value)


def test_a_node_that_restarts_is_heard_and_says_nothing_twice() -> None:
    loop, meeting, sink = WarpLoop(), network(), MemorySink()
    vault, heard, ids = MemoryValues(), 0, list[int]()
    listener = runner_of(MemoryValues(), loop, meeting, sink)
    for life in range(4):
        runner = runner_of(vault, loop, meeting, sink)
        for n in range(3):
            runner.host.broadcast(Ping(10 * life + n))
            ids.append(runner.publisher.prepare("x").id)
        loop.run_until_complete(asyncio.sleep(1.0))
        if life % 2:
            runner.stop()
        else:
            runner.medium.close()  # it is killed, and nothing is kept in order
    assert isinstance(listener.protocol, Probe)
    heard = len(listener.protocol.numbers())
    assert heard == 12
    assert listener.tally.drops() == {}
    assert len(set(ids)) == 12
    listener.stop()
    loop.close()


def test_what_was_recorded_cannot_be_replayed_to_a_node_that_restarted() -> None:
    loop, meeting, sink = WarpLoop(), network(), MemorySink()
    recorded: list[bytes] = []
    vault = MemoryValues()
    speaker = runner_of(MemoryValues(), loop, meeting, sink)
    spy = Walled(meeting, loop, lambda _: True)

    async def record() -> None:
        spy.open(lambda data, _: recorded.append(data))

    loop.run_until_complete(record())
    first = runner_of(vault, loop, meeting, sink)
    for n in range(5):
        speaker.host.broadcast(Ping(n))
    loop.run_until_complete(asyncio.sleep(1.0))
    first.stop()
    speaker.stop()
    second = runner_of(vault, loop, meeting, sink)
    assert len(recorded) == 5
    for data in recorded[:]:
        spy.send(data)
    loop.run_until_complete(asyncio.sleep(1.0))
    assert isinstance(second.protocol, Probe)
    assert second.protocol.numbers() == []
    assert second.tally.drops() == {"replayed": 5}
    second.stop()
    spy.close()
    loop.close()


class Diarist(Probe):
    """Does all that a protocol could do about a frame."""

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.react = {"start": lambda probe: probe.host.set_timer(1, 10 * S), "frame": Diarist.heard}
        self.react["timer"] = lambda probe, key: probe.host.broadcast(Ping(key))

    def heard(self, frame: Frame, sender: int) -> None:
        self.host.note(WHY, frame.id)
        self.host.broadcast(frame)
        self.host.send(sender, frame)
        self.host.set_timer(2, 30 * S)
        self.host.mute(frame.id)
        for event in frame.events():
            self.host.deliver(event)


@pytest.mark.parametrize("alive_ago_s", [None, 90, 30, 5, -100])
def test_a_protocol_hears_its_past_alone_and_by_the_clock_of_then(alive_ago_s: int | None) -> None:
    loop, meeting, sink, vault = WarpLoop(), network(), MemorySink(), MemoryValues()
    if alive_ago_s is not None:
        vault.store("alive", (time.time_ns() // 1000 - alive_ago_s * S).to_bytes(8, "big"))
    said = [publication(member(), n, topic="news") for n in range(1, 4)]
    forged = Event(event_id(99, 1), "news", payload=bytes(SEAL_BYTES))
    past = [(ago_s * S, 7, wire.encode(Probe, Parcel(event))) for ago_s, event in zip([100, 95, 50], said, strict=True)]
    past.insert(2, (60 * S, 7, b"nonsense"))
    past.insert(2, (70 * S, 7, wire.encode(Probe, Parcel(forged))))
    past.append((40 * S, 7, past[0][2]))  # muted by then
    got: list[int] = []

    async def go() -> Runner:
        runner = Runner(
            Diarist,
            Params(),
            Membership.secure(vault, RING),
            Walled(meeting, loop, lambda _: True),
            sink=sink,
            level="full",
            on_deliver=lambda event, _: got.append(event.id),
            again=True,
            carried=past,
        )
        runner.subscribe(topic("news"))
        runner.start()
        return runner

    runner = loop.run_until_complete(go())
    probe = runner.protocol
    assert isinstance(probe, Probe)
    told = [(what, round(now_us / S - 100)) for what, now_us, _ in probe.inputs]
    ended = {5: -5, -100: 0}.get(alive_ago_s or 0)  # when it is known that it lived until the last timer was due
    assert told == [
        ("start", -100),
        ("subscribe", -100),
        ("frame", -100),
        ("undelivered", -95),  # nobody is there, as timers tell that come late
        ("frame", -95),
        ("undelivered", -50),
        ("timer", -50),
        ("timer", -50),
        ("frame", -50),
        ("undelivered", -40),
        ("timer", 0 if ended is None else ended),
    ]
    assert [told.arguments for told in probe.told("timer")] == [(1,), (2,), (2,)]
    assert got == [event.id for event in said]
    assert runner.host.heard(said[0].id) == 1
    assert runner.status().up_s < 1
    assert runner.status().decisions == {}
    kinds = [schema.KINDS[row[2]] for row in sink.rows]
    due = ["send"] if ended is None else []  # what was to be said is said now
    assert kinds == ["recover", "subscribe", "deliver", "deliver", "deliver", *due]
    assert all(abs(row[0] - time.time() * S) < 60 * S for row in sink.rows)
    assert [row[0] for row in sink.rows] == sorted(row[0] for row in sink.rows)
    loop.run_until_complete(asyncio.sleep(100.0))
    assert runner.tally.frames_out == len(due), "a timer goes off once"
    runner.stop()
    loop.close()


def test_frames_with_events_of_others_are_told_once(real: Any) -> None:
    driver = real()
    told: list[tuple[int, bytes, list[int]]] = []
    driver.runners[1].inbox.on_carry = lambda sender, frame, events: told.append(
        (sender, frame, [e.id for e in events])
    )
    heard = [publication(driver.runners[0].membership, n, topic="news") for n in (1, 2)]
    own = publication(driver.runners[1].membership, 7)
    for event in (heard[0], heard[0], own, heard[1], heard[0]):
        driver.do(0, lambda probe, _, event=event: probe.host.broadcast(Parcel(event)))
    driver.do(0, say_all([1]))
    assert told == [(0, wire.encode(Probe, Parcel(event)), [event.id]) for event in heard]


def test_keys_are_rotated_without_a_word_being_lost(real: Any) -> None:
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


def test_insecure_mode_shouts(caplog: pytest.LogCaptureFixture) -> None:
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
