"""The three floodings of Baehni et al. 2005: events are stored and sent again every second."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols.flooding import (
    FILTERS_MAX,
    HEARTBEAT,
    TURN,
    FloodingInterest,
    FloodingNeighbors,
    FloodingPeriodic,
    HeartbeatFrame,
)
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import BROADCAST
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import EVERYTHING, topic
from roamcast.testing import ScriptHost, make
from tests.protocols.flooding_nodes import NEWS, SECOND_US, SPORT, every, node
from tests.pubsub.strategies import filters
from tests.support.storm import check_encoding

interested_only = pytest.mark.parametrize("variant", [FloodingInterest, FloodingNeighbors])


def news(sequence: int = 1, publisher: int = 7, **content: Any) -> Event:
    return Event(event_id(publisher, sequence), "news", **content)


def sent(host: ScriptHost) -> list[int]:
    return [frame.id for frame in host.frames("event")]


# ---- all three


@every
def test_a_matching_event_is_delivered_once_and_sent_every_second_while_it_is_valid(
    variant: type[FloodingPeriodic],
) -> None:
    protocol, host = node(variant, NEWS)
    host.draws = [0.25]
    event = news(validity_us=3 * SECOND_US)
    host.hear(protocol, EventFrame(event, 0, 500_000), 3)
    assert host.delivered == [event]
    assert host.sent == []
    host.advance(protocol, 10 * SECOND_US)
    ages = [frame.age_us for frame in host.frames("event") if isinstance(frame, EventFrame)]
    assert ages == [750_000, 1_750_000, 2_750_000]
    assert host.labels("forward") == ["periodic"] * 3
    assert host.labels("drop") == ["expired"]
    assert protocol.events == {}
    assert host.timers == {}


@every
def test_an_event_is_valid_until_its_last_microsecond(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    host.draws = [0.0, 0.0]
    host.hear(protocol, EventFrame(news(1, validity_us=SECOND_US), 0, 0), 3)
    host.hear(protocol, EventFrame(news(2, validity_us=SECOND_US + 1), 0, 0), 3)
    host.advance(protocol, SECOND_US)
    assert sent(host) == [news(1).id, news(2).id, news(2).id]


@every
def test_r1_the_turns_of_each_event_start_at_a_random_phase(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS, period_s=2.0)
    host.draws = [0.1, 0.75]
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    host.hear(protocol, EventFrame(news(2), 0, 0), 3)
    assert [held.due_us for held in protocol.events.values()] == [200_000, 1_500_000]
    assert host.timers == {TURN: 200_000}
    host.advance(protocol, 2_300_000)
    assert sent(host) == [news(1).id, news(2).id, news(1).id]


@every
def test_r1_common_turns_come_when_the_clock_shows_a_whole_number_of_periods(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS, period_s=2.0, phase="common", jitter_ms=0.0)
    host.clock_us = 6_100_000
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    host.clock_us = 7_900_000
    host.hear(protocol, EventFrame(news(2), 0, 0), 3)
    assert [held.due_us for held in protocol.events.values()] == [8 * SECOND_US] * 2
    host.advance(protocol, 11 * SECOND_US)
    assert [(frame.id, frame.fields()[1]) for frame in host.frames("event")] == [
        (news(1).id, 1_900_000),
        (news(2).id, 100_000),
        (news(1).id, 3_900_000),
        (news(2).id, 2_100_000),
    ]


@every
def test_r1_on_a_common_tick_and_after_a_late_timer_the_next_turn_is_the_next_tick(
    variant: type[FloodingPeriodic],
) -> None:
    protocol, host = node(variant, NEWS, phase="common", jitter_ms=0.0)
    host.clock_us = 3 * SECOND_US
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    assert protocol.events[news(1).id].due_us == 4 * SECOND_US
    host.clock_us = 4_300_000
    protocol.on_timer(TURN)
    assert (sent(host), protocol.events[news(1).id].due_us) == ([news(1).id], 5 * SECOND_US)


@every
def test_r1_a_publisher_sends_at_once_and_then_at_common_ticks(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS, phase="common", jitter_ms=0.0)
    host.clock_us = 300_000
    protocol.on_publish(news(1, 0))
    host.advance(protocol, 2 * SECOND_US)
    assert [frame.fields()[1] for frame in host.frames("event")] == [0, 700_000, 1_700_000]


@every
def test_r1_each_sending_at_a_common_tick_has_a_random_part(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS, phase="common", jitter_ms=20.0)
    host.draws = [0.5, 0.25, 0.1, 0.9]
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    host.hear(protocol, EventFrame(news(2), 0, 0), 3)
    host.advance(protocol, 3 * SECOND_US - 1)
    sendings = [(frame.id, frame.fields()[1]) for frame in host.frames("event")]
    assert sendings == [
        (news(2).id, 1_005_000),
        (news(1).id, 1_010_000),
        (news(2).id, 2_002_000),
        (news(1).id, 2_018_000),
    ]


@every
@pytest.mark.parametrize("subscriptions", [[], [SPORT], [NEWS]])
def test_r2_a_publisher_sends_at_once_and_then_every_second_whatever_its_subscriptions(
    variant: type[FloodingPeriodic], subscriptions: list[Any]
) -> None:
    protocol, host = node(variant, *subscriptions)
    protocol.on_publish(news())
    assert sent(host) == [news().id]
    host.advance(protocol, 2 * SECOND_US)
    assert sent(host) == [news().id] * 3
    assert [frame.fields()[1] for frame in host.frames("event")] == [0, SECOND_US, 2 * SECOND_US]
    assert host.delivered == []


@every
def test_an_event_that_has_expired_is_neither_delivered_nor_held(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    host.hear(protocol, EventFrame(news(validity_us=1000), 0, 1000), 3)
    assert host.delivered == []
    assert host.notes == [("drop", "expired", news().id, 3, 0)]
    assert protocol.events == {}
    assert host.timers == {}


@every
def test_a_second_copy_changes_nothing(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    before = (dict(host.timers), protocol.events[news().id].age_us)
    host.hear(protocol, EventFrame(news(), 0, 5), 4)
    assert (dict(host.timers), protocol.events[news().id].age_us) == before
    assert len(host.delivered) == 1


@every
def test_turns_come_in_time_and_at_one_instant_in_the_order_they_were_set(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    host.draws = [0.5, 0.25, 0.5, 0.25]
    for k in (1, 2, 3, 4):
        host.hear(protocol, EventFrame(news(k), 0, 0), 3)
    host.advance(protocol, SECOND_US + SECOND_US // 2)
    assert sent(host) == [news(k).id for k in (2, 4, 1, 3, 2, 4, 1, 3)]


@every
def test_after_a_late_timer_turns_are_made_up_and_an_early_timer_does_nothing(
    variant: type[FloodingPeriodic],
) -> None:
    protocol, host = node(variant, NEWS)
    host.draws = [0.5, 0.25]
    for k in (1, 2):
        host.hear(protocol, EventFrame(news(k), 0, 0), 3)
    protocol.on_timer(TURN)
    assert (sent(host), host.timers[TURN]) == ([], SECOND_US // 4)
    host.clock_us = 2 * SECOND_US
    protocol.on_timer(TURN)
    assert (sent(host), host.timers[TURN]) == ([news(2).id, news(1).id], 3 * SECOND_US)


@every
def test_an_event_that_the_host_hands_up_twice_has_one_turn(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS, store=1)
    for _ in range(2):
        protocol.on_frame(EventFrame(news(), 0, 0), 3)
    assert ([held.event.id for held in protocol.turns.waiting()], host.labels("drop")) == ([news().id], [])


@every
def test_an_event_that_was_never_valid_is_not_held(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    protocol.on_publish(news(1, 0, validity_us=0))
    assert (protocol.events, host.timers, host.labels("drop")) == ({}, {}, ["expired"])


@every
def test_a_full_store_drops_the_oldest_event(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS, store=2)
    for k in (1, 2, 3):
        host.hear(protocol, EventFrame(news(k), 0, 0), 3)
    protocol.on_publish(news(4, 0))
    kept = [news(3).id, news(4, 0).id]
    assert list(protocol.events) == kept
    assert {held.event.id for held in protocol.turns.waiting()} == {*kept}
    assert [note[:3] for note in host.notes if note[0] == "drop"] == [
        ("drop", "store full", news(1).id),
        ("drop", "store full", news(2).id),
    ]


@every
def test_events_in_tables_that_survive_a_crash_are_sent_again_at_a_new_phase(
    variant: type[FloodingPeriodic],
) -> None:
    protocol, host = node(variant, NEWS)
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    host.hear(protocol, EventFrame(news(2, validity_us=5 * SECOND_US), 0, 0), 3)
    host.timers.clear()
    host.clock_us = 10 * SECOND_US
    host.draws = [0.25, 0.5, 0.75]
    protocol.on_start()
    assert [protocol.events[news(k).id].due_us - host.clock_us for k in (1, 2)] == [250_000, 500_000]
    host.advance(protocol, 11 * SECOND_US - 1)
    assert [frame.fields()[1] for frame in host.frames("event")] == [10_250_000]
    assert list(protocol.events) == [news(1).id]


@every
def test_memory_counts_stored_events(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    neighbours = (1, 12) if variant is FloodingNeighbors else (0, 0)
    assert protocol.memory() == neighbours
    for k in (1, 2):
        host.hear(protocol, EventFrame(news(k), 0, 0), 3)
    assert protocol.memory() == (neighbours[0] + 2, neighbours[1] + news(1).size + news(2).size)


# ---- differences


def test_periodic_stores_and_sends_events_that_match_no_subscription_here() -> None:
    protocol, host = node(FloodingPeriodic, SPORT)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    host.advance(protocol, 3 * SECOND_US)
    assert sent(host) == [news().id] * 3
    assert host.delivered == []


@interested_only
def test_r3_an_event_that_matches_no_subscription_here_is_dropped(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, SPORT)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    assert host.notes == [("drop", "not interested", news().id, 3, 0)]
    host.advance(protocol, 3 * SECOND_US)
    assert (protocol.events, host.timers, host.frames("event"), host.delivered) == ({}, {}, [], [])


@interested_only
def test_r3_an_event_that_no_longer_matches_is_dropped_at_its_next_turn(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    host.advance(protocol, SECOND_US)
    protocol.on_unsubscribe(0)
    host.advance(protocol, 3 * SECOND_US)
    assert sent(host) == [news().id]
    assert host.labels("drop") == ["not interested"]
    assert (protocol.events, host.timers) == ({}, {})


def test_interest_sends_without_an_interested_neighbour() -> None:
    protocol, host = node(FloodingInterest, NEWS)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    host.advance(protocol, SECOND_US)
    assert sent(host) == [news().id]


def neighbors(*subscriptions: Any, **params: Any) -> tuple[FloodingNeighbors, ScriptHost]:
    protocol, host = make(FloodingNeighbors, **params)
    assert isinstance(protocol, FloodingNeighbors)
    for k, filter in enumerate(subscriptions):
        protocol.on_subscribe(k, filter)
    return protocol, host


@pytest.mark.parametrize("heard, sends", [([], False), ([SPORT], False), ([NEWS], True), ([SPORT, NEWS], True)])
def test_neighbors_sends_only_if_a_neighbour_is_interested_too(heard: list[Any], sends: bool) -> None:
    protocol, host = neighbors(NEWS)
    protocol.on_frame(HeartbeatFrame([]), 4)
    protocol.on_frame(HeartbeatFrame(heard), 5)
    host.draws = [0.5]
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    host.advance(protocol, SECOND_US)
    assert bool(sent(host)) is sends
    assert host.labels("suppress") == ([] if sends else ["no interested neighbour"])


def test_r2_a_publisher_without_an_interested_neighbour_waits_for_one() -> None:
    protocol, host = neighbors()
    protocol.on_publish(news())
    host.advance(protocol, 2_500_000)
    assert sent(host) == []
    assert host.labels("suppress") == ["no interested neighbour"] * 3
    host.hear(protocol, HeartbeatFrame([NEWS]), 4)
    host.advance(protocol, 3 * SECOND_US)
    assert sent(host) == [news().id]


@pytest.mark.parametrize("after_us, known", [(5_000_000, True), (5_000_001, False)])
def test_a_neighbour_is_forgotten_after_the_given_number_of_missed_heartbeats(after_us: int, known: bool) -> None:
    protocol, host = neighbors(heartbeat_s=2.0, forget=2.5)
    host.hear(protocol, HeartbeatFrame([NEWS]), 4)
    host.clock_us = after_us
    protocol.on_publish(news())
    assert bool(sent(host)) is known
    assert bool(protocol.neighbours) is known


def test_a_neighbour_that_is_heard_again_is_kept_with_its_new_subscriptions() -> None:
    protocol, host = neighbors()
    host.hear(protocol, HeartbeatFrame([NEWS]), 4)
    host.clock_us = 2 * SECOND_US
    host.hear(protocol, HeartbeatFrame([SPORT]), 4)
    host.clock_us = 4 * SECOND_US
    protocol.on_publish(news())
    protocol.on_publish(Event(event_id(0, 2), "sport"))
    assert sent(host) == [event_id(0, 2)]


def test_heartbeats_name_the_subscriptions_and_start_at_a_random_phase() -> None:
    protocol, host = neighbors(NEWS, heartbeat_s=2.0)
    host.draws = [0.25]
    protocol.on_start()
    assert host.timers == {HEARTBEAT: 500_000}
    host.advance(protocol, SECOND_US)
    protocol.on_subscribe(5, SPORT)
    protocol.on_unsubscribe(0)
    host.advance(protocol, 3 * SECOND_US)
    assert [frame.fields() for frame in host.frames("heartbeat")] == [[[NEWS.fields()]], [[SPORT.fields()]]]
    assert host.timers == {HEARTBEAT: 4_500_000}


@every
def test_r4_frames_have_the_sizes_of_the_paper_whatever_they_contain(variant: type[FloodingPeriodic]) -> None:
    """§5.2: a heartbeat 50 bytes, an event 400."""
    protocol, host = node(variant, NEWS, SPORT, sizes="paper")
    for payload in (b"", b"x" * 500):
        protocol.on_publish(news(len(payload), 0, payload=payload))
    assert [frame.size for frame in host.frames("event")] == [400, 400]
    if isinstance(protocol, FloodingNeighbors):
        protocol.on_timer(HEARTBEAT)
        assert [frame.size for frame in host.frames("heartbeat")] == [50]


@pytest.mark.parametrize("copies, times", [("one", 1), ("each", 2)])
def test_r5_an_event_is_sent_once_for_all_neighbours_or_once_for_each_that_is_interested(
    copies: str, times: int
) -> None:
    protocol, host = neighbors(NEWS, copies=copies)
    for neighbour, wanted in enumerate([NEWS, SPORT, NEWS]):
        protocol.on_frame(HeartbeatFrame([wanted]), neighbour)
    protocol.on_publish(news(1, 0))
    assert [to for to, _ in host.sent] == [BROADCAST] * times
    assert sent(host) == [news(1, 0).id] * times
    assert host.labels("forward") == ["periodic"]


@pytest.mark.parametrize("variant", [FloodingPeriodic, FloodingInterest])
def test_the_other_variants_send_no_heartbeats(variant: type[FloodingPeriodic]) -> None:
    protocol, host = node(variant, NEWS)
    protocol.on_start()
    host.advance(protocol, 10 * SECOND_US)
    assert host.effects == []


def test_silent_neighbours_are_forgotten_also_without_events() -> None:
    protocol, host = neighbors()
    protocol.on_start()
    for stranger in range(100):
        host.hear(protocol, HeartbeatFrame([NEWS]), stranger)
    host.advance(protocol, 4 * SECOND_US)
    assert protocol.neighbours == {}


def test_a_node_with_more_subscriptions_than_a_heartbeat_can_name_sends_a_filter_for_everything() -> None:
    protocol, host = neighbors(*(topic(f"t{k}") for k in range(FILTERS_MAX)))
    protocol.on_timer(HEARTBEAT)
    protocol.on_subscribe(FILTERS_MAX, NEWS)
    protocol.on_timer(HEARTBEAT)
    whole, summary = host.frames("heartbeat")
    check_encoding(FloodingNeighbors, whole)
    assert len(whole.fields()[0]) == FILTERS_MAX
    assert summary.fields() == [[EVERYTHING.fields()]]


@settings(max_examples=50)
@given(st.lists(filters, max_size=20))
def test_a_heartbeat_states_its_size_and_is_decoded_unchanged(wanted: list[Any]) -> None:
    check_encoding(FloodingNeighbors, HeartbeatFrame(wanted))


@pytest.mark.parametrize("fields", [[], [None], [[[99]]], [[1]], [[], []], [[[0]] * (FILTERS_MAX + 1)]])
def test_invalid_fields_of_a_heartbeat_are_malformed(fields: list[Any]) -> None:
    with pytest.raises(Malformed):
        HeartbeatFrame.from_fields(fields)
