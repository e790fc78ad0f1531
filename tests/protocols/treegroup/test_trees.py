"""Tree groups on random networks, and in bad weather."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import TICK
from roamcast.protocols.kit.wire import encode
from roamcast.protocols.treegroup.frames import DOWN, MAX_LISTED, GroupEvent
from roamcast.protocols.treegroup.index import same_records
from roamcast.protocols.treegroup.leader import dissemination
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.pubsub.event import LOCAL, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, attr, topic
from roamcast.testing import ScriptHost, make
from tests.protocols.treegroup.nodes import LEADER, SECOND, hang, networks, pairs_that_are_linked
from tests.support.net import TinyNet
from tests.support.storm import Plan, plans, weather

# ---- trees on random networks


SHAPES = st.sampled_from([(1, 1), (2, 1), (3, 2), (9, 4)])  # (max_level, preferred_levels)
CONDITIONS = st.sampled_from([{}, {}, {"loss": 0.1}, {"duplication": 0.5}, {"jitter_us": 20_000}])


def check_trees(net: TinyNet) -> None:
    """Every node that is up is a root or has a parent that is up and lists it; parents make no ring."""
    for i, node in enumerate(net.nodes):
        if not net.up[i]:
            continue
        place = node.place
        assert place.is_attached(), f"{i} has no place"
        steps, at = 0, i
        while net.nodes[at].place.parent != NOBODY:
            parent = net.nodes[at].place.parent
            assert net.up[parent] and (parent, at) in net.links, f"{at} has the parent {parent}, which is not there"
            assert at in net.nodes[parent].children
            assert net.nodes[parent].place.tree == net.nodes[at].place.tree
            assert net.nodes[at].place.level == net.nodes[parent].place.level + 1
            at, steps = parent, steps + 1
            assert steps <= len(net.nodes), "a ring"
        assert net.nodes[at].place.is_root() and place.level == steps <= node.params.max_level
        if node.membership.is_alone():
            for j in range(len(net.nodes)):
                if (i, j) in net.links and (j, i) in net.links and net.up[j]:
                    assert net.nodes[j].place.level == node.params.max_level, f"{i} is alone beside {j}, which has room"


def component(net: TinyNet, i: int) -> set[int]:
    reached, front = {i}, [i]
    while front:
        at = front.pop()
        for a, b in net.links:
            if a == at and b not in reached and net.up[b]:
                reached.add(b)
                front.append(b)
    return reached


def check_delivery(net: TinyNet) -> None:
    """An event of any node is delivered once at every connected node; all nodes have subscribed."""
    for publisher in range(len(net.nodes)):
        if net.up[publisher]:
            event = net.publish(publisher, topic="a.b")
            net.run(1)
            reached = component(net, publisher) - {publisher}
            for i in range(len(net.nodes)):
                assert net.delivered(i).count(event.id) == (i in reached), f"from {publisher} to {i}"


@settings(max_examples=40, deadline=None)
@given(networks(), SHAPES, st.integers(0, 99), CONDITIONS)
def test_every_node_finds_a_place_and_trees_have_no_loops(
    network: tuple[int, list[tuple[int, int]]], shape: tuple[int, int], seed: int, conditions: dict[str, Any]
) -> None:
    n, links = network
    net = TinyNet(TreeGroup, n, links, seed=seed, max_level=shape[0], preferred_levels=shape[1], **conditions)
    net.start()
    net.run(20)
    net.loss = 0.0
    net.run(12)
    check_trees(net)


@settings(max_examples=40, deadline=None)
@given(networks(), SHAPES, st.integers(0, 99), st.data())
def test_after_any_crash_the_others_find_a_place_again_and_so_does_the_node(
    network: tuple[int, list[tuple[int, int]]], shape: tuple[int, int], seed: int, data: st.DataObject
) -> None:
    n, links = network
    net = TinyNet(TreeGroup, n, links, seed=seed, max_level=shape[0], preferred_levels=shape[1])
    for i in range(n):
        net.subscribe(i, topic("a"))
    net.start()
    net.run(12)
    crashed = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
    for i in crashed:
        net.crash(i)
        net.run(data.draw(st.sampled_from([0.0, 0.3, 2.0])))
    net.run(25)
    check_trees(net)
    check_delivery(net)
    for i in crashed:
        net.recover(i, keep_tables=data.draw(st.booleans()))
        net.subscribe(i, topic("a"))
    net.run(25)
    check_trees(net)
    check_delivery(net)


@settings(max_examples=40, deadline=None)
@given(networks(), SHAPES, st.integers(0, 99), st.data())
def test_a_ring_of_parents_opens_when_the_count_has_stopped(
    network: tuple[int, list[tuple[int, int]]], shape: tuple[int, int], seed: int, data: st.DataObject
) -> None:
    """While links come and go, a ring is gone within the time after which a stopped count is noticed."""
    n, links = network
    net = TinyNet(TreeGroup, n, links, seed=seed, max_level=shape[0], preferred_levels=shape[1])
    net.start()
    net.run(6)
    for _ in range(data.draw(st.integers(1, 6))):
        i, j = data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1]))
        if (i, j) in net.links:
            net.cut(i, j)
        else:
            net.join(i, j)
        net.run(data.draw(st.sampled_from([0.05, 0.5, 2.0])))
    net.run(30)
    check_trees(net)


@settings(max_examples=60, deadline=None)
@given(networks(), SHAPES, st.integers(0, 99), st.data())
def test_a_global_event_reaches_every_subscriber_and_no_other_node(
    network: tuple[int, list[tuple[int, int]]], shape: tuple[int, int], seed: int, data: st.DataObject
) -> None:
    """Bloom routing never misses a connected subscriber; the final check keeps out nodes that are not interested."""
    n, links = network
    bits = data.draw(st.sampled_from([8, 64, 1024]))
    net = TinyNet(
        TreeGroup, n, links, seed=seed, max_level=shape[0], preferred_levels=shape[1], bits=bits, hashes=2
    )  # fmt: skip
    wants = data.draw(st.lists(st.sampled_from(["x", "y", "everything", "nothing"]), min_size=n, max_size=n))
    filters = {"x": attr("a") == "x", "y": (attr("a") == "y") & (attr("b") > 1), "everything": EVERYTHING}
    for i, want in enumerate(wants):
        if want in filters:
            net.subscribe(i, filters[want])
    net.start()
    net.run(30)
    check_trees(net)
    publisher = data.draw(st.integers(0, n - 1))
    value = data.draw(st.sampled_from("xyz"))
    event = net.publish(publisher, attrs={"a": value, "b": data.draw(st.integers(1, 2))})
    net.run(2)
    for i in range(n):
        interested = wants[i] in filters and filters[wants[i]].matches(event) and i != publisher
        assert net.delivered(i) == ([event.id] if interested else [])
    for *_, frame in net.log:
        assert len(encode(TreeGroup, frame)) == frame.size


@settings(max_examples=30, deadline=None)
@given(networks(), st.integers(0, 99), st.integers(0, 2), st.data())
def test_a_local_event_reaches_the_given_number_of_groups_and_no_more(
    network: tuple[int, list[tuple[int, int]]], seed: int, local_groups: int, data: st.DataObject
) -> None:
    n, links = network
    net = TinyNet(TreeGroup, n, links, seed=seed, max_level=1, preferred_levels=1, local_groups=local_groups)
    for i in range(n):
        net.subscribe(i, topic("a"))
    net.start()
    net.run(30)
    publisher = data.draw(st.integers(0, n - 1))
    distance = {net.nodes[publisher].place.tree: 0}
    for _ in range(n):
        for i, j in sorted(net.links):
            near, far = net.nodes[i].place.tree, net.nodes[j].place.tree
            if near in distance and distance.get(far, n + 1) > distance[near] + 1:
                distance[far] = distance[near] + 1
    net.publish(publisher, topic="a", scope=LOCAL)
    net.run(2)
    for i in range(n):
        reached = distance[net.nodes[i].place.tree] <= local_groups and i != publisher
        assert len(net.delivered(i)) == reached


def test_a_local_event_that_came_two_ways_goes_no_farther_than_it_may() -> None:
    """A gateway has the event from another group, with no groups left to enter, before its own leader sends it
    across."""
    links = [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 1), (1, 2), (2, 4), (3, 6)]
    net = TinyNet(TreeGroup, 7, links, seed=1, max_level=1, preferred_levels=1, local_groups=2)
    for i in range(7):
        net.subscribe(i, topic("a"))
    net.start()
    net.run(30)
    net.publish(0, topic="a", scope=LOCAL)
    net.run(2)
    assert all(frame.reach >= 0 for _, _, _, frame in net.sends("event"))


def test_a_node_does_not_attach_over_a_one_way_link() -> None:
    """1 hears 0 but cannot reach it; no node hears 2."""
    net = TinyNet(TreeGroup, 3, [(0, 1), (1, 2)], directed=True)
    net.start()
    net.run(20)
    assert all(node.place.is_root() for node in net.nodes)
    net.join(1, 0, directed=True)
    net.run(10)
    assert {net.nodes[0].place.parent, net.nodes[1].place.parent} in ({NOBODY, 0}, {NOBODY, 1})


def test_an_event_that_a_child_could_not_send_reaches_the_parent_later() -> None:
    net = TinyNet(TreeGroup, 3, [(0, 1), (1, 2)])
    net.start()
    net.run(10)
    net.loss = 0.6
    net.subscribe(2, topic("late"))
    net.run(10)
    net.loss = 0.0
    net.run(8)
    check_trees(net)
    event = net.publish(0, topic="late")
    net.run(1)
    assert net.delivered(2) == [event.id]


def test_an_event_waits_for_the_next_parent_when_the_last_is_gone() -> None:
    net = TinyNet(TreeGroup, 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    for i in (0, 1, 2, 3):
        net.hosts[i].battery_left = 1.0 if i == 0 else 0.2
    net.subscribe(0, topic("t"))
    net.start()
    net.run(10)
    parent = net.nodes[3].place.parent
    assert parent in (1, 2)
    net.cut(3, parent)
    event = net.publish(3, topic="t")
    net.run(1.2)  # the count of the other parent may have to become newer
    assert net.delivered(0) == [event.id]
    assert net.nodes[3].place.parent == 3 - parent


def test_a_gateway_that_has_lost_the_other_group_gives_the_event_back() -> None:
    """Groups {0, 1, 2} and {3}: 1 and 2 are gateways; the one that the leader prefers is cut off."""
    net = TinyNet(
        TreeGroup,
        5,
        [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)],
        max_level=1,
        preferred_levels=1,
        wf1=1,
        wf2=0,
        wf3=0,
        wf4=0,
    )
    for i, left in enumerate([1.0, 0.0, 0.0, 0.5, 0.0]):
        net.hosts[i].battery_left = left
    net.subscribe(4, topic("t"))
    net.start()
    net.run(12)
    assert net.nodes[1].place.parent == net.nodes[2].place.parent == 0
    assert net.nodes[0].index.routes[net.nodes[3].place.tree].gateway == 1
    net.cut(1, 3)
    first, second = net.publish(0, topic="t"), net.publish(0, topic="t")
    net.run(0.5)
    assert sorted(net.delivered(4)) == [first.id, second.id]
    assert ("forward", "gave back") in {note[:2] for note in net.hosts[1].notes}


# ---- bad weather


@settings(max_examples=50, deadline=None)
@given(plans(), SHAPES)
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(plan: Plan, shape: tuple[int, int]) -> None:
    net = weather(TreeGroup, plan, max_level=shape[0], preferred_levels=shape[1], held=2, seen=64)
    for i, host in enumerate(net.hosts):
        assert set(host.timers) <= {TICK, ANSWER}
        assert (TICK in host.timers) == net.up[i]
        node = net.nodes[i]
        assert (node.membership.requested != NOBODY) == (ANSWER in host.timers) or not net.up[i]
        assert len(node.routing.waiting) <= 2 and len(node.routing.events) <= 64
        assert set(node.children) <= set(range(plan.n)) - {i}


@settings(max_examples=12, deadline=None)
@given(plans())
def test_the_same_plan_has_the_same_effects(plan: Plan) -> None:
    first, second = (weather(TreeGroup, plan) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


@settings(max_examples=25, deadline=None)
@given(plans())
def test_in_bad_weather_stored_results_equal_newly_computed_ones(plan: Plan) -> None:
    """The list of neighbours, the two terms over all pairs, and the records that the parent got."""
    net = weather(TreeGroup, plan)
    for node in net.nodes:
        candidacy = node.membership.candidacy
        assert candidacy.listed_neighbours() == sorted(node.neighbours)[:MAX_LISTED]
        candidacy.weight()
        assert candidacy.clustering == pairs_that_are_linked(node.neighbours)
        assert candidacy.dissemination == dissemination(node.neighbours)
        for child in node.children.values():
            other = net.nodes[child.id]
            is_advertised = (
                other.index.advertised_records.version == child.records_version and other.place.parent == node.host.id
            )
            if is_advertised and same_records(other.index.routes, other.index.sent_routes):
                received = [[r.tree, r.gateway, r.level, r.open] for r in child.records]
                assert received == [other.index.routes[tree].fields() for tree in sorted(other.index.routes)]


def test_an_event_that_arrives_expired_is_neither_delivered_nor_forwarded() -> None:
    protocol, host = make(TreeGroup)
    protocol.on_subscribe(1, topic("t"))
    event = Event(event_id(9, 1), "t", validity_us=SECOND)
    host.hear(protocol, GroupEvent(event, DOWN, SECOND, 255, [], []), 2)
    assert host.delivered == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, GroupEvent(event, DOWN, SECOND - 1, 255, [], []), 2)
    assert host.delivered == [event]


def test_an_event_that_expires_while_it_waits_for_a_parent_is_not_sent() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    protocol.on_publish(Event(event_id(3, 1), "t", validity_us=SECOND // 2))
    protocol.on_publish(Event(event_id(3, 2), "t"))
    host.advance(protocol, SECOND)
    hang(protocol, host, LEADER)
    assert [frame.event.id for frame in host.frames("event")] == [event_id(3, 2)]
    assert host.labels("drop") == ["expired"]


def test_an_event_that_finds_no_parent_in_time_is_dropped() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3), hold_s=0.5, election_s=100.0)
    protocol.on_start()
    protocol.on_publish(Event(event_id(3, 1), "t"))
    host.advance(protocol, 3 * SECOND)
    assert host.labels("drop") == ["no parent"] and not protocol.routing.waiting
