"""PSAMANET: its frames, its limits, and bad weather."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.psamanet import (
    Buffer,
    BufferedEvent,
    Psamanet,
    PsamanetParams,
    PublicationFrame,
    SubscriptionFrame,
)
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Range, topic
from roamcast.testing import make
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

SECOND = 1_000_000
subscriptions = st.builds(
    SubscriptionFrame,
    st.builds(Range, st.text(min_size=1, max_size=3), st.integers(-9, 99), st.integers(0, 1 << 60))
    | st.just(topic("a.b"))
    | st.just(EVERYTHING),
)
attributes = st.dictionaries(st.text(max_size=3), st.integers(0, 9) | st.floats(allow_nan=False), max_size=3)
events = st.builds(Event, st.integers(1, (1 << 63) - 1), st.text(max_size=5), attributes)
publications = st.builds(PublicationFrame, events, st.integers(0, FOREVER))


def event(n: int = 1, validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, n), attrs={"v": n}, validity_us=validity_us)


def values(low: int, high: int) -> Range:
    return Range("v", low, high)


# ------------------------------------------------------------------------------------------------------------ frames


@given(subscriptions | publications)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: SubscriptionFrame | PublicationFrame) -> None:
    check_encoding(Psamanet, frame)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    try:
        frame = decode(Psamanet, data)
    except Malformed:
        return
    check_encoding(Psamanet, frame)


@given(st.integers(-1, 3), st.lists(VALUES, max_size=4))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        frame = decode(Psamanet, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return
    check_encoding(Psamanet, frame)


@given(subscriptions | publications, st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_frame_is_malformed_or_another_frame(frame: SubscriptionFrame, at: int, byte: int) -> None:
    data = bytearray(encode(Psamanet, frame))
    data[at % len(data)] = byte
    try:
        other = decode(Psamanet, bytes(data))
    except Malformed:
        return
    make(Psamanet)[0].on_frame(other, 3)


@pytest.mark.parametrize(
    "fields", [[0], [0, [2, "a"], 1], [0, 7], [1, -1, event().fields()], [1, 0], [1, True, event().fields()], [2, 0]]
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(Psamanet, msgspec.msgpack.encode(fields))


# -------------------------------------------------------------------------------------------------------- the buffer


class PlainBuffer:
    """The same as `Buffer`, with a list that is searched every time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: list[BufferedEvent] = []

    def add(self, publication: BufferedEvent) -> BufferedEvent | None:
        self.kept.append(publication)
        return self.kept.pop(0) if len(self.kept) > self.limit else None

    def take_expired(self, now: int) -> list[BufferedEvent]:
        expired = [p for p in self.kept if now - p.born_us >= p.event.validity_us]
        self.kept = [p for p in self.kept if p not in expired]
        return expired


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from([1, 3, 10, 40, FOREVER])), max_size=40),
)
def test_the_ring_holds_what_a_plain_list_would(limit: int, steps: list[tuple[bool, int, int]]) -> None:
    """Each step lets time pass, and then adds an event or takes the expired ones."""
    ring, plain, now = Buffer(limit), PlainBuffer(limit), 0
    for n, (adds, passes, validity_us) in enumerate(steps, 1):
        now += passes
        if adds:
            publication = BufferedEvent(event(n, validity_us), now - min(passes, validity_us - 1))
            assert ring.add(publication) is plain.add(publication)
        else:
            assert ring.take_expired(now) == plain.take_expired(now)
        assert ring.events() == plain.kept and len(ring) == len(plain.kept)
        assert ring.bytes == sum(p.event.size for p in plain.kept)


def test_the_oldest_gives_way_again_and_again_and_after_some_have_expired() -> None:
    ring = Buffer(3)
    gone = [ring.add(BufferedEvent(event(n, 5 if n % 2 else FOREVER), 0)) for n in range(1, 6)]
    assert [p and p.event.attrs["v"] for p in gone] == [None, None, None, 1, 2]
    assert [p.event.attrs["v"] for p in ring.take_expired(5)] == [3, 5]
    assert [p.event.attrs["v"] for p in ring.events()] == [4]
    assert ring.take_expired(6) == []


# ------------------------------------------------------------------------------------------------------- expired events


def test_an_event_that_arrives_expired_is_neither_delivered_nor_kept() -> None:
    protocol, host = make(Psamanet)
    protocol.on_subscribe(1, values(1, 9))
    host.hear(protocol, PublicationFrame(event(1, SECOND), SECOND), 2)
    assert host.delivered == [] and len(protocol.pb) == 0 and host.labels("drop") == ["expired"]
    host.hear(protocol, PublicationFrame(event(1, SECOND), SECOND - 1), 2)
    assert len(host.delivered) == 1


