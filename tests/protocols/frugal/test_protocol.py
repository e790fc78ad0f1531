"""Frugal dissemination on the wire, under attack, for a long time, and on networks that misbehave."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from math import nan
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError, Malformed
from roamcast.protocols.frugal.frames import MOST, Events, EventsIds, Heartbeat, table_id
from roamcast.protocols.frugal.protocol import BACK_OFF, EVENTS_IDS, HEARTBEAT, NEIGHBORHOOD_GC, Frugal
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.parameters import build
from roamcast.protocols.kit.wire import decode, encode
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, attr, topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet
from tests.support.storm import check_encoding, plans, weather

NEWS = topic("news")
SECOND = 1_000_000


def node(**params: Any) -> tuple[Frugal, ScriptHost]:
    protocol, host = make(Frugal, **params)
    assert isinstance(protocol, Frugal)
    return protocol, host


def news(sequence: int, publisher: int = 99, validity_us: int = FOREVER) -> Event:
    return Event(event_id(publisher, sequence), "news", validity_us=validity_us)


# ------------------------------------------------------------------------------------------------------- the wire

published = st.builds(
    Event,
    st.integers(1, (1 << 63) - 1),
    st.text(max_size=20),
    st.dictionaries(st.text(max_size=5), st.integers(-5, 5) | st.booleans() | st.text(max_size=5), max_size=4),
    st.binary(max_size=40),
    st.integers(1, FOREVER),
)
filters = st.sampled_from([NEWS, EVERYTHING, topic(""), topic("a.b") & (attr("t") > 3), attr("r").isin("x", "y")])
nodes = st.integers(0, (1 << 31) - 1)


@st.composite
def events_frames(draw: st.DrawFn) -> Events:
    carried = draw(st.lists(published, min_size=1, max_size=10))
    ages_us = draw(st.lists(st.integers(0, FOREVER), min_size=len(carried), max_size=len(carried)))
    return Events(carried, ages_us, draw(st.lists(nodes, max_size=20)))


frames = st.one_of(
    st.builds(Heartbeat, st.lists(filters, max_size=20), st.floats(0, 1e6) | st.just(nan)),
    st.builds(EventsIds, st.lists(st.integers(0, (1 << 63) - 1), max_size=40)),
    events_frames(),
)


@settings(deadline=None)
@given(frames)
def test_a_frame_crosses_the_wire_unchanged_and_its_size_is_that_of_its_bytes(frame: Frame) -> None:
    check_encoding(Frugal, frame)


@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, MOST])
def test_sizes_are_right_where_the_header_of_a_list_grows(n: int) -> None:
    for frame in (EventsIds(list(range(n))), Events([news(1)] * min(n, 100), [0] * min(n, 100), list(range(n)))):
        check_encoding(Frugal, frame)


@pytest.mark.parametrize("speed_mps", [nan, 0.0, 7.25])
def test_the_size_of_a_heartbeat_that_is_sent_is_that_of_its_bytes(speed_mps: float) -> None:
    protocol, host = node()
    host.speed_mps = speed_mps
    for key in range(20):
        protocol.on_subscribe(key, topic(f"news.{key}"))
    host.advance(protocol, 15 * SECOND)
    (heartbeat,) = host.frames("heartbeat")
    check_encoding(Frugal, heartbeat)


def test_equal_subscriptions_are_sent_once() -> None:
    protocol, host = node()
    for key in range(3):
        protocol.on_subscribe(key, topic("news"))
    host.advance(protocol, 15 * SECOND)
    (heartbeat,) = host.frames("heartbeat")
    assert heartbeat.fields()[0] == [NEWS.fields()]


EVENT = news(1).fields()


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [0],
        [0, [], None, 1],
        [0, {}, None],
        [0, [[99]], None],
        [0, [NEWS.fields()], "fast"],
        [0, [NEWS.fields()], -1.0],
        [0, [NEWS.fields()], float("inf")],
        [0, [NEWS.fields()], nan],
        [0, [NEWS.fields()], True],
        [0, [NEWS.fields()] * (MOST + 1), None],
        [1],
        [1, [], []],
        [1, 5],
        [1, [-1]],
        [1, [1 << 63]],
        [1, [True]],
        [1, [1.0]],
        [1, [1] * (MOST + 1)],
        [2, [0, EVENT]],
        [2, [], []],
        [2, [0], []],
        [2, [0, EVENT, 0], []],
        [2, [EVENT, 0], []],
        [2, [-1, EVENT], []],
        [2, [FOREVER + 1, EVENT], []],
        [2, [0, EVENT[:-1]], []],
        [2, [0, EVENT], [-1]],
        [2, [0, EVENT], [1 << 31]],
        [2, [0, EVENT], 3],
        [2, [0, EVENT], [0] * (MOST + 1)],
        [3, 0],
        "frame",
    ],
)
def test_invalid_fields_are_malformed(fields: Any) -> None:
    with pytest.raises(Malformed):
        decode(Frugal, msgspec.msgpack.encode(fields))


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_a_frame_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        decode(Frugal, data)


@settings(deadline=None)
@given(st.lists(frames, min_size=1, max_size=6), st.data())
def test_frames_with_bytes_changed_on_the_way_are_malformed_or_do_no_harm(sent: list[Any], data: st.DataObject) -> None:
    protocol, host = node(neighbors_limit=2, ids_limit=5, events_table_size=3)
    protocol.on_subscribe(1, EVERYTHING)
    for frame in sent:
        raw = bytearray(encode(Frugal, frame))
        for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=3)):
            raw[at] = data.draw(st.integers(0, 255))
        with contextlib.suppress(Malformed):
            host.hear(protocol, decode(Frugal, bytes(raw)), data.draw(st.integers(1, 4)))
        host.advance(protocol, host.clock_us + SECOND // 3)
    host.advance(protocol, host.clock_us + 20 * SECOND)
    assert len(protocol.neighborhood_table) <= 2
    assert len(protocol.events_table) <= 3


@pytest.mark.parametrize("given_", [{"hb_lower_s": 2.0}, {"ids_on": "never"}, {"events_table_size": 0}, {"sizes": "x"}])
def test_wrong_parameters_are_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        build(Frugal, given_)


# ---------------------------------------------------------------------------------------------------------- the limits


def test_a_full_neighborhood_table_takes_no_new_neighbor() -> None:
    protocol, host = node(neighbors_limit=2)
    protocol.on_subscribe(1, NEWS)
    for j in (4, 5, 6, 4):
        host.hear(protocol, Heartbeat([NEWS], nan), j)
    assert list(protocol.neighborhood_table.rows) == [4, 5]
    assert host.notes == [("note", "neighbours full", 0, 6, 0)]
    host.advance(protocol, 6 * SECOND)
    host.hear(protocol, Heartbeat([NEWS], nan), 6)
    assert list(protocol.neighborhood_table.rows) == [6]


def test_only_the_last_ids_of_events_that_only_neighbors_have_are_known() -> None:
    protocol, host = node(ids_limit=3)
    protocol.on_subscribe(1, NEWS)
    for j, ids in ((4, [1, 2, 3]), (5, [1]), (4, [2, 4])):
        host.hear(protocol, Heartbeat([NEWS], nan), j)
        host.hear(protocol, EventsIds(ids), j)
    table = protocol.neighborhood_table
    assert [table.ids_of(table.rows[j]) for j in (4, 5)] == [[2, 3, 4], []]


def test_early_ids_of_a_limited_number_of_nodes_are_kept() -> None:
    protocol, host = node(ids_on="new", neighbors_limit=2)
    host.hear(protocol, EventsIds([1]), 4)
    assert list(protocol.early_ids) == []
    protocol.on_subscribe(1, NEWS)
    for j, ids in ((4, [1]), (5, [2]), (6, [3]), (4, [7])):
        host.hear(protocol, EventsIds(ids), j)
    assert {j: frame.ids for j, (_, frame) in protocol.early_ids.items()} == {4: [7], 5: [2]}
    protocol.on_unsubscribe(1)
    assert list(protocol.early_ids) == []


def test_memory_counts_both_tables() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    assert protocol.memory() == (0, 0)
    heartbeat = Heartbeat([NEWS], 3.0)
    host.hear(protocol, heartbeat, 4)
    host.hear(protocol, EventsIds([7, 8]), 4)
    assert protocol.memory() == (1, 24 + heartbeat.size + 2 * 8)
    host.hear(protocol, Events([news(1)], [0], []), 5)
    assert protocol.memory() == (2, 24 + heartbeat.size + 2 * 8 + 16 + news(1).size)


def test_publishing_an_event_twice_sends_it_once() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Heartbeat([NEWS], nan), 4)
    protocol.on_publish(news(1, 0))
    protocol.on_publish(news(1, 0))
    assert len(host.frames("event")) == 1
    assert host.labels("drop") == ["heard again"]


def test_an_event_without_validity_is_not_published() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Heartbeat([NEWS], nan), 4)
    protocol.on_publish(news(1, 0, validity_us=0))
    assert host.frames("event") == []
    assert host.labels("drop") == ["expired"]


def test_a_timer_that_belongs_to_nothing_is_ignored() -> None:
    protocol, host = node()
    protocol.on_timer(12345)
    assert host.effects == []


def test_content_filters_serve_as_topics() -> None:
    net = TinyNet(Frugal, 3, links=[(0, 1), (1, 2)])
    net.start()
    wanted: list[Filter] = [attr("t") > 30, attr("t") > 20, attr("t") < 0]
    for i, filter in enumerate(wanted):
        net.subscribe(i, filter)
    net.run(20)
    assert [list(n.neighborhood_table.rows) for n in net.nodes] == [[1], [0], []]
    net.publish(1, attrs={"t": 35})
    net.publish(2, attrs={"t": 25})
    net.run(20)
    assert [len(net.delivered(i)) for i in range(3)] == [1, 1, 0]


def test_state_stays_bounded_over_a_long_steady_run() -> None:
    """A thousand nodes pass by; each lists events and sends some."""
    protocol, host = node(neighbors_limit=20, ids_limit=15, events_table_size=15, seen_limit=30, ids_on="new")
    protocol.on_start()
    protocol.on_subscribe(1, NEWS)
    for k in range(1, 5001):
        host.advance(protocol, k * 20_000)
        if k % 2 == 0:
            host.hear(protocol, Heartbeat([NEWS], 1.0), k)
        host.hear(protocol, EventsIds([k, k + 1]), k - k % 3)
        host.hear(protocol, Events([news(k, validity_us=(k % 7 + 1) * SECOND // 10)], [0], [k, k - 2]), k)
        if k % 50 == 0:
            protocol.on_publish(news(k, 0))
        assert len(protocol.neighborhood_table) <= 20
        assert len(protocol.early_ids) <= 20
        assert len(protocol.events_table) <= 15
        assert len(protocol.events_to_send()) <= 15
        assert len(protocol.neighborhood_table.awaited) <= 15
        assert len(protocol.answers) <= 20
        assert len(protocol.events_table.known) <= 30 + 15
        assert len(protocol.neighborhood_table.unknown_holders) <= 15
        assert len(host.timers) <= 4
    assert len(protocol.neighborhood_table) == 20
    protocol.on_unsubscribe(1)
    host.advance(protocol, host.clock_us + 20 * SECOND)
    assert (protocol.neighborhood_table.rows, host.timers) == ({}, {})


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=3, max_size=6),
    st.lists(st.sampled_from("abc"), min_size=8, max_size=20),
    st.integers(60, 160),
)
def test_frames_are_filled_up_to_their_limit(asked: list[str], topics: list[str], limit: int) -> None:
    """Each neighbour subscribes to one topic. The first event of a frame did not fit into the frame before."""
    protocol, host = node(jitter_ms=0.0, frame_limit=limit)
    protocol.on_subscribe(1, EVERYTHING)
    neighbors = {60_000 * (k + 1): topic(name) for k, name in enumerate(asked)}
    for k, name in enumerate(topics, 1):
        host.hear(protocol, Events([Event(event_id(99, k), name)], [0], []), 5)
    for j, filter in neighbors.items():
        host.hear(protocol, Heartbeat([filter], nan), j)
        host.hear(protocol, EventsIds([]), j)
    host.advance(protocol, SECOND)
    before: Events | None = None
    for frame in host.frames("event"):
        assert isinstance(frame, Events)
        assert frame.size <= limit or (not frame.neighbors_ids and len(frame.carried) == 1)
        if before is not None:
            more = [*before.carried, frame.carried[0]]
            named = [j for j, filter in neighbors.items() if any(filter.matches(event) for event in more)]
            assert Events(more, [*before.ages_us, frame.ages_us[0]], named).size > limit
        before = frame
    sent = [event.topic for frame in host.frames("event") for event in frame.events()]
    assert sorted(sent) == sorted(name for name in topics if name in asked)


# ------------------------------------------------------------------------------------------ why an event was suppressed


def waiting_for_neighbor_4(**params: Any) -> tuple[Frugal, ScriptHost]:
    """Neighbour 4 lacks event 1: the back-off for it runs."""
    protocol, host = node(jitter_ms=0.0, **params)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Events([news(1)], [0], []), 5)
    host.hear(protocol, Heartbeat([NEWS], nan), 4)
    host.hear(protocol, EventsIds([]), 4)
    return protocol, host


def test_an_event_that_another_node_sent_in_the_meantime_is_noted_as_not_needed() -> None:
    """Neighbour 4 now has it and lists it: nothing is left to send before the back-off ends."""
    protocol, host = waiting_for_neighbor_4()
    host.hear(protocol, EventsIds([table_id(news(1).id)]), 4)
    assert protocol.events_to_send() == []
    host.advance(protocol, SECOND)
    assert host.notes[-1] == ("suppress", "no longer needed", news(1).id, -1, 0)


def test_an_event_whose_back_off_a_new_event_stops_for_good_is_noted_as_not_needed() -> None:
    protocol, host = waiting_for_neighbor_4()
    host.hear(protocol, Events([news(2), news(1)], [0, 0], [4]), 5)
    assert BACK_OFF not in host.timers
    assert host.labels("suppress") == ["no longer needed"]
    assert protocol.neighborhood_table.awaited == []


def test_an_event_collected_during_the_back_off_is_noted_once() -> None:
    protocol, host = waiting_for_neighbor_4(events_table_size=1)
    host.hear(protocol, Events([news(2)], [0], []), 5)
    host.advance(protocol, SECOND)
    assert host.labels("drop") == ["table full"]
    assert host.labels("suppress") == []
    assert [frame.events() for frame in host.frames("event")] == [[news(2)]]


# --------------------------------------------------------------------------------------------------- crash and recovery


def test_after_a_crash_with_tables_the_tasks_run_again_and_old_neighbors_are_gone() -> None:
    """§2: processes crash and recover whenever they like."""
    net = TinyNet(Frugal, 2, links=[(0, 1)])
    net.start()
    for i in range(2):
        net.subscribe(i, NEWS)
    net.run(20)
    held = net.publish(0, topic="news")
    net.cut(0, 1)
    net.crash(0)
    net.run(30)
    net.recover(0, keep_tables=True)
    kept = net.nodes[0]
    assert isinstance(kept, Frugal)
    assert (list(kept.neighborhood_table.rows), [row.event for row in kept.events_table.rows]) == ([], [held])
    assert sorted(net.hosts[0].timers) == [HEARTBEAT, NEIGHBORHOOD_GC]
    net.run(20)
    net.join(0, 1)
    net.run(20)
    assert net.delivered(1) == [held.id]


def test_a_crash_during_the_back_off_does_not_block_the_next_one() -> None:
    protocol, host = node(jitter_ms=0.0)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Events([news(1)], [0], []), 5)
    host.hear(protocol, Heartbeat([NEWS], nan), 4)
    host.hear(protocol, EventsIds([]), 4)
    assert BACK_OFF in host.timers and EVENTS_IDS in host.timers
    host.timers.clear()
    protocol.on_start()
    host.hear(protocol, Heartbeat([NEWS], nan), 4)
    host.hear(protocol, EventsIds([]), 4)
    assert BACK_OFF in host.timers and EVENTS_IDS in host.timers
    host.advance(protocol, SECOND)
    assert len(host.frames("event")) == 1


def test_an_event_that_was_needed_before_a_crash_is_awaited_after_it() -> None:
    """A note says why it is not sent when the neighbour turns out to have it."""
    protocol, host = waiting_for_neighbor_4()
    host.timers.clear()
    protocol.on_start()
    assert protocol.neighborhood_table.awaited == []
    host.hear(protocol, EventsIds([]), 4)
    host.hear(protocol, EventsIds([table_id(news(1).id)]), 4)
    host.advance(protocol, SECOND)
    assert host.labels("suppress") == ["no longer needed"]


def test_a_node_that_lost_its_tables_gets_its_events_again() -> None:
    net = TinyNet(Frugal, 3, links=[(0, 1), (1, 2), (0, 2)])
    net.start()
    for i in range(3):
        net.subscribe(i, NEWS)
    net.run(20)
    sent = net.publish(0, topic="news")
    net.run(5)
    net.crash(2)
    net.run(10)
    net.recover(2)
    net.subscribe(2, NEWS)
    net.run(30)
    assert net.delivered(2) == [sent.id, sent.id]
    assert net.delivered(1) == [sent.id]


# ------------------------------------------------------------------------------------------------------ random networks

SETTINGS = [
    {"ids_on": ids_on, "need": need, "events_table_size": size, "hb_initial_s": 1.0, "hb_upper_s": 0.5}
    for ids_on in ("new", "heartbeat")
    for need in ("presumed", "listed")
    for size in (100, 2)
]
stormy = st.tuples(plans(), st.sampled_from(SETTINGS))


@settings(max_examples=40, deadline=None)
@given(stormy)
def test_in_bad_weather_the_invariants_hold_and_only_interested_nodes_get_valid_events(storm: Any) -> None:
    """Only subscribers forward events: a node that sends an event has delivered or published it."""
    plan, params = storm
    net = weather(Frugal, plan, **params)
    for _, i, _, frame in net.sends("event"):
        assert isinstance(frame, Events)
        assert frame.neighbors_ids and i not in frame.neighbors_ids
        for event, age_us in zip(frame.carried, frame.ages_us, strict=True):
            assert 0 <= age_us < event.validity_us
            assert event.publisher == i or event.id in net.delivered(i)


@settings(max_examples=40, deadline=None)
@given(stormy)
def test_some_time_after_the_last_unsubscription_no_timer_is_left(storm: Any) -> None:
    plan, params = storm
    net = weather(Frugal, plan, **params)
    for i in range(plan.n):
        for subscription in range(3):
            net.nodes[i].on_unsubscribe(subscription)
    net.run(8)
    for i in range(plan.n):
        if net.up[i]:
            assert net.hosts[i].timers == {}
            assert net.nodes[i].neighborhood_table.rows == {}


@settings(max_examples=20, deadline=None)
@given(stormy)
def test_clocks_that_disagree_change_nothing(storm: Any) -> None:
    plan, params = storm
    agreeing = weather(Frugal, replace(plan, skew_us=0), **params)
    skewed = weather(Frugal, replace(plan, skew_us=86_400_000_000), **params)
    assert [host.effects for host in agreeing.hosts] == [host.effects for host in skewed.hosts]


@settings(max_examples=20, deadline=None)
@given(stormy)
def test_a_frame_is_never_changed_after_it_was_sent(storm: Any) -> None:
    plan, params = storm
    for host in weather(Frugal, plan, **params).hosts:
        shown = [line for line in host.effects if line.startswith("broadcast")]
        assert shown == [f"broadcast {frame.kind} {frame.fields()}" for _, frame in host.sent]


@settings(max_examples=20, deadline=None)
@given(stormy, st.sampled_from([1, 60, 150, 400]))
def test_no_frame_of_several_events_is_longer_than_the_limit(storm: Any, limit: int) -> None:
    plan, params = storm
    for _, _, _, frame in weather(Frugal, plan, **params, frame_limit=limit).sends("event"):
        assert frame.size <= limit or (len(frame.events()) == 1 and frame.fields()[1] == [])


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(["new", "heartbeat"]),
    st.sampled_from(["presumed", "listed"]),
    st.sampled_from([0.0, 0.3]),
)
def test_on_a_connected_network_that_loses_nothing_every_subscriber_is_served(
    seed: int, ids_on: str, need: str, duplication: float
) -> None:
    """All nodes have subscribed. They form a ring, so that there are two ways, and frames overtake each other."""
    n = 6
    net = TinyNet(
        Frugal,
        n,
        [(i, (i + 1) % n) for i in range(n)],
        seed=seed,
        duplication=duplication,
        jitter_us=30_000,
        ids_on=ids_on,
        need=need,
    )
    net.start()
    for i in range(n):
        net.subscribe(i, NEWS)
    net.run(20)
    sent = [net.publish(i, topic="news", validity_us=60 * SECOND) for i in (0, 3)]
    net.run(20)
    for i in range(n):
        assert sorted(net.delivered(i)) == [e.id for e in sent if e.publisher != i]


def test_losses_are_made_good_when_neighbors_meet_again() -> None:
    """One frame in three is lost. Presumed receptions are forgotten with the neighbour, and the events sent again
    (R4)."""
    net = TinyNet(Frugal, 4, [(i, j) for i in range(4) for j in range(i)], loss=0.35)
    net.start()
    for i in range(4):
        net.subscribe(i, NEWS)
    net.run(30)
    sent = net.publish(0, topic="news")
    for _ in range(5):
        for i in range(4):
            for j in range(i):
                net.cut(i, j)
        net.run(10)
        for i in range(4):
            for j in range(i):
                net.join(i, j)
        net.run(10)
    assert [net.delivered(i) for i in range(4)] == [[], [sent.id], [sent.id], [sent.id]]
