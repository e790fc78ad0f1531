"""Proximity-driven routing: its loop, and networks that misbehave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.proximity.frames import INFINITE, MAX_LOWERED, Beacon, Message, destination_list
from roamcast.protocols.proximity.protocol import BEACON_TIMER, Proximity, ProximityParams
from roamcast.pubsub.filters import topic
from tests.paper.baldoni_nodes import proximity
from tests.protocols.proximity.nodes import INTERVAL_US, NEWS, broker, news
from tests.support.net import TinyNet
from tests.support.storm import Plan, check_encoding, plans, weather

# ---- the loop of Fig. 3 and the fast loop


def as_printed(
    table: dict[int, tuple[bool, int]], carried: dict[int, int], limit: int
) -> tuple[dict[int, int], str, int, int]:
    """The loop of Fig. 3 on a copy of the list. `table` is {broker: (whether it wants news, beacons missed)}. Returns
    the new list, the reason to send, the broker that gives it, and the lowest proximity. This broker, 0, wants the
    message."""
    destinations = dict(carried)
    why, peer, closest = "no closer", -1, 1000
    if 0 in destinations or len(destinations) < limit:
        destinations[0] = 0
    for node, (wants, missed) in table.items():
        proximity = 100 * missed
        new = node not in destinations
        if wants and (new or proximity < destinations[node]) and not (new and len(destinations) >= limit):
            destinations[node] = proximity
            if why == "no closer" or proximity < closest:
                why, peer, closest = ("new destination" if new else "closer"), node, proximity
    return destinations, why, peer, closest


brokers = st.integers(1, 6) | st.sampled_from([127, 128, 300, 70_000])
tables = st.dictionaries(brokers, st.tuples(st.booleans(), st.integers(0, 10)), max_size=8)
lists = st.dictionaries(brokers | st.just(0), st.sampled_from([0, 100, 200, 500, 1000]), max_size=8)


@settings(max_examples=200)
@given(tables, lists, st.sampled_from([1, 3, 512]))
def test_a_message_gets_the_list_reason_and_delay_of_the_loop_as_printed(
    table: dict[int, tuple[bool, int]], carried: dict[int, int], limit: int
) -> None:
    protocol, host = broker(jitter_ms=0.0, max_delay_s=1.0, destinations_limit=limit)
    protocol.on_subscribe(1, NEWS)
    table = dict(sorted(table.items(), key=lambda row: -row[1][1]))  # heard longest ago first
    for other, (wants, missed) in table.items():
        host.clock_us = (10 - missed) * INTERVAL_US
        protocol.on_frame(Beacon(NEWS if wants else topic("sport")), other)
    host.clock_us = 10 * INTERVAL_US
    host.hear(protocol, Message(news(1), 0, carried, 0), 7)
    host.advance(protocol, 11 * INTERVAL_US)
    destinations, why, peer, closest = as_printed(table, carried, limit)
    if why == "no closer":
        assert host.frames("event") == [] and host.labels("drop") == [why]
        return
    assert host.notes == [
        ("delay", why, news(1).id, peer, 1000 * closest),
        ("forward", why, news(1).id, peer, closest),
    ]
    (sent,) = host.frames("event")
    assert isinstance(sent, Message)
    assert list(sent.destinations.items()) == list(destinations.items())
    check_encoding(Proximity, sent)


@given(lists, st.lists(st.lists(st.tuples(brokers, st.integers(0, 1000)), max_size=12), max_size=8))
def test_a_list_that_shares_its_base_equals_a_full_copy(
    first: dict[int, int], hops: list[list[tuple[int, int]]]
) -> None:
    plain = dict(first)
    shared = destination_list(dict(first))
    passed = []
    for hop in hops:
        changes = dict(hop)
        plain = {**plain, **changes}
        flat = [number for pair in changes.items() for number in pair]
        shared = shared.changed(vec[i64](flat), len(plain), destination_list(plain).size)
        passed.append((shared, plain))
    for destinations, items in passed:  # later lists have not changed it
        assert list(destinations.items().items()) == list(items.items())
        assert destinations.count == len(items)
        for other in [0, *range(1, 7), 127, 128, 300, 70_000]:
            assert destinations.proximity(other) == items.get(other, INFINITE)


def test_a_list_is_copied_when_much_of_it_has_changed_and_not_before() -> None:
    first = destination_list(dict.fromkeys(range(100), 500))
    some = first.changed(vec[i64]([n for k in range(MAX_LOWERED) for n in (k, 0)]), 100, 0)
    assert some.base is first.base
    more = some.changed(vec[i64]([200, 0]), 101, 0)
    assert more.base is not first.base and len(more.lowered) == 0
    assert more.items() == {
        **dict.fromkeys(range(MAX_LOWERED), 0),
        **dict.fromkeys(range(MAX_LOWERED, 100), 500),
        200: 0,
    }


# ---- in bad weather


PARAMS = st.fixed_dictionaries({"beacon_interval_s": st.just(0.5), "credits": st.integers(0, 2)})


@settings(max_examples=80, deadline=None)
@given(plans(), PARAMS)
def test_in_bad_weather_the_invariants_hold_and_only_the_beacon_s_timer_is_left(
    plan: Plan, params: dict[str, Any]
) -> None:
    net = weather(Proximity, plan, **params)
    net.run(1.0)
    for up, host, node in zip(net.up, net.hosts, net.nodes, strict=True):
        assert isinstance(node, Proximity)
        if up:
            assert list(host.timers) == [BEACON_TIMER]
            assert node.scheduled == {}


def nodes_of(plan: Plan, *kinds: str) -> list[int]:
    """The node of each step of these kinds."""
    return [node for what, node, _, _ in plan.steps if what in kinds]


@settings(max_examples=40, deadline=None)
@given(plans(), PARAMS)
def test_a_node_that_keeps_its_tables_sends_an_event_at_most_once(plan: Plan, params: dict[str, Any]) -> None:
    net = weather(Proximity, plan, **params)
    forgetful = [node for what, node, argument, _ in plan.steps if what == "recover" and argument % 2]
    for i, host in enumerate(net.hosts):
        sends = [frame.id for frame in host.frames("event")]
        assert i in forgetful or len(sends) == len(set(sends))


@settings(max_examples=20, deadline=None)
@given(plans(), PARAMS)
def test_the_same_inputs_give_the_same_effects(plan: Plan, params: dict[str, Any]) -> None:
    first, second = (weather(Proximity, plan, **params) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


@settings(max_examples=20, deadline=None)
@given(plans(), PARAMS)
def test_clocks_that_disagree_change_nothing(plan: Plan, params: dict[str, Any]) -> None:
    agreeing = weather(Proximity, replace(plan, skew_us=0), **params)
    skewed = weather(Proximity, replace(plan, skew_us=86_400_000_000), **params)
    assert [host.effects for host in agreeing.hosts] == [host.effects for host in skewed.hosts]


@settings(max_examples=40, deadline=None)
@given(plans(), PARAMS)
def test_a_frame_does_not_change_after_it_was_sent_and_states_its_size(plan: Plan, params: dict[str, Any]) -> None:
    net = weather(Proximity, plan, **params)
    subscribers = nodes_of(plan, "subscribe")
    steady = [i for i in subscribers if subscribers.count(i) == 1 and i not in nodes_of(plan, "crash", "unsubscribe")]
    for host in net.hosts:
        shown = [line for line in host.effects if line.startswith("broadcast")]
        assert shown == [f"broadcast {frame.kind} {frame.fields()}" for _, frame in host.sent]
    for _, sender, _, frame in net.sends("event"):
        assert isinstance(frame, Message)
        check_encoding(Proximity, frame)
        assert sender not in steady or frame.destinations.get(sender, 0) == 0
        assert 0 <= frame.credit <= params["credits"]
        assert set(frame.destinations) <= set(subscribers)


@settings(max_examples=30, deadline=None)
@given(plans(), PARAMS)
def test_every_decision_about_a_message_has_a_reason(plan: Plan, params: dict[str, Any]) -> None:
    """Each first reception ends in forward, suppress or drop, except after a crash."""
    net = weather(Proximity, plan, **params)
    net.run(1.0)
    crashed = nodes_of(plan, "crash")
    for i, host in enumerate(net.hosts):
        delayed = [event for kind, _, event, _, _ in host.notes if kind == "delay"]
        ended = [event for kind, label, event, _, _ in host.notes if kind in ("forward", "suppress", "drop")]
        sends = [frame.id for frame in host.frames("event")]
        assert sends == [event for kind, _, event, _, _ in host.notes if kind == "forward"]
        assert i in crashed or all(event in ended for event in delayed)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(3, 6).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=n))
    ),
    st.integers(0, 1000),
)
def test_a_lone_subscriber_within_two_hops_gets_every_event(
    net_of: tuple[int, set[tuple[int, int]]], seed: int
) -> None:
    """On a still network without loss: a broker that suppresses an adjacent broker is adjacent to the subscriber
    itself."""
    n, pairs = net_of
    links = {(i, j) for i, j in pairs if i != j} | {(j, i) for i, j in pairs if i != j}
    net = TinyNet(Proximity, n, sorted(links), seed=seed)
    net.subscribe(0, NEWS)
    net.start()
    net.run(11)
    near = {j for i, j in links if i == 0}
    for publisher in range(1, n):
        event = net.publish(publisher, topic="news")
        net.run(1)
        reachable = publisher in near or any((publisher, i) in links for i in near)
        assert (event.id in net.delivered(0)) or not reachable


def test_a_broker_that_comes_back_with_its_tables_still_knows_the_proximity_of_others() -> None:
    net = TinyNet(Proximity, 2, links=[(0, 1)])
    net.subscribe(1, NEWS)
    net.start()
    net.run(6)
    net.crash(0)
    net.run(21)
    net.recover(0, keep_tables=True)
    kept = net.nodes[0]
    assert isinstance(kept, Proximity)
    assert 400 <= proximity(kept, 1) <= 500
    net.crash(0)
    net.run(40)
    net.recover(0, keep_tables=True)
    assert len(kept.pt) == 0


def test_a_broker_that_comes_back_without_its_tables_learns_from_scratch() -> None:
    net = TinyNet(Proximity, 3, links=[(0, 1), (1, 2)])
    net.subscribe(2, NEWS)
    net.start()
    net.run(6)
    net.crash(1)
    net.recover(1)
    event = net.publish(0, topic="news")
    net.run(1)
    assert net.delivered(2) == []
    net.run(6)
    later = net.publish(0, topic="news")
    net.run(1)
    assert net.delivered(2) == [later.id] != [event.id]


def test_an_event_passes_a_link_that_works_in_one_direction() -> None:
    """0 hears no beacon of 1 and sends nevertheless; 1 knows 2 and forwards the event to it."""
    net = TinyNet(Proximity, 3, links=[(0, 1), (1, 2), (2, 1)], directed=True)
    net.subscribe(2, NEWS)
    net.start()
    net.run(6)
    event = net.publish(0, topic="news")
    net.run(1)
    assert net.delivered(2) == [event.id]


def test_defaults_are_those_of_the_paper() -> None:
    defaults = ProximityParams()
    assert (defaults.beacon_interval_s, defaults.table_age, defaults.credits, defaults.beaconers) == (5.0, 10, 0, "all")