def test_expired_publications_leave_the_buffer_before_the_choice() -> None:
    protocol, host = make(Psamanet, pb_max=2)
    for n, validity_us in ((1, SECOND), (2, FOREVER), (3, 2 * SECOND), (4, SECOND + 1)):
        host.hear(protocol, PublicationFrame(event(n, validity_us), 0), 2)
    host.advance(protocol, SECOND + 1)
    protocol.on_motion(False)
    assert [frame.event.attrs["v"] for frame in host.frames("event")] == [2, 3]
    assert host.labels("drop") == ["expired"] * 2 and len(protocol.pb) == 2


def test_an_expired_publication_is_out_of_the_buffer_for_duplicates_too() -> None:
    protocol, host = make(Psamanet, duplicates="buffer")
    host.hear(protocol, PublicationFrame(event(1, SECOND), 0), 2)
    assert list(protocol.buffered_ids) == [event(1).id]
    host.advance(protocol, SECOND)
    protocol.on_motion(False)
    assert len(protocol.pb) == 0 and protocol.buffered_ids == {}


def test_an_answer_that_expires_while_it_waits_is_not_sent() -> None:
    protocol, host = make(Psamanet, jitter_ms=10.0, own_subscriptions=True)
    protocol.on_subscribe(1, values(1, 9))
    host.draws = [0.5, 0.5]
    host.hear(protocol, PublicationFrame(event(1, 5000), 0), 2)
    host.hear(protocol, PublicationFrame(event(2, 5001), 0), 2)
    host.advance(protocol, SECOND)
    assert [frame.event.attrs["v"] for frame in host.frames("event")] == [2]


def test_the_age_in_a_frame_counts_the_time_carried_whatever_the_clocks() -> None:
    net = TinyNet(Psamanet, 3, [(0, 1)], skew_us=7_000_000)
    net.start()
    net.run(1)
    published_us = net.now_us
    net.publish(0, attrs={"v": 1})
    net.run(100)
    net.nodes[1].on_motion(False)
    assert [frame.age_us for *_, frame in net.sends("event")] == [0, net.now_us - published_us - 1000]


# ----------------------------------------------------------------------------------------------------- bad weather

PARAMS = st.fixed_dictionaries(
    {
        "duplicates": st.sampled_from(["ever", "buffer"]),
        "own_subscriptions": st.booleans(),
        "s_prob": st.sampled_from([0.5, 1.0]),
        "pb_size": st.sampled_from([1, 3, 100]),
        "pb_max": st.sampled_from([1, 2, 10]),
        "s_ttl_s": st.sampled_from([1.0, 60.0]),
    }
)


@settings(max_examples=80, deadline=None)
@given(plans(), PARAMS)
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(plan: Plan, params: dict[str, object]) -> None:
    net = weather(Psamanet, plan, **params)
    net.run(0.2)
    for i, (host, node) in enumerate(zip(net.hosts, net.nodes, strict=True)):
        assert host.timers == {} and (node.answers == {} or not net.up[i])
        assert len(node.pb) <= params["pb_size"]
        ids = [p.event.id for p in node.pb.events()]
        assert list(node.buffered_ids) == ([] if params["duplicates"] == "ever" else ids)


@settings(max_examples=15, deadline=None)
@given(plans(), PARAMS)
def test_the_same_plan_has_the_same_effects(plan: Plan, params: dict[str, object]) -> None:
    first, second = (weather(Psamanet, plan, **params) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 8), st.integers(0, 99))
def test_where_all_nodes_subscribe_an_event_goes_everywhere_without_movement(n: int, seed: int) -> None:
    net = TinyNet(Psamanet, n, [(i, i + 1) for i in range(n - 1)], seed=seed, s_prob=0.0, own_subscriptions=True)
    net.start()
    for i in range(n):
        net.subscribe(i, values(1, 9))
    net.run(1)
    e = net.publish(seed % n, attrs={"v": 5})
    net.run(1)
    assert [i for i in range(n) if net.delivered(i) == [e.id]] == [i for i in range(n) if i != seed % n]
    assert len(net.sends("event")) == n


def test_after_losing_its_tables_a_node_handles_an_event_as_new() -> None:
    net = TinyNet(Psamanet, 2, [(0, 1)])
    net.start()
    net.subscribe(1, values(1, 9))
    e = net.publish(0, attrs={"v": 5})
    net.run(1)
    for keep in (True, False):
        net.crash(1)
        net.recover(1, keep_tables=keep)
        if not keep:
            net.subscribe(1, values(1, 9))
        net.hosts[1].hear(net.nodes[1], PublicationFrame(e, 0), 0)
        assert net.delivered(1) == [e.id] * (1 if keep else 2)


def test_an_answer_that_waited_at_a_crash_is_dropped_and_can_be_requested_again() -> None:
    net = TinyNet(Psamanet, 2, [(0, 1)], s_prob=1.0)
    net.start()
    net.hosts[0].hear(net.nodes[0], PublicationFrame(event(5), 0), 7)
    for _ in range(2):
        net.nodes[0].st.clear()
        net.hosts[0].hear(net.nodes[0], SubscriptionFrame(values(1, 9)), 1)
        net.crash(0)
        net.recover(0, keep_tables=True)
    net.run(1)
    assert net.sends("event") == []
    net.nodes[0].st.clear()
    net.hosts[0].hear(net.nodes[0], SubscriptionFrame(values(1, 9)), 1)
    net.run(1)
    assert len(net.sends("event")) == 1


