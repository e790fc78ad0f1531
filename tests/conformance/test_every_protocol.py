"""Every registered protocol runs unchanged on both drivers: each interested node gets each event once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roamcast.log import schema
from roamcast.protocols import registry
from roamcast.pubsub.event import FOREVER, GLOBAL
from roamcast.pubsub.filters import Filter, topic
from roamcast.world.kernel import PlannedPublication, Subscription
from tests.conformance.real import MULTICAST, Real
from tests.conformance.simulated import Kind, build
from tests.support.sinks import MemorySink

PLACES = [0.0, 0.4, 0.8, 1.2]
"""The ends do not hear each other."""
PUBLISHER, SUBSCRIBERS = 0, [1, 3]
REACHED = {"psamanet": [1]}
"""The nodes that events reach although no node moves: with psamanet, movement carries most events."""
SETTLE_S = 120
AFTER_S = 60
SUBSCRIPTIONS: list[tuple[int, Filter]] = [(i, topic("news")) for i in SUBSCRIBERS]

Deliveries = list[tuple[int, int]]
"""(node, event)"""


def simulated(protocol: str) -> Deliveries:
    sink = MemorySink()
    world = build(Kind("dcf", "disc"), PLACES, sink, 0.0)
    chosen = registry.get(protocol)
    world.populate(chosen, chosen.params_class(), [Subscription(i, 1, f) for i, f in SUBSCRIPTIONS])
    world.planned += [
        PlannedPublication(t_s * 1_000_000, PUBLISHER, name, {}, b"x", FOREVER, GLOBAL)
        for t_s, name in [(SETTLE_S, "news"), (SETTLE_S + 1, "sport")]
    ]
    world.start()
    world.run((SETTLE_S + AFTER_S) * 1_000_000)
    return [(row[1], row[3]) for row in sink.rows if row[2] == schema.DELIVER]


def real(protocol: str) -> Deliveries:
    chosen = registry.get(protocol)
    driver = Real(MULTICAST, PLACES, SUBSCRIPTIONS, protocol=chosen, params=chosen.params_class())
    driver.run(SETTLE_S)
    driver.publish_event(PUBLISHER, "news", {}, payload=b"x")
    driver.run(1)
    driver.publish_event(PUBLISHER, "sport", {}, payload=b"x")
    driver.run(AFTER_S)
    driver.check()
    assert all(runner.tally.drops().keys() <= {"not for us"} for runner in driver.runners)
    return [(row[1], row[3]) for row in driver.sink.rows if row[2] == schema.DELIVER]


@pytest.mark.parametrize("protocol", registry.names())
@pytest.mark.parametrize("driver", [simulated, real], ids=["simulated", "real"])
def test_each_interested_node_gets_each_event_once_and_nothing_else(
    driver: Callable[[str], Deliveries], protocol: str
) -> None:
    assert sorted(driver(protocol)) == [(i, 1) for i in REACHED.get(protocol, SUBSCRIBERS)]


@pytest.mark.parametrize("protocol", registry.names())
def test_a_restarted_node_delivers_its_carried_events_once_more_and_nothing_else(protocol: str) -> None:
    chosen = registry.get(protocol)
    driver = Real(MULTICAST, PLACES, SUBSCRIPTIONS, protocol=chosen, params=chosen.params_class())
    last, frames = driver.runners[SUBSCRIBERS[0]], []
    last.inbox.on_carry = lambda sender, frame, _: frames.append((driver.loop.time(), sender, frame))
    driver.run(SETTLE_S)
    events = [
        driver.publish_event(PUBLISHER, "news", {}, payload=b"x", validity_us=v_us) for v_us in (20_000_000, FOREVER)
    ]
    driver.run(AFTER_S)
    before = driver.delivered(last.id)
    assert sorted(before) == events
    last.stop()
    last.catch_up.frames = [(int((driver.loop.time() - t) * 1e6), sender, frame) for t, sender, frame in frames]
    driver.recover(last.id, keep_tables=False)
    assert driver.delivered(last.id)[len(before) :] == before
    driver.run(AFTER_S)
    assert len(driver.delivered(last.id)) == 2 * len(before)
    driver.check()
