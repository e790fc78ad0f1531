"""Frugal dissemination: why an event was suppressed, crashes, networks that misbehave."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.frugal.frames import Events, EventsIds, Heartbeat, table_id
from roamcast.protocols.frugal.protocol import BACK_OFF, EVENTS_IDS, HEARTBEAT, NEIGHBORHOOD_GC, Frugal
from roamcast.testing import ScriptHost
from tests.protocols.frugal.nodes import NEWS, SECOND, news, node
from tests.support.net import TinyNet
from tests.support.storm import plans, weather

# ---- why an event was suppressed


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


# ---- crash and recovery


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


# ---- random networks


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
