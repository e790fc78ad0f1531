"""Baldoni et al. 2005, content-based routing in highly dynamic MANETs: the readings, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.protocols.proximity.frames import Message
from roamcast.protocols.proximity.protocol import Proximity
from roamcast.pubsub.filters import topic
from roamcast.testing import make
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.paper.baldoni_nodes import (
    DELAY_US,
    INTERVAL_US,
    LATE_US,
    NEWS,
    broker,
    message,
    met,
    news,
    proximity,
    sent,
    sent_after,
)


def test_r1_a_message_received_for_the_first_time_does_not_return_early() -> None:
    """As indented in Fig. 3, `return` would end the procedure for every message."""
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    met(protocol, 4, missed=1)
    host.hear(protocol, message(), 1)
    assert len(host.delivered) == 1
    assert sent_after(protocol, host) is not None


def test_r2_a_closer_broker_whose_predicate_does_not_match_is_no_reason_to_send() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=0, predicate=topic("sport"))
    host.hear(protocol, message({4: 900}), 1)
    assert sent_after(protocol, host) is None


def test_r3_the_publishing_broker_transmits_at_once_with_the_list_of_its_own_table() -> None:
    protocol, host = broker(credits=2)
    met(protocol, 4, missed=9)
    met(protocol, 5, missed=3)
    met(protocol, 6, missed=0, predicate=topic("sport"))
    protocol.on_publish(news(publisher=0))
    assert [(frame.destinations, frame.credit) for frame in sent(host)] == [({4: 900, 5: 300}, 2)]
    assert host.timers == {}


def test_r3_the_publishing_broker_transmits_even_when_its_table_is_empty() -> None:
    protocol, host = broker()
    protocol.on_publish(news(publisher=0))
    assert [frame.destinations for frame in sent(host)] == [{}]


def test_r3_the_publishing_broker_is_on_the_list_if_it_subscribed_and_ignores_copies_of_its_message() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    event = news(publisher=0)
    protocol.on_publish(event)
    assert sent(host)[0].destinations == {0: 0}
    protocol.on_frame(message(event=event), 3)
    assert host.delivered == []


@pytest.mark.parametrize("max_delay_s", [0.1, 0.5, 2.0])
def test_r4_the_delay_at_proximity_one_is_a_parameter(max_delay_s: float) -> None:
    protocol, host = broker(max_delay_s=max_delay_s)
    met(protocol, 4, missed=10)
    host.hear(protocol, message(), 1)
    assert host.timers[news().id] - LATE_US == round(max_delay_s * 1_000_000)


def test_r5_beacons_start_at_a_random_phase() -> None:
    for draw in (0.0, 0.25, 0.999):
        protocol, host = broker()
        host.draws = [draw]
        protocol.on_start()
        assert host.timers[0] - LATE_US == int(draw * INTERVAL_US)


@pytest.mark.parametrize(
    ("beaconers", "subscribes", "beacons"), [("all", False, 3), ("all", True, 3), ("subscribers", True, 3)]
)
def test_r6_brokers_that_beacon(beaconers: str, subscribes: bool, beacons: int) -> None:
    protocol, host = broker(beaconers=beaconers)
    if subscribes:
        protocol.on_subscribe(1, NEWS)
    protocol.on_start()
    host.advance(protocol, LATE_US + 3 * INTERVAL_US - 1)
    assert len(host.frames("beacon")) == beacons


def test_r6_with_subscribers_only_a_broker_without_subscriptions_sends_no_beacons_but_cleans_up() -> None:
    protocol, host = broker(beaconers="subscribers")
    met(protocol, 4, missed=0)
    protocol.on_start()
    host.advance(protocol, LATE_US + 12 * INTERVAL_US)
    assert host.frames("beacon") == []
    assert len(protocol.pt) == 0


def test_r6_a_broker_that_subscribes_later_joins_the_beaconers() -> None:
    protocol, host = broker(beaconers="subscribers")
    protocol.on_start()
    host.advance(protocol, LATE_US + INTERVAL_US)
    protocol.on_subscribe(1, NEWS)
    host.advance(protocol, LATE_US + 2 * INTERVAL_US)
    protocol.on_unsubscribe(1)
    host.advance(protocol, LATE_US + 5 * INTERVAL_US)
    assert len(host.frames("beacon")) == 1


@pytest.mark.parametrize(("range_per", "steady"), [("node", True), ("frame", False)])
def test_r7_the_random_range_is_drawn_for_each_node_or_for_each_frame(range_per: Any, steady: bool) -> None:
    """Two nodes stand still: with one range for a node, either all messages arrive or none."""
    deliveries = []
    for seed in range(1, 13):
        scenario = Scenario(
            nodes=2,
            width_m=200.0,
            height_m=1.0,
            duration_s=20.0,
            mobility="static",
            range_m=1.0,
            range_max_m=200.0,
            range_per=range_per,
            mac="dcf",
            publishers=1,
            subscribers=1,
        )
        metrics = simulate(scenario, "proximity", {"beaconers": "subscribers"}, seed).metrics
        if metrics["interested"]:
            deliveries.append(metrics["delivery"])
    assert len(deliveries) > 4
    assert all(share in (0, 1) for share in deliveries) is steady
    assert any(share > 0 for share in deliveries)


def test_r8_a_random_part_separates_brokers_of_equal_proximity_and_a_closer_one_still_goes_first() -> None:
    """With the defaults: one missed beacon is 10 ms of delay, and the random part stays below it."""
    latest = []
    for missed in (0, 1):
        for draw in (0.0, 0.5, 0.999):
            protocol, host = broker(max_delay_s=0.1, jitter_ms=10.0)
            host.draws = [draw]
            met(protocol, 4, missed)
            host.hear(protocol, message(), 1)
            latest.append(host.timers[news().id] - LATE_US)
    assert latest == sorted(latest)
    assert latest[1] == 5_000
    assert latest[2] < 10_000 == latest[3]


def test_r8_the_default_jitter_is_one_missed_beacon_of_delay() -> None:
    protocol, _ = make(Proximity)
    assert isinstance(protocol, Proximity)
    assert protocol.params.jitter_ms == 1000 * protocol.params.max_delay_s / protocol.params.table_age


def test_r9_a_beacon_counts_as_missed_after_a_whole_interval_up_to_ten_beacons() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=0)
    host.clock_us += INTERVAL_US - 1
    assert proximity(protocol, 4) == 0
    host.clock_us += 1
    assert proximity(protocol, 4) == 100
    host.clock_us += 40 * INTERVAL_US
    assert proximity(protocol, 4) == 1000


def test_r10_an_expired_message_is_neither_delivered_nor_sent() -> None:
    for age_us, arrives in ((999_999, True), (1_000_000, False)):
        protocol, host = broker()
        protocol.on_subscribe(1, NEWS)
        met(protocol, 4, missed=0)
        host.hear(protocol, Message(news(validity_us=1_000_000), 0, {}, age_us), 1)
        assert bool(host.delivered) is arrives
        assert bool(host.timers) is arrives
        assert host.labels("drop") == ([] if arrives else ["expired"])


def test_r10_a_message_that_expires_while_it_waits_is_not_sent() -> None:
    for validity_us in (500_000, 500_001):
        protocol, host = broker()
        met(protocol, 4, missed=5)
        host.hear(protocol, message(event=news(validity_us=validity_us)), 1)
        host.advance(protocol, LATE_US + DELAY_US)
        assert len(sent(host)) == validity_us - 500_000
        assert host.labels("drop") == (["expired"] if validity_us == 500_000 else [])


def test_r10_a_message_ages_while_it_waits() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=5)
    host.hear(protocol, Message(news(validity_us=60_000_000), 0, {}, 1234), 1)
    host.advance(protocol, LATE_US + DELAY_US)
    assert sent(host)[0].age_us == 1234 + DELAY_US // 2
