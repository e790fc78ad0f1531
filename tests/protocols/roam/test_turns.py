"""Repairs take turns (M17)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.roam.frames import IdList, Missing, Summary
from roamcast.protocols.roam.lists import LEFT_OUT
from roamcast.protocols.roam.pace import RoamParams
from roamcast.protocols.roam.protocol import LIST, Roam
from roamcast.pubsub.event import event_id
from roamcast.testing import ScriptHost
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.protocols.roam.nodes import DIFFERENT, SECOND, listing, news, node


def lists(host: ScriptHost) -> int:
    return sum(isinstance(frame, IdList) for _, frame in host.sent)


def knowing(**params: object) -> tuple[Roam, ScriptHost]:
    """A node that knows an event that is old enough for lists, and was asked for one before."""
    protocol, host = node(**params)
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, DIFFERENT, 2)
    host.advance(protocol, host.clock_us + SECOND)
    assert lists(host) == 1
    return protocol, host


def differ(protocol: Roam, host: ScriptHost, count: int) -> None:
    """A neighbour's summary differs in another way than the ones before."""
    host.hear(protocol, Summary(9, 1000 + count, 600, 300), 2)


def repair(protocol: Roam, host: ScriptHost, n: int) -> None:
    host.hear(protocol, Missing([EventFrame(news(n), 0, 0)]), 3)


@pytest.mark.parametrize(("turns", "sent"), [(True, 1), (False, 2)])
def test_a_list_is_left_out_if_another_node_sends_one_first(turns: bool, sent: int) -> None:
    protocol, host = knowing(turns=turns)
    differ(protocol, host, 1)
    host.hear(protocol, listing(news(1).id), 3)
    host.advance(protocol, host.clock_us + SECOND // 4)
    assert lists(host) == sent


def test_a_list_that_has_news_is_answered_after_it() -> None:
    protocol, host = knowing()
    differ(protocol, host, 1)
    before_us = host.timers[LIST]
    host.draws = [0.99]
    host.hear(protocol, listing(news(1).id, event_id(7, 7), event_id(7, 8)), 3)
    assert host.timers[LIST] > before_us


def test_no_list_is_sent_while_missing_events_are_being_sent() -> None:
    protocol, host = knowing()
    for n in range(2, 6):
        differ(protocol, host, n)
        repair(protocol, host, n)
        assert LIST in host.timers
        host.advance(protocol, host.clock_us + protocol.pace.pause_us - 1)
    assert lists(host) == 1
    host.advance(protocol, host.clock_us + 1)
    differ(protocol, host, 9)
    host.advance(protocol, host.clock_us + SECOND // 4)
    assert lists(host) == 2


def test_a_node_that_has_sent_no_list_waits_for_nobody() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    differ(protocol, host, 1)
    repair(protocol, host, 2)
    host.hear(protocol, listing(news(1).id), 3)
    host.advance(protocol, host.clock_us + protocol.pace.pause_us - 1)
    assert lists(host) == 1


def test_wrong_lists_do_not_keep_a_node_silent_for_ever() -> None:
    protocol, host = knowing()
    end_us = host.clock_us + protocol.pace.gone_us + SECOND
    n = 2
    while host.clock_us < end_us:
        differ(protocol, host, n)
        host.hear(protocol, listing(news(1).id), 3)
        host.advance(protocol, host.clock_us + SECOND // 20)
        n += 1
    assert lists(host) == 2


def test_nobody_waits_for_ever_for_others_to_be_repaired() -> None:
    protocol, host = knowing()
    end_us = host.clock_us + protocol.pace.gone_us
    n = 2
    while host.clock_us < end_us:
        differ(protocol, host, n)
        repair(protocol, host, n)
        host.advance(protocol, host.clock_us + SECOND // 10)
        n += 1
    assert lists(host) == 2


def test_the_rest_of_a_long_list_is_sent_whatever_is_repaired_or_listed() -> None:
    protocol, host = node(frame_limit=64, burst=1)
    for n in range(1, 120, 2):
        protocol.hold(news(n), 0, 0)
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, DIFFERENT, 2)
    while lists(host) == 0:
        host.advance(protocol, host.clock_us + 10_000)
    repair(protocol, host, 200)
    host.hear(protocol, listing(news(1).id), 2)
    host.advance(protocol, host.clock_us + protocol.pace.pause_us)
    assert lists(host) == 2


def test_the_rest_of_a_long_list_keeps_its_pause_whatever_differs_meanwhile() -> None:
    """So that others get the medium in between."""
    protocol, host = node(frame_limit=64, burst=1)
    for n in range(1, 120, 2):
        protocol.hold(news(n), 0, 0)
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, DIFFERENT, 2)
    sent_us: list[int] = []
    while not sent_us or protocol.lists.left:
        differ(protocol, host, len(host.sent))
        host.advance(protocol, host.clock_us + 10_000)
        sent_us += [host.clock_us] * (lists(host) - len(sent_us))
    assert len(sent_us) > 3
    assert {later - earlier for earlier, later in pairwise(sent_us)} == {protocol.pace.pause_us}


class Slow(ScriptHost):
    def airtime(self, size: int) -> int:
        return 1000 * size


def test_short_lists_leave_most_of_the_medium_to_others() -> None:
    """However often a neighbour differs: one that sends little must not make others send much."""
    host = Slow()
    protocol = Roam(host, RoamParams(answer_ms=0.0, answer=0.0))
    protocol.on_start()
    for n in range(1, 100, 2):
        protocol.hold(news(n), 0, 0)
    host.advance(protocol, 20 * SECOND)
    host.sent.clear()
    for k in range(400):
        differ(protocol, host, k)
        host.advance(protocol, host.clock_us + 50_000)
    air_us = sum(host.airtime(frame.size) for _, frame in host.sent if isinstance(frame, IdList))
    assert 0 < air_us <= 0.3 * 400 * 50_000


def test_a_neighbour_that_says_the_same_again_and_again_does_not_keep_a_node_silent_for_ever() -> None:
    """Somebody who does not hear that neighbour may wait for the list."""
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 2 * SECOND)
    for n in range(LEFT_OUT + 1):
        assert lists(host) == 0
        differ(protocol, host, n)
        assert LIST in host.timers
        count, digest = protocol.table.summary(protocol.lists.window_of(DIFFERENT))
        host.hear(protocol, IdList(Summary(count, digest, 600, 300), 0, 0, []), 3)
        assert (LIST in host.timers) is (n == LEFT_OUT)
    host.advance(protocol, host.clock_us + SECOND // 5)
    assert lists(host) == 1


def test_taking_turns_delivers_more_for_less_where_far_more_is_lost_than_can_be_repaired_at_once() -> None:
    alarm = Scenario(
        nodes=30,
        width_m=400.0,
        height_m=400.0,
        range_m=140.0,
        rate_bps=250_000.0,
        loss=0.2,
        mobility="static",
        publishers=15,
        subscribers=30,
        events=400,
        publish_until_s=4.0,
        validity_s=40.0,
        duration_s=45.0,
    )
    together, taken_turns = (simulate(alarm, "roam", {"turns": turns}, seed=1).metrics for turns in (False, True))
    assert taken_turns["deliveries"] > together["deliveries"]
    assert taken_turns["airtime_s_per_hour"] < 0.7 * together["airtime_s_per_hour"]