def test_a_subscription_that_waited_at_a_crash_is_sent_after_the_restart() -> None:
    net = TinyNet(Psamanet, 2, [(0, 1)])
    net.start()
    net.subscribe(0, values(1, 9))
    net.crash(0)
    net.recover(0, keep_tables=True)
    net.run(1)
    assert len(net.sends("subscription")) == 1


# ---------------------------------------------------------------------------------------------------------- limits


def test_state_stays_bounded_over_a_long_steady_run() -> None:
    net = TinyNet(
        Psamanet, 4, [(0, 1), (1, 2), (2, 3), (3, 0)],
        s_prob=1.0, pb_size=10, pb_max=3, st_size=5, seen=30, duplicates="buffer", s_ttl_s=3.0,
    )  # fmt: skip
    net.start()
    full = False
    for n in range(400):
        i = n % 4
        net.subscribe(i, values(n % 7, n % 11), n % 9)
        net.publish(i, attrs={"v": n % 13})
        net.nodes[i].on_motion(n % 3 == 0)
        net.run(0.3)
        for host, node in zip(net.hosts, net.nodes, strict=True):
            assert len(node.pb) <= 10 and len(node.st) <= 5 and len(node.seen) <= 30
            assert list(node.buffered_ids) == [p.event.id for p in node.pb.events()]
            assert host.timers == {} and node.answers == {}
            full = full or len(node.st) == 5
    assert full


def test_buffered_events_count_as_seen_however_few_ids_are_remembered() -> None:
    protocol, host = make(Psamanet, pb_size=3, seen=1)
    for n in (1, 2, 3, 1, 2):
        protocol.on_frame(PublicationFrame(event(n), 0), 2)
    assert [p.event.attrs["v"] for p in protocol.pb.events()] == [1, 2, 3]
    assert host.labels("drop") == []


def test_an_older_subscription_of_a_neighbour_expires_although_a_newer_one_came() -> None:
    protocol, host = make(Psamanet, s_prob=1.0, s_ttl_s=60.0)
    for n in (1, 2, 3):
        host.hear(protocol, SubscriptionFrame(values(n, n)), 4)
        host.advance(protocol, n * 20 * SECOND)
    for later_s, valid in ((0, [2, 3]), (20, [3]), (40, [])):
        host.advance(protocol, (60 + later_s) * SECOND)
        assert [n for n in (1, 2, 3) if protocol.neighbour_wants(event(n))] == valid
        assert len(protocol.st) == len(valid)


def test_memory_counts_buffer_and_foreign_subscriptions() -> None:
    protocol, host = make(Psamanet, s_prob=1.0)
    protocol.on_subscribe(1, values(1, 9))
    assert protocol.memory() == (0, 0)
    host.hear(protocol, PublicationFrame(event(20), 0), 2)
    assert protocol.memory() == (1, event(20).size + 8)
    host.hear(protocol, SubscriptionFrame(values(1, 2)), 2)
    entries, size = protocol.memory()
    assert entries == 2 and size > event(20).size + 16


def test_later_copies_are_muted_only_where_they_can_change_nothing() -> None:
    for duplicates, muted in (("ever", True), ("buffer", False)):
        protocol, host = make(Psamanet, duplicates=duplicates)
        host.hear(protocol, PublicationFrame(event(), 0), 2)
        assert (event().id in host.muted) == muted


def test_a_forgotten_publication_is_heard_again() -> None:
    protocol, host = make(Psamanet, seen=1, pb_size=1)
    for v in (5, 6):
        host.hear(protocol, PublicationFrame(event(v), 0), 2)
    assert set(host.muted) == {event(6).id}
    host.hear(protocol, PublicationFrame(event(5), 0), 2)
    assert [p.event.id for p in protocol.pb.events()] == [event(5).id]


def test_a_publication_that_waits_already_is_not_sent_twice() -> None:
    protocol, host = make(Psamanet, s_prob=1.0)
    host.hear(protocol, PublicationFrame(event(5), 0), 2)
    host.hear(protocol, SubscriptionFrame(values(1, 9)), 3)
    due = dict(host.timers)
    host.hear(protocol, SubscriptionFrame(values(1, 9)), 4)
    assert host.timers == due
    host.advance(protocol, SECOND)
    assert len(host.frames("event")) == 1


def test_it_is_registered_and_its_parameters_are_checked() -> None:
    assert registry.get("psamanet") is Psamanet and Psamanet.wants_motion
    given_ = {"pb_size": "500", "pb_max": "50", "s_prob": "0.2", "own_subscriptions": "yes"}
    assert parameters.build(Psamanet, given_) == PsamanetParams(500, 50, s_prob=0.2, own_subscriptions=True)
    with pytest.raises(Exception, match="pb_max"):
        parameters.build(Psamanet, {"pb_max": "0"})
