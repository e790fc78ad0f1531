"""The three floodings of Baehni et al. 2005 on small networks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.flooding import (
    HEARTBEAT,
    TURN,
    FloodingInterest,
    FloodingNeighbors,
    FloodingParams,
    FloodingPeriodic,
    NeighborsParams,
)
from tests.protocols.flooding_nodes import NEWS, SECOND_US, VARIANTS, every
from tests.support.net import HOP_US, TinyNet
from tests.support.storm import Plan, plans, weather


@every
@settings(max_examples=25, deadline=None)
@given(plan=plans(), phase=st.sampled_from(["random", "common"]))
def test_in_bad_weather_only_interested_nodes_get_a_valid_event_and_get_it_once(
    variant: type[FloodingPeriodic], plan: Plan, phase: str
) -> None:
    net = weather(variant, plan, store=4, phase=phase)
    for up, host, protocol in zip(net.up, net.hosts, net.nodes, strict=True):
        assert isinstance(protocol, FloodingPeriodic)
        assert len(protocol.events) <= 4
        own = [HEARTBEAT] if variant is FloodingNeighbors else []
        turns = [held.due_us for held in protocol.turns.waiting()]
        assert {held.event.id for held in protocol.turns.waiting()} == {*protocol.events} and turns == sorted(turns)
        assert not up or sorted(host.timers) == sorted([*own, *[TURN for _ in turns[:1]]])


@every
@settings(max_examples=10, deadline=None)
@given(plan=plans(steps=12))
def test_clocks_that_disagree_change_nothing(variant: type[FloodingPeriodic], plan: Plan) -> None:
    agreeing = weather(variant, Plan(**{**vars(plan), "skew_us": 0}))
    skewed = weather(variant, Plan(**{**vars(plan), "skew_us": 86_400_000_000}))
    assert [host.effects for host in agreeing.hosts] == [host.effects for host in skewed.hosts]


@every
def test_an_event_crosses_a_partition_that_heals_while_it_is_valid(variant: type[FloodingPeriodic]) -> None:
    net = TinyNet(variant, 3, [(0, 1)])
    for i in range(3):
        net.subscribe(i, NEWS)
    net.start()
    net.run(2)
    event = net.publish(0, topic="news", validity_us=20 * SECOND_US)
    net.run(5)
    assert net.delivered(2) == []
    net.cut(0, 1)
    net.join(1, 2)
    net.run(5)
    assert net.delivered(2) == [event.id]
    net.run(20)
    sends_us = [t for t, *_ in net.sends("event")]
    assert 20 < len(sends_us) <= 60
    assert max(sends_us) <= 22 * SECOND_US + 2 * HOP_US, "nodes stop when the event has expired"
    assert [node.events for node in net.nodes if isinstance(node, FloodingPeriodic)] == [{}, {}, {}]


def test_only_periodic_flooding_crosses_nodes_without_interest() -> None:
    """0 - 1 - 2: 2 subscribes to news, 1 to nothing. Only the first variant reaches 2."""
    reached = {}
    for variant in VARIANTS:
        net = TinyNet(variant, 3, [(0, 1), (1, 2)])
        net.subscribe(2, NEWS)
        net.start()
        net.run(2)
        net.publish(0, topic="news")
        net.run(5)
        reached[variant] = len(net.delivered(2))
    assert reached == {FloodingPeriodic: 1, FloodingInterest: 0, FloodingNeighbors: 0}


def test_defaults_are_those_of_the_paper() -> None:
    assert FloodingParams() == FloodingParams(period_s=1.0, store=1000, phase="random", jitter_ms=10.0, sizes="wire")
    assert (NeighborsParams().heartbeat_s, NeighborsParams().forget) == (1.0, 2.5)
