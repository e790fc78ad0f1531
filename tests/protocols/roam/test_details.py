"""Roam in detail: what is sent, what is left out, and what stays bounded."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.roam.frames import ID_MAX, MOST, IdList, Missing, Summary, id_lists
from roamcast.protocols.roam.protocol import LIST, LOOKED_AT, PUSH, Roam
from roamcast.pubsub.event import FOREVER, Event, event_id
from tests.protocols.roam.nodes import DIFFERENT, NEWS, SECOND, listing, news, node
from tests.support.storm import plans, weather


def test_who_hears_another_node_send_a_missing_event_does_not_send_it() -> None:
    protocol, host = node()
    for n in (1, 2):
        protocol.on_publish(news(n))
    host.advance(protocol, SECOND)
    host.sent.clear()
    host.hear(protocol, listing(7), 2)
    host.hear(protocol, Missing([EventFrame(news(1), 0, SECOND)]), 3)
    host.advance(protocol, 2 * SECOND)
    assert [event.id for frame in host.frames("event") for event in frame.events()] == [news(2).id]
    assert ("suppress", "sent by another", news(1).id, 3, 0) in host.notes


def test_a_list_that_says_the_same_makes_the_own_one_useless() -> None:
    protocol, host = node()
    host.hear(protocol, DIFFERENT, 2)
    assert LIST in host.timers
    host.hear(protocol, IdList(Summary(0, 0, 600, 600), 0, 10, []), 3)
    assert LIST not in host.timers


def test_a_difference_that_has_gone_needs_no_list() -> None:
    protocol, host = node(answer_ms=1000.0)
    other, other_host = node()
    other.on_publish(news(1))
    other_host.advance(other, 4 * SECOND)
    host.advance(protocol, 4 * SECOND)
    host.hear(protocol, other_host.frames("summary")[-1], 2)
    assert LIST in host.timers
    host.hear(protocol, EventFrame(news(1), 0, 4 * SECOND), 2)
    host.advance(protocol, 9 * SECOND)
    assert host.frames("ids") == []


def test_missing_events_leave_in_bursts_of_full_frames() -> None:
    protocol, host = node(burst=2, frame_limit=200)
    for n in range(1, 41):
        protocol.on_publish(Event(event_id(99, n), "news", payload=bytes(30)))
    host.advance(protocol, SECOND)
    host.sent.clear()
    host.hear(protocol, listing(7), 2)
    host.advance(protocol, SECOND + 150_000)
    first = [frame for frame in host.frames("event") if isinstance(frame, Missing)]
    assert len(first) == 2
    host.advance(protocol, 10 * SECOND)
    frames = [frame for frame in host.frames("event") if isinstance(frame, Missing)]
    assert sorted(event.id for frame in frames for event in frame.events()) == [event_id(99, n) for n in range(1, 41)]
    assert all(frame.size <= 200 + 6 for frame in frames)


def test_an_event_that_is_about_to_expire_is_not_sent_again() -> None:
    protocol, host = node()
    protocol.on_publish(news(1, validity_us=SECOND))
    host.advance(protocol, 800_000)
    host.hear(protocol, listing(7), 2)
    assert PUSH not in host.timers


def test_an_event_that_has_expired_here_is_not_taken_again() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Missing([EventFrame(news(1, validity_us=SECOND), 0, 0)]), 2)
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, Missing([EventFrame(news(1, validity_us=SECOND), 0, 999_000)]), 2)
    assert [event.id for event in host.delivered] == [news(1).id]


def test_an_own_event_that_made_room_is_taken_again() -> None:
    protocol, host = node(store=1)
    protocol.on_publish(news(1, validity_us=100 * SECOND))
    protocol.on_publish(news(2))
    assert host.labels("drop") == ["no room"]
    host.advance(protocol, 60 * SECOND)
    protocol.on_publish_again(news(1, validity_us=40 * SECOND))
    assert protocol.table.is_held(news(1).id) and not protocol.table.is_held(news(2).id)
    host.advance(protocol, 61 * SECOND)
    host.hear(protocol, listing(7), 2)
    host.advance(protocol, 62 * SECOND)
    (each,) = [each for frame in host.frames("event") if isinstance(frame, Missing) for each in frame.carried]
    assert (each.event.id, each.event.validity_us) == (news(1).id, 40 * SECOND)
    assert SECOND <= each.age_us < 2 * SECOND, "its age counts from the time at which that much validity was left"
    other, _ = node()
    other.on_frame(Missing([each]), 1)
    assert other.table.is_held(news(1).id)
    host.advance(protocol, 99 * SECOND)
    assert protocol.table.is_held(news(1).id)
    host.advance(protocol, 105 * SECOND)
    assert news(1).id not in protocol.table.known


def test_publishing_an_event_twice_sends_it_once() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    protocol.on_publish(news(1))
    assert len(host.frames("event")) == 1


def test_memory_counts_events_and_neighbours() -> None:
    protocol, host = node()
    assert protocol.memory() == (0, 0)
    protocol.on_publish(news(1))
    host.hear(protocol, Summary(0, 0, 600, 600), 2)
    assert protocol.memory() == (2, news(1).size + 24 + 8)


@pytest.mark.parametrize("validity_us", [5 * SECOND, 1000 * SECOND, FOREVER])
def test_state_stays_bounded(validity_us: int) -> None:
    protocol, host = node(store=20, seen_limit=50)
    for n in range(1, 501):
        host.hear(protocol, EventFrame(news(n, validity_us), 0, 0), n)
        host.advance(protocol, host.clock_us + 100_000)
    table = protocol.table
    assert table.count <= 20
    assert len(table.known) <= 20 + 50
    assert len(table.seen) <= 50
    assert len(host.muted) <= 20 + 2 * 50
    assert len(protocol.neighbours.here) <= 256
    assert len(table.changes) <= 4 * (20 + 50)
    assert table.known.all() == sorted(set(table.known.all())) and len(table.known) == len(table.known.all())


def test_an_event_that_is_no_longer_known_is_neither_listed_nor_taken_again() -> None:
    protocol, host = node(store=1, seen_limit=2)
    protocol.on_subscribe(1, NEWS)
    for n in range(1, 6):
        host.hear(protocol, EventFrame(news(n), 0, 0), 2)
        host.advance(protocol, host.clock_us + SECOND)
        host.hear(protocol, DIFFERENT, 2)
        host.advance(protocol, host.clock_us + SECOND)
    assert host.frames("ids")[-1].spans() == [(news(3).id, news(5).id + 1)]
    host.hear(protocol, Missing([EventFrame(news(2), 0, 0)]), 2)
    assert [event.id for event in host.delivered] == [news(n).id for n in range(1, 6)]


def test_a_short_frame_that_claims_many_ids_costs_no_more_than_others() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, SECOND)
    frame = decode(Roam, encode(Roam, IdList(Summary(MOST, 7, 600, 600), 0, ID_MAX, [99, 1, MOST])))
    assert frame.size < 45
    tracemalloc.start()
    host.hear(protocol, frame, 2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000, "bytes, and not some for each of the ids"
    assert LIST in host.timers, "the sender knows events that this node has never seen"
    assert PUSH not in host.timers, "and it has the one that this node holds"


@settings(max_examples=40, deadline=None)
@given(plans(), st.sampled_from([{}, {"store": 2, "seen_limit": 4}, {"effort": 0.3}]))
def test_in_bad_weather_the_invariants_hold(plan: Any, params: dict[str, Any]) -> None:
    if params.get("seen_limit"):
        plan = replace(plan, duplication=0.0, loss=0.0)
    weather(Roam, plan, **params)


@settings(max_examples=20, deadline=None)
@given(plans())
def test_clocks_that_disagree_change_nothing(plan: Any) -> None:
    agreeing = weather(Roam, replace(plan, skew_us=0))
    skewed = weather(Roam, replace(plan, skew_us=86_400_000_000))
    assert [host.effects for host in agreeing.hosts] == [host.effects for host in skewed.hosts]


@settings(max_examples=20, deadline=None)
@given(plans())
def test_a_frame_is_never_changed_after_it_was_sent(plan: Any) -> None:
    for host in weather(Roam, plan).hosts:
        shown = [line for line in host.effects if line.startswith("broadcast")]
        assert shown == [f"broadcast {frame.kind} {frame.fields()}" for _, frame in host.sent]


def test_two_subscriptions_get_an_event_once() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    protocol.on_subscribe(2, NEWS)
    assert [event.id for event in host.delivered] == [news(1).id]


def test_what_is_sent_to_one_neighbour_makes_no_pause_for_the_next() -> None:
    """The first sending to the last neighbour gets lost; it is repeated as soon as that to the first one would be."""
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 3 * SECOND)
    for neighbour in range(2, 8):
        host.hear(protocol, listing(), neighbour)
        host.advance(protocol, host.clock_us + SECOND)
    sent = len(host.frames("event"))
    host.hear(protocol, listing(), 7)
    host.advance(protocol, host.clock_us + SECOND)
    assert len(host.frames("event")) == sent + 1


def test_two_differences_that_nobody_can_mend_get_their_pauses_apart() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    for _ in range(600):
        host.advance(protocol, host.clock_us + 100_000)
        host.hear(protocol, Summary(9, 5, 600, 300), 2)
        host.hear(protocol, Summary(9, 6, 600, 300), 3)
    assert 100 <= len(host.frames("ids")) <= 2 * (60 + 1)


def test_nothing_is_sent_to_a_neighbour_that_has_gone() -> None:
    protocol, host = node(frame_limit=64, burst=1)
    for n in range(1, 1000):
        protocol.on_publish(news(n))
    host.advance(protocol, 3 * SECOND)
    host.sent.clear()
    host.hear(protocol, listing(), 2)
    host.advance(protocol, 300 * SECOND)
    assert 10 < len([frame for frame in host.frames("event") if isinstance(frame, Missing)]) < 100


def test_what_a_list_makes_a_node_look_at_counts() -> None:
    """Its range is empty, and its window so wide that all known events are looked at."""
    protocol, host = node(compared=8000)
    for n in range(1, 1001):
        protocol.on_publish(news(n))
    host.advance(protocol, 60 * SECOND)
    wide = IdList(Summary(1, 1, 50_000, 300), 5, 4, [])
    for _ in range(5):
        host.hear(protocol, wide, 2)
    assert protocol.neighbours.compared == 1000, "its whole share, by the first of them"


def test_a_list_counts_the_ids_of_its_range() -> None:
    protocol, host = node()
    for n in range(1, 101):
        protocol.on_publish(news(n))
    host.advance(protocol, 10 * SECOND)
    part = IdList(Summary(9, 9, 600, 300), news(10).id, news(49).id, [0, 0, 40])
    host.hear(protocol, part, 2)
    assert protocol.neighbours.compared == 1 + 40 + 3


def test_a_table_that_takes_many_lists_is_compared_to_its_end() -> None:
    """Ids that do not follow one another, and no more work allowed than one table and its runs take."""
    protocol, host = node(compared=8 * 4_000, burst=100)
    for n in range(1, 2_001, 2):
        protocol.on_publish(news(n))
    host.advance(protocol, 10 * SECOND)
    known = [news(n).id for n in range(1, 2_001, 2) if n % 20 != 1]
    frames = id_lists(vec[i64](known), Summary(len(known), 7, 600, 300), 200)
    assert len(frames) > 10
    for frame in frames:
        host.hear(protocol, frame, 2)
    assert sorted(protocol.offers.waiting) == [news(n).id for n in range(1, 2_001, 20)]


def test_an_event_on_a_list_that_has_expired_here_is_no_news() -> None:
    protocol, host = node()
    protocol.on_publish(news(1, 5 * SECOND))
    protocol.on_publish(news(2))
    host.advance(protocol, 6 * SECOND)
    host.hear(protocol, listing(news(1).id, news(2).id), 2)
    assert LIST not in host.timers
    host.hear(protocol, listing(news(2).id, news(3).id), 2)
    assert LIST in host.timers


def test_a_list_that_waited_speaks_of_the_same_events() -> None:
    frame = listing(news(1).id, age_ms=600, left_ms=300)
    assert frame.later(0) is frame
    later = frame.later(200)
    assert (later.summary.age_ms, later.summary.left_ms, later.spans()) == (800, 100, frame.spans())
    assert frame.later(500).summary.left_ms == 0


def test_large_events_make_room_for_each_other_and_not_small_ones() -> None:
    protocol, host = node(store_kib=64)
    for n in range(1, 101):
        host.hear(protocol, EventFrame(Event(event_id(7, n), "news"), 0, 0), 2)
    for n in range(1, 11):
        host.hear(protocol, EventFrame(Event(event_id(8, n), "news", payload=bytes(10_000)), 0, 0), 2)
    held = [event.publisher for event in protocol.table.known.events if event is not None]
    assert (held.count(7), held.count(8)) == (100, 6)


@pytest.mark.parametrize("ms", [1 << 50, (1 << 63) - 1])
def test_a_summary_of_an_absurd_window_is_compared_like_any_other(ms: int) -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 60 * SECOND)
    protocol.on_frame(Summary(1, 1, ms, 0), 2)
    protocol.on_frame(Summary(1, 1, 0, ms), 2)
    for summary in (Summary(1, 1, ms, 0), Summary(1, 1, 0, ms)):
        assert len(protocol.table.known.within(protocol.lists.window_of(summary))) == 0


def test_looking_for_news_in_a_list_ends_after_some_ids_that_are_known_no_longer() -> None:
    protocol, _ = node()
    for n in range(LOOKED_AT + 1):
        protocol.remember(event_id(99, n + 1))
    assert not protocol.is_news(listing(*(event_id(99, n + 1) for n in range(LOOKED_AT))))
    assert protocol.is_news(listing(*(event_id(99, n + 1) for n in range(LOOKED_AT + 1)))), "there may be news"
