"""Details of comparing and answering, each of which a small mistake would break."""

from __future__ import annotations

import pytest

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.roam.frames import Missing, Summary
from roamcast.protocols.roam.pace import Pace, RoamParams
from roamcast.protocols.roam.protocol import LIST, PUSH, SUMMARY
from roamcast.pubsub.event import event_id
from roamcast.testing import ScriptHost
from tests.protocols.roam.nodes import DIFFERENT, NEWS, SECOND, listing, news, node


def test_m3_a_difference_makes_intervals_short_once() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 20 * SECOND)
    assert protocol.trickle.interval_us > protocol.pace.shortest_us
    host.hear(protocol, DIFFERENT, 2)
    assert protocol.trickle.interval_us == protocol.pace.shortest_us
    host.advance(protocol, host.clock_us + 5 * SECOND)
    assert protocol.trickle.interval_us > protocol.pace.shortest_us
    host.hear(protocol, DIFFERENT, 2)
    assert protocol.trickle.interval_us > protocol.pace.shortest_us, "it has been listed"


def test_m5_pauses_begin_anew_after_a_long_time_without_a_sending() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    for _ in range(3):
        host.hear(protocol, listing(), 2)
        host.advance(protocol, host.clock_us + 4 * SECOND)
    sendings = protocol.table.sendings[news(1).id]
    assert sendings.pushes == 3
    host.clock_us += 3 * SECOND
    host.hear(protocol, listing(), 2)
    host.advance(protocol, host.clock_us + SECOND)
    assert sendings.pushes == 1


def test_m10_summaries_count_as_work_too() -> None:
    protocol, host = node(compared=80)
    for n in range(1, 10):
        protocol.on_publish(news(n))
    host.advance(protocol, 700_000)
    for k in range(3):
        host.hear(protocol, Summary(1, 100 + k, 600, 300), 2)
        assert (LIST in host.timers) is (k == 0)
        protocol.lists.cancel()


def test_m8_an_event_that_is_published_again_is_muted() -> None:
    protocol, host = node()
    protocol.on_publish_again(news(1))
    assert news(1).id in host.muted


def test_after_a_crash_all_neighbours_are_new() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, DIFFERENT, 2)
    host.advance(protocol, host.clock_us + SECOND // 5)
    host.hear(protocol, listing(), 2)
    assert 2 in protocol.neighbours.nodes and protocol.lists.differences and protocol.offers.waiting
    protocol.on_start()
    assert not protocol.neighbours.here and not protocol.lists.differences and not protocol.offers.waiting


@pytest.mark.parametrize(("heard", "kind"), [(DIFFERENT, "ids"), (listing(7), "event")])
def test_a_node_that_crashes_while_it_is_about_to_answer_answers_the_next_time(heard: Frame, kind: str) -> None:
    """Its timers are gone, and its tables are not."""
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    host.sent.clear()
    host.hear(protocol, heard, 2)
    host.timers.clear()
    protocol.on_start()
    host.clock_us += SECOND
    host.hear(protocol, heard, 2)
    host.advance(protocol, host.clock_us + SECOND // 5)
    assert host.frames(kind)


def test_a_neighbour_that_differs_again_and_again_does_not_put_off_the_list() -> None:
    protocol, host = node(answer_ms=1000.0)
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    for k in range(40):
        host.draws.append(0.5)
        host.hear(protocol, Summary(3, 1000 + k, 600, 300), 2)
        host.advance(protocol, host.clock_us + 50_000)
    assert host.frames("ids")


def test_m6_a_late_subscription_does_not_get_what_has_expired() -> None:
    protocol, host = node()
    host.hear(protocol, EventFrame(news(1, validity_us=5 * SECOND), 0, 0), 2)
    host.clock_us = 6 * SECOND
    protocol.on_subscribe(1, NEWS)
    assert host.delivered == []


@pytest.mark.parametrize(("neighbours", "delay_ms"), [(0, 40), (12, 40), (24, 80), (60, 200), (250, 250)])
def test_m13_delays_of_the_flood_grow_with_the_neighbours_and_stay_below_what_is_young(
    neighbours: int, delay_ms: int
) -> None:
    pace = Pace(ScriptHost(), RoamParams())
    assert pace.delay_us(10, neighbours) == 1000 * delay_ms


def test_m13_delays_follow_the_neighbours_that_are_here() -> None:
    protocol, host = node()
    for k in range(36):
        host.hear(protocol, DIFFERENT, 2 + k)
    host.draws = [0.5]
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    assert host.timers[news(1).id] == 60_000


def test_a_missing_event_that_another_node_sends_is_not_sent_twice() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, listing(event_id(7, 7)), 2)
    assert PUSH in host.timers
    host.muted.clear()
    host.hear(protocol, Missing([EventFrame(news(1), 0, 0)]), 3)
    host.sent.clear()
    host.advance(protocol, host.timers[PUSH])
    assert [frame.kind for _, frame in host.sent if frame.kind == "event"] == []
    assert SUMMARY in host.timers
