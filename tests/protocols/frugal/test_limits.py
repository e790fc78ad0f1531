"""Frugal dissemination under attack and for a long time: its state is bounded."""

from __future__ import annotations

from math import nan

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.frugal.frames import Events, EventsIds, Heartbeat
from roamcast.protocols.frugal.protocol import Frugal
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, attr, topic
from tests.protocols.frugal.nodes import NEWS, SECOND, ids_of, news, node
from tests.support.net import TinyNet


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
    assert [ids_of(table, table.rows[j]) for j in (4, 5)] == [[2, 3, 4], []]


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
