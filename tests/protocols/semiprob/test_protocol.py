"""Semi-probabilistic broadcast: its frames, its limits, and bad weather."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import reason_count, reason_kind, reason_label
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.semiprob.protocol import PublicationFrame, SemiProb, SemiProbParams, SubscriptionFrame
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Compare, Range, topic
from roamcast.testing import make
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

SECOND = 1_000_000
FILTERS = st.sampled_from([topic("hot"), topic("a.b.c"), Range("v", 1, 2.5), Compare("x", "=", "y"), EVERYTHING])
TECHNIQUES = st.sampled_from(["none", "delay", "delay-drop"])

subscriptions = st.builds(
    SubscriptionFrame,
    st.integers(0, (1 << 31) - 1),
    st.integers(0, (1 << 32) - 1),
    st.integers(1, 255),
    st.integers(1, 65_535),
    FILTERS,
)
attributes = st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3)
events = st.builds(Event, st.integers(1, (1 << 63) - 1), st.text(max_size=5), attributes)
publications = st.builds(PublicationFrame, events, st.booleans(), st.integers(0, FOREVER))


def event(n: int = 1, subject: str = "hot", validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, n), subject, validity_us=validity_us)


# ------------------------------------------------------------------------------------------------------------ frames


@given(subscriptions | publications)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: SubscriptionFrame | PublicationFrame) -> None:
    check_encoding(SemiProb, frame)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(SemiProb, b"\xc1" + data)
    try:
        frame = decode(SemiProb, data)
    except Malformed:
        return
    check_encoding(SemiProb, frame)


@given(st.integers(-1, 3), st.lists(VALUES, max_size=6))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        frame = decode(SemiProb, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return
    check_encoding(SemiProb, frame)


@given(subscriptions | publications, st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_frame_is_malformed_or_another_frame(frame: SubscriptionFrame, at: int, byte: int) -> None:
    data = bytearray(encode(SemiProb, frame))
    data[at % len(data)] = byte
    try:
        other = decode(SemiProb, bytes(data))
    except Malformed:
        return
    make(SemiProb, technique="none")[0].on_frame(other, 3)


@pytest.mark.parametrize(
    "fields",
    [
        [0, 5, 1, 0, 60, [2, "hot"]],  # no broadcast left: no node sends such a frame
        [0, 5, 1, 256, 60, [2, "hot"]],
        [0, 5, 1, 1, 0, [2, "hot"]],
        [0, 1 << 31, 1, 1, 60, [2, "hot"]],
        [0, 5, 1 << 32, 1, 60, [2, "hot"]],
        [0, 5, 1, 1, 60],
        [1, 2, 0, event().fields()],
        [1, True, 0, event().fields()],
        [1, 0, -1, event().fields()],
        [1, 0, 0, 0, event().fields()],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(SemiProb, msgspec.msgpack.encode(fields))


# ------------------------------------------------------------------------------------------------------- expired events


def test_an_event_that_arrives_expired_is_neither_delivered_nor_forwarded() -> None:
    protocol, host = make(SemiProb, technique="none", tau=1.0)
    protocol.on_subscribe(1, topic("hot"))
    host.sent.clear()
    host.hear(protocol, PublicationFrame(event(1, validity_us=SECOND), False, SECOND), 2)
    assert host.delivered == [] and host.sent == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, PublicationFrame(event(1, validity_us=SECOND), False, SECOND - 1), 2)
    assert len(host.delivered) == len(host.sent) == 1


def test_an_event_that_expires_while_it_waits_is_not_sent() -> None:
    protocol, host = make(SemiProb, tau=1.0)
    host.draws = [0.5]
    protocol.on_start()
    host.hear(protocol, PublicationFrame(event(1, validity_us=SECOND), False, 500_000), 2)
    host.hear(protocol, PublicationFrame(event(2, validity_us=SECOND), False, 499_999), 2)
    host.advance(protocol, SECOND)
    assert [frame.event for frame in host.frames("event")] == [event(2, validity_us=SECOND)]
    assert host.labels("drop") == ["expired"]


def test_the_age_on_the_air_grows_by_the_time_spent_waiting_whatever_the_clocks() -> None:
    net = TinyNet(SemiProb, 3, [(0, 1), (1, 2)], tau=1.0, skew_us=7_000_000)
    net.start()
    net.run(0.3)
    published_us = net.now_us
    net.publish(0, topic="hot")
    net.run(5)
    for t, sender, _, frame in net.sends("event"):
        assert frame.age_us == t - published_us - 1000 * sender  # the time on the air does not count


def test_a_lease_that_has_ended_does_not_count_even_if_the_timer_is_late() -> None:
    """A node that slept receives frames before its timers fire."""
    protocol, host = make(SemiProb, technique="none", tau=0.0)
    host.hear(protocol, SubscriptionFrame(5, 1, 1, 60, topic("hot")), 5)
    host.clock_us = 60 * SECOND
    host.hear(protocol, PublicationFrame(event(), False, 0), 2)
    assert host.sent == []


# ----------------------------------------------------------------------------------------------------- bad weather


@settings(max_examples=60, deadline=None)
@given(plans(), TECHNIQUES, st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0]))
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(
    plan: Plan, technique: str, phi: int, tau: float
) -> None:
    net = weather(SemiProb, plan, technique=technique, phi=phi, tau=tau, lease_s=5, refresh_s=2.0)
    for i, host in enumerate(net.hosts):
        assert set(host.timers) <= {1, 2, 3}
        node = net.nodes[i]
        assert (1 in host.timers) >= bool(node.queue and net.up[i])
        node.local.clear()
    net.run(20)
    for i, (host, node) in enumerate(zip(net.hosts, net.nodes, strict=True)):
        if net.up[i]:
            assert node.queue == [] and node.nonlocal_ == {}
            assert set(host.timers) <= {2}


@settings(max_examples=15, deadline=None)
@given(plans(), TECHNIQUES)
def test_the_same_plan_has_the_same_effects(plan: Plan, technique: str) -> None:
    first, second = (weather(SemiProb, plan, technique=technique, lease_s=5, refresh_s=2.0) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(0, 99), TECHNIQUES, st.booleans())
def test_flooding_reaches_every_connected_subscriber_in_fair_weather(
    n: int, seed: int, technique: str, ring: bool
) -> None:
    links = [(i, i + 1) for i in range(n - 1)] + ([(n - 1, 0)] if ring else [])
    net = TinyNet(SemiProb, n, links, seed=seed, technique=technique, tau=1.0, phi=1)
    net.start()
    for i in range(n):
        net.subscribe(i, topic("hot"))
    net.run(3)
    e = net.publish(seed % n, topic="hot")
    net.run(2 * n)
    reached = [i for i in range(n) if net.delivered(i) == [e.id]]
    if technique == "delay-drop" and ring:
        assert reached  # a node that is suppressed relies on a neighbour that reaches other nodes
    else:
        assert reached == [i for i in range(n) if i != seed % n]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 99))
def test_within_the_horizon_routing_needs_no_chance(phi: int, seed: int) -> None:
    """A publisher that is φ + 1 hops away, or nearer, reaches the subscriber at τ = 0 along a line."""
    n = phi + 2
    net = TinyNet(SemiProb, n, [(i, i + 1) for i in range(n - 1)], seed=seed, tau=0.0, phi=phi)
    net.start()
    net.subscribe(n - 1, topic("hot"))
    net.run(phi + 2)
    e = net.publish(0, topic="hot")
    net.run(n + 2)
    assert net.delivered(n - 1) == [e.id]


def test_after_losing_its_tables_a_node_handles_an_event_as_new() -> None:
    net = TinyNet(SemiProb, 2, [(0, 1)], tau=1.0, technique="none")
    net.start()
    net.subscribe(1, topic("hot"))
    e = net.publish(0, topic="hot")
    net.run(1)
    for keep in (True, False):
        net.crash(1)
        net.recover(1, keep_tables=keep)
        if not keep:
            net.subscribe(1, topic("hot"))
        net.hosts[1].hear(net.nodes[1], PublicationFrame(e, False, 0), 0)
        assert net.delivered(1) == [e.id] * (1 if keep else 2)


def test_events_that_waited_before_a_crash_are_sent_after_it_if_the_tables_survive() -> None:
    for keep in (True, False):
        net = TinyNet(SemiProb, 2, [(0, 1)], phi=1)
        net.start()
        net.subscribe(0, topic("hot"))
        net.crash(0)
        net.recover(0, keep_tables=keep)
        net.run(2)
        assert len(net.sends("subscription")) == keep


# ---------------------------------------------------------------------------------------------------------- limits


def test_state_stays_bounded_over_a_long_steady_run() -> None:
    net = TinyNet(
        SemiProb, 4, [(0, 1), (1, 2), (2, 3), (3, 0)],
        technique="delay-drop", phi=3, lease_s=7, refresh_s=3.0, recent=20, table=6, queue=8,
    )  # fmt: skip
    net.start()
    peak = 0
    for n in range(400):
        i = n % 4
        net.subscribe(i, topic(f"t{n % 40}"), n % 4)
        net.publish(i, topic=f"t{n % 37}")
        net.run(0.4)
        for host, node in zip(net.hosts, net.nodes, strict=True):
            assert len(node.recent_events) <= 20 and len(node.recent_subscriptions) <= 20
            assert len(node.nonlocal_) <= 6 and len(node.queue) <= 8 and len(host.timers) <= 3
            entries, size = node.memory()
            assert entries == len(node.nonlocal_) + len(node.queue) and (size > 0) == (entries > 0)
            peak = max(peak, entries)
    assert peak > 6


def test_memory_counts_table_and_queue() -> None:
    protocol, host = make(SemiProb, tau=1.0)
    protocol.on_start()
    assert protocol.memory() == (0, 0)
    protocol.on_subscribe(1, topic("mine"))
    own = protocol.queue[0].size
    assert protocol.memory() == (1, own)
    host.hear(protocol, SubscriptionFrame(5, 1, 1, 60, topic("hot")), 5)
    host.hear(protocol, PublicationFrame(event(), False, 0), 2)
    assert protocol.memory() == (3, own + len(msgspec.msgpack.encode(topic("hot").fields())) + 1 + 8 + event().size + 8)


def test_later_copies_that_can_change_nothing_are_muted() -> None:
    for technique, muted_at_once in (("none", True), ("delay", True), ("delay-drop", False)):
        protocol, host = make(SemiProb, technique=technique, tau=1.0)
        protocol.on_start()
        host.hear(protocol, PublicationFrame(event(1), False, 0), 2)
        assert (event(1).id in host.muted) == muted_at_once
        host.advance(protocol, 2 * SECOND)
        assert event(1).id in host.muted
    protocol, host = make(SemiProb, technique="delay-drop", tau=0.0)
    host.hear(protocol, PublicationFrame(event(1), False, 0), 2)
    assert event(1).id in host.muted


def test_the_labels_that_count_hops() -> None:
    labels = {(reason_kind(code), reason_label(code)) for code in range(reason_count())}
    assert {("forward", "deterministic"), ("forward", "probabilistic")} <= labels


def test_it_is_registered_and_its_parameters_are_checked() -> None:
    assert registry.get("semiprob") is SemiProb
    assert parameters.build(SemiProb, {"phi": "1", "tau": "0.25"}) == SemiProbParams(phi=1, tau=0.25)
    with pytest.raises(Exception, match="refresh_s"):
        parameters.build(SemiProb, {"lease_s": "50"})
