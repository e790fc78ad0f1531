"""What gossip, counter and managed share: the publisher sends, first copies decide, ages and hops are counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.counter import Counter
from roamcast.protocols.gossip import Gossip
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.relay import Relay
from roamcast.protocols.managed import Managed
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import HOP_US, TinyNet
from tests.support.storm import Plan, plans, weather

NEWS = topic("news")
RELAYS = [(Gossip, {"p": 1.0}), (Counter, {"copies": 100}), (Managed, {"ttl": 0})]
"""With these parameters each protocol forwards every first copy."""
LONGEST_US = 120_000
"""No assessment delay is longer."""

every = pytest.mark.parametrize("relay, params", RELAYS, ids=[cls.__name__ for cls, _ in RELAYS])


def node(relay: type[Relay], params: dict[str, Any], **more: Any) -> tuple[Relay, ScriptHost]:
    protocol, host = make(relay, **{**params, **more})
    assert isinstance(protocol, Relay)
    return protocol, host


def news(sequence: int = 1, publisher: int = 7, **content: Any) -> Event:
    return Event(event_id(publisher, sequence), "news", **content)


def wait(host: ScriptHost, protocol: Relay) -> None:
    host.advance(protocol, host.clock_us + LONGEST_US)


@every
def test_the_publisher_sends_at_once_with_all_hops_and_no_age(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params, ttl=5)
    protocol.on_subscribe(1, NEWS)
    protocol.on_publish(news())
    assert [frame.fields() for frame in host.frames()] == [[5, 0, news().fields()]]
    assert host.delivered == []
    assert host.timers == {}
    assert host.notes == [("forward", "source", news().id, -1, 0)]


@every
def test_a_publisher_ignores_copies_of_its_own_event(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    protocol.on_publish(news())
    host.hear(protocol, EventFrame(news(), 0, 10), 3)
    wait(host, protocol)
    assert len(host.sent) == 1
    assert host.delivered == []


@every
def test_a_first_copy_is_delivered_at_once_and_forwarded_with_a_hop_less_and_its_new_age(
    relay: type[Relay], params: dict[str, Any]
) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    host.clock_us = 5_000_000
    host.draws = [0.5, 0.5]
    host.hear(protocol, EventFrame(news(), 4, 700), 3)
    assert host.delivered == [news()]
    assert host.sent == []
    ((key, due_us),) = host.timers.items()
    assert key == news().id
    host.advance(protocol, due_us)
    waited_us = due_us - 5_000_000
    assert waited_us > 0
    assert [frame.fields() for frame in host.frames()] == [[3, 700 + waited_us, news().fields()]]


@every
def test_a_node_that_is_not_interested_forwards_the_event_nevertheless(
    relay: type[Relay], params: dict[str, Any]
) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, topic("sport"))
    protocol.on_subscribe(2, NEWS)
    protocol.on_unsubscribe(2)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    wait(host, protocol)
    assert host.delivered == []
    assert len(host.frames("event")) == 1


@every
def test_a_node_without_its_only_subscription_delivers_nothing(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    protocol.on_unsubscribe(1)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    assert host.delivered == []


@every
def test_copies_after_the_first_are_neither_delivered_nor_forwarded(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    wait(host, protocol)
    for sender in (4, 5, 6):
        host.hear(protocol, EventFrame(news(), 0, 0), sender)
        wait(host, protocol)
    assert host.delivered == [news()]
    assert len(host.frames("event")) == 1


@every
def test_after_the_last_hop_an_event_is_delivered_and_not_forwarded(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, EventFrame(news(1), 1, 0), 3)
    host.hear(protocol, EventFrame(news(1), 9, 0), 4)
    wait(host, protocol)
    assert host.delivered == [news(1)]
    assert host.sent == []
    assert host.notes == [("suppress", "ttl", news(1).id, 3, 0)]
    host.hear(protocol, EventFrame(news(2), 2, 0), 3)
    wait(host, protocol)
    assert [frame.fields()[0] for frame in host.frames()] == [1]


@every
def test_a_hop_count_of_zero_means_any_number_and_stays_zero(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    wait(host, protocol)
    assert [frame.fields()[0] for frame in host.frames()] == [0]


@every
def test_an_event_as_old_as_its_validity_is_expired(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, EventFrame(news(1, validity_us=1000), 0, 1000), 3)
    host.hear(protocol, EventFrame(news(1, validity_us=1000), 0, 0), 4)
    assert host.delivered == []
    assert host.notes == [("drop", "expired", news(1).id, 3, 0)]
    assert host.timers == {}
    host.hear(protocol, EventFrame(news(2, validity_us=1000), 0, 999), 3)
    assert [event.id for event in host.delivered] == [news(2).id]


@every
@pytest.mark.parametrize("left_us", [0, 1])
def test_an_event_that_expires_while_it_waits_is_not_forwarded(
    relay: type[Relay], params: dict[str, Any], left_us: int
) -> None:
    protocol, host = node(relay, params)
    host.draws = [0.5]
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    waits_us = host.timers[news(1).id]
    host.draws = [0.5]
    host.hear(protocol, EventFrame(news(2, validity_us=50_000), 0, 50_000 - waits_us - left_us), 3)
    host.notes.clear()
    host.advance(protocol, waits_us)
    sent = [frame.id for frame in host.frames()]
    if left_us:
        assert sent == [news(1).id, news(2).id]
    else:
        assert sent == [news(1).id]
        assert host.notes[-1] == ("drop", "expired", news(2).id, -1, 0)


@every
def test_nothing_waits_any_more_when_the_delays_are_over(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    for k in range(1, 500):
        host.hear(protocol, EventFrame(news(k), k % 3, 0), 3)
    wait(host, protocol)
    assert protocol.waiting() == []
    assert host.timers == {}
    assert protocol.memory() == (0, 0)


@every
def test_events_that_waited_at_a_crash_are_sent_if_the_tables_survive(
    relay: type[Relay], params: dict[str, Any]
) -> None:
    protocol, host = node(relay, params)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    host.hear(protocol, EventFrame(news(2, validity_us=9_000_000), 0, 0), 3)
    host.timers.clear()
    host.clock_us = 10_000_000
    protocol.on_start()
    host.advance(protocol, 10_000_000)
    assert [frame.fields() for frame in host.frames()] == [[0, 10_000_000, news(1).fields()]]
    assert protocol.waiting() == []
    host.hear(protocol, EventFrame(news(1), 0, 0), 4)
    wait(host, protocol)
    assert len(host.delivered) == 2
    assert len(host.sent) == 1


@every
def test_waiting_events_are_listed_by_id_oldest_first(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, _ = node(relay, params)
    ids = [news(k).id for k in range(1, 5)]
    for k in (1, 2, 3):
        protocol.wait(EventFrame(news(k), 0, 0), 1000)
    assert protocol.waiting() == ids[:3]
    assert protocol.take(ids[0])[0].id == ids[0]
    protocol.wait(EventFrame(news(4), 0, 0), 1000)
    assert protocol.waiting() == ids[1:]
    assert [protocol.is_waiting(id) for id in ids] == [False, True, True, True]
    for id in ids[1:]:
        assert protocol.take(id)[0].id == id
    protocol.wait(EventFrame(news(1), 0, 0), 1000)
    assert protocol.waiting() == ids[:1] and protocol.is_waiting(ids[0]) and not protocol.is_waiting(ids[1])


@every
def test_a_received_frame_is_not_changed(relay: type[Relay], params: dict[str, Any]) -> None:
    protocol, host = node(relay, params)
    frame = EventFrame(news(), 9, 100)
    host.hear(protocol, frame, 3)
    wait(host, protocol)
    assert frame.fields() == [9, 100, news().fields()]


# ----------------------------------------------------------------------------------------------------- small networks


@every
@settings(max_examples=25, deadline=None)
@given(plan=plans())
def test_in_bad_weather_only_interested_nodes_get_a_valid_event_and_get_it_once(
    relay: type[Relay], params: dict[str, Any], plan: Plan
) -> None:
    net = weather(relay, plan, **params)
    net.run(1)
    for up, host, protocol in zip(net.up, net.hosts, net.nodes, strict=True):
        assert isinstance(protocol, Relay)
        assert not up or (protocol.waiting() == [] and host.timers == {})


@every
@settings(max_examples=15, deadline=None)
@given(plan=plans(steps=15))
def test_clocks_that_disagree_change_nothing(relay: type[Relay], params: dict[str, Any], plan: Plan) -> None:
    agreeing = weather(relay, Plan(**{**vars(plan), "skew_us": 0}), **params)
    skewed = weather(relay, Plan(**{**vars(plan), "skew_us": 86_400_000_000}), **params)
    assert [host.effects for host in agreeing.hosts] == [host.effects for host in skewed.hosts]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    n = draw(st.integers(2, 8))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    return n, draw(st.lists(pair, min_size=1, max_size=2 * n))


def hops_from(source: int, links: set[tuple[int, int]]) -> dict[int, int]:
    """Hops by breadth-first search, for comparison."""
    hops = {source: 0}
    ring = [source]
    while ring:
        newly_reached = {j for i in ring for a, j in links if a == i and j not in hops}
        hops.update(dict.fromkeys(newly_reached, hops[ring[0]] + 1))
        ring = sorted(newly_reached)
    return hops


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 4), st.booleans())
def test_flooding_without_delays_reaches_exactly_the_nodes_within_the_hop_limit(
    graph: tuple[int, list[tuple[int, int]]], ttl: int, directed: bool
) -> None:
    n, links = graph
    net = TinyNet(Gossip, n, links, directed=directed, p=1.0, ttl=ttl, jitter_ms=0.0)
    for i in range(n):
        net.subscribe(i, NEWS)
    net.start()
    event = net.publish(0, topic="news")
    net.run(0.1)
    hops = hops_from(0, net.links)
    for i in range(1, n):
        reached = i in hops and (ttl == 0 or hops[i] <= ttl)
        assert net.delivered(i) == ([event.id] if reached else [])
    senders = [i for i in hops if i == 0 or ttl == 0 or hops[i] < ttl]
    assert sorted(sender for _, sender, _, _ in net.sends()) == sorted(senders)
    ages = {sender: frame.fields()[1] for _, sender, _, frame in net.sends()}
    assert set(ages.values()) == {0}, "the time in flight does not count"
    assert net.now_us == 100 * HOP_US


@every
@settings(max_examples=25, deadline=None)
@given(graph=graphs(), seed=st.integers(0, 99))
def test_protocols_that_forward_every_first_copy_reach_all_connected_nodes(
    relay: type[Relay], params: dict[str, Any], graph: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    """Managed suppresses an event when it hears a copy, so it runs on a line: only the next node's copy comes back
    there."""
    n, links = graph
    if relay is Managed:
        links = [(i, i + 1) for i in range(n - 1)]
    net = TinyNet(relay, n, links, seed=seed, **params)
    for i in range(n):
        net.subscribe(i, NEWS)
    net.start()
    event = net.publish(0, topic="news")
    net.run(3)
    reached = hops_from(0, net.links)
    assert [i for i in range(1, n) if net.delivered(i) == [event.id]] == sorted(i for i in reached if i)
