"""Tree groups: frames, trees on random networks, crashes, bad weather, limits."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params
from roamcast.protocols.kit.tree import MAX_NEIGHBOURS, NO_TREE, REMEMBERED, TICK, Place, root_of, tree_name
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.treegroup.bloom_routing import Masks, filter_bitmap
from roamcast.protocols.treegroup.frames import (
    ACROSS,
    DOWN,
    MAX_CHILDREN,
    MAX_GROUPS,
    MAX_LISTED,
    REACH_MAX,
    UP,
    Accept,
    Bitmap,
    Gateway,
    GroupEvent,
    Heartbeat,
    Join,
    Propose,
    Turn,
    Welcome,
)
from roamcast.protocols.treegroup.gateways import FAINT_LEVELS
from roamcast.protocols.treegroup.index import same_records
from roamcast.protocols.treegroup.leader import clustering, dissemination
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.protocols.treegroup.routing import slot
from roamcast.protocols.treegroup.tables import ANSWER_US, Child, GatewayRecord, GroupNeighbour
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, attr, topic
from roamcast.testing import ScriptHost, make
from roamcast.world.streams import Stream
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

SECOND = 1_000_000
LEADER = 7
TREE = tree_name(LEADER, 0.5)
OTHER = tree_name(8, 0.5)


# ------------------------------------------------------------------------------------------------------------ frames

ids = st.integers(0, (1 << 31) - 1)
trees = st.integers(1, (1 << 47) - 1)
levels = st.integers(0, 255)
events = st.builds(
    Event,
    st.integers(1, (1 << 63) - 1),
    st.text(max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
    scope=st.sampled_from([GLOBAL, LOCAL]),
)
frames = st.one_of(
    st.builds(
        Heartbeat,
        trees | st.just(0),
        st.integers(0, (1 << 48) - 1),
        levels,
        ids | st.just(NOBODY),
        st.integers(0, 65_535),
        st.booleans(),
        st.integers(1, 1000),
        levels,
        st.lists(st.tuples(ids, ids, ids), max_size=20).map(lambda rows: [x for row in rows for x in row]),
        st.lists(ids, max_size=32, unique=True).map(sorted),
    ),
    st.builds(Join, st.integers(0, 65_535)),
    st.builds(Welcome, trees | st.just(0), st.integers(0, (1 << 48) - 1), levels),
    st.builds(Bitmap, st.integers(1, 65_535), st.binary(max_size=300)),
    st.builds(
        Gateway,
        st.integers(1, 65_535),
        st.lists(st.tuples(trees, ids, levels, st.booleans()).map(list), max_size=MAX_GROUPS),
    ),
    st.builds(
        Propose,
        trees,
        trees,
        ids,
        st.integers(1, 999),
        levels,
        st.integers(0, 511),
        st.lists(ids, max_size=20),
    ),
    st.builds(Accept, ids, ids, st.lists(ids, max_size=20)),
    st.just(Turn()),
    st.builds(
        GroupEvent,
        events,
        st.sampled_from([UP, DOWN]),
        st.integers(0, FOREVER),
        levels,
        st.lists(trees, max_size=MAX_GROUPS),
        st.lists(trees, max_size=MAX_GROUPS),
    ),
    st.builds(
        GroupEvent,
        events,
        st.just(ACROSS),
        st.integers(0, FOREVER),
        levels,
        st.lists(trees, max_size=MAX_GROUPS),
        st.just([]),
    ),
)


@given(frames)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: Frame) -> None:
    check_encoding(TreeGroup, frame)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(TreeGroup, b"\xc1" + data)
    try:
        frame = decode(TreeGroup, data)
    except Malformed:
        return
    check_encoding(TreeGroup, frame)


@given(st.integers(-1, 9), st.lists(VALUES, max_size=11))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        frame = decode(TreeGroup, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return
    check_encoding(TreeGroup, frame)


@pytest.mark.parametrize(
    "fields",
    [
        [0, 0, 0, 0, -2, 0, True, 1, 0, [], []],  # not a node
        [0, 0, 0, 0, -1, 0, 1, 1, 0, [], []],  # not a bool
        [0, 0, 0, 0, -1, 0, True, 0, 0, [], []],  # a branch without its root
        [0, 0, 0, 0, -1, 0, True, 1, 0, [1, 2], []],  # a child without its versions
        [0, 0, 0, 256, -1, 0, True, 1, 0, [], []],
        [0, 0, 0, 0, -1, 0, True, 1, 0, [], list(range(33))],
        [0, 0, 0, 0, -1, 0, True, 1, 0, [], [1, 1]],  # a neighbour counts once
        [0, 0, 0, 0, -1, 0, True, 1, 0, [], [2, 1]],
        [1],
        [1, -1],
        [2, 0, 0],
        [3, 0, b""],  # version 0 means none
        [3, 1, "text"],
        [4, 1, [[0, 1, 1, True]]],  # no group
        [4, 1, [[1, 1, 1, 1]]],
        [4, 1, [[1, 1, 1, True]] * 33],
        [5, 1, 1, 1, 0, 1, 1, []],
        [6, 1, 1, [-1]],
        [7, 1],
        [8, 3, 0, 0, [], [], Event(1).fields()],
        [8, 0, 0, 0, [0], [], Event(1).fields()],
        [8, 0, 0, 0, [], [], Event(0).fields()],  # would mute all frames that are not events
        [8, 2, 0, 0, [], [1], Event(1).fields()],  # an event that crosses to a group has arrived there
        [9],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(TreeGroup, msgspec.msgpack.encode(fields))


# ------------------------------------------------------------------------------------------------------- bounded state


def attributes(thing: Any) -> list[str]:
    """The attributes of an interpreted or compiled object."""
    slots = [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]
    return [*slots, *getattr(type(thing), "__mypyc_attrs__", ()), *getattr(thing, "__dict__", {})]


def tables(node: TreeGroup) -> dict[str, int]:
    """The size of every container in a node: the largest of each name. Shared containers count once."""
    sizes: dict[str, int] = {}
    front: list[tuple[str, Any]] = [("node", node)]
    had = {id(node)}
    for path, thing in front:
        if isinstance(thing, dict | list | tuple):
            sizes[path] = max(sizes.get(path, 0), len(thing))
            inside = [(f"{path}[]", item) for item in (thing.values() if isinstance(thing, dict) else thing)]
        else:
            inside = [(f"{path}.{name}", getattr(thing, name)) for name in attributes(thing)]
        for where, item in inside:
            is_room = type(item).__module__.startswith("roamcast.") and not isinstance(item, OUTSIDE)
            if (is_room or isinstance(item, dict | list | tuple)) and id(item) not in had:
                had.add(id(item))
                front.append((where, item))
    return sizes


OUTSIDE = (Event, Filter, Host, Params, Masks, Stream)

LIMITS = {
    "node.neighbours": MAX_NEIGHBOURS,
    "node.neighbours[].neighbours": MAX_LISTED,
    "node.children": MAX_CHILDREN,
    "node.children[].records": MAX_GROUPS,
    "node.place.labels": REMEMBERED,
    "node.place.labels[]": 2,
    "node.membership.candidacy.listed": MAX_LISTED,
    "node.index.routes": MAX_GROUPS,
    "node.index.sent_routes": MAX_GROUPS,
    "node.routing.events[].groups": MAX_GROUPS,
    "node.routing.events[].towards": MAX_GROUPS,
    "node.routing.events[].retried": MAX_GROUPS,
    "node.subscriptions.filters": 3,  # subscriptions of its own application
    "node.subscriptions.all": 3,
}


def check_limits(node: TreeGroup, host: ScriptHost) -> None:
    limits = {**LIMITS, "node.routing.events": node.params.seen, "node.routing.waiting": node.params.held}
    for path, size in tables(node).items():
        assert size <= limits[path], path
    assert set(host.timers) <= {TICK, ANSWER}
    assert len(node.index.merged_bitmap().to_bytes(8192, "little").rstrip(b"\0")) <= (node.params.bits + 7) // 8


def naming(way: int) -> st.SearchStrategy[Frame]:
    """Frames of one event that is meant for many groups."""
    base = st.integers(0, 9).map(lambda n: [tree_name(100 + 16 * n + k, 0.5) for k in range(MAX_GROUPS)])
    return st.builds(
        GroupEvent, st.just(Event(event_id(9, 1), "a")), st.just(way), st.just(0), st.just(255), base, base
    )


step = st.one_of(
    st.tuples(frames.map(lambda frame: frame), st.integers(4, 8)),  # a third of them, not one of many
    st.tuples(naming(DOWN), st.sampled_from([LEADER, LEADER, 4])),
    st.tuples(naming(UP), st.sampled_from([5, 5, 4])),
)


@settings(max_examples=150, deadline=None)
@given(
    st.booleans(),
    st.lists(st.tuples(step, st.sampled_from([0, 0, 0, 50, 3000]), st.sampled_from([0, 0, 0, 0, 2, 3])), max_size=16),
)
def test_no_sequence_of_frames_raises_or_grows_without_bound(
    is_hung: bool, script: list[tuple[tuple[Frame, int], int, int]]
) -> None:
    """Every container is checked; one that is not in the list of limits fails, too."""
    protocol, host = hung(seen=4, held=2) if is_hung else make(TreeGroup, ScriptHost(3), seen=4, held=2)
    if is_hung:
        host.hear(protocol, Join(0), 5)
    else:
        protocol.on_start()
    protocol.on_subscribe(1, topic("a"))
    for (frame, sender), ms, lost in script:
        host.hear(protocol, decode(TreeGroup, encode(TreeGroup, frame)), sender)
        host.advance(protocol, host.clock_us + ms * 1000)
        for to, sent in host.sent[-lost:] if lost else []:
            if to >= 0:
                protocol.on_undelivered(sent, to)
        check_limits(protocol, host)


def test_frames_that_name_groups_do_not_fill_tables() -> None:
    """A parent and a child may name groups, up to a limit; another node may not."""
    protocol, host = hung()
    host.hear(protocol, Join(0), 5)
    event = Event(event_id(9, 1), "t")
    for way, sender, may_name in (
        (DOWN, 6, False),
        (UP, 6, False),
        (DOWN, 5, False),
        (DOWN, LEADER, True),
        (UP, 5, True),
    ):
        before = len(host.sent)
        for n in range(20):
            named = [tree_name(100 + MAX_GROUPS * n + k, 0.5) for k in range(MAX_GROUPS)]
            host.hear(protocol, GroupEvent(event, way, 0, 255, [], named), sender)
            check_limits(protocol, host)
        routed = protocol.routing.events[slot(event.id)]
        assert (len(routed.towards) > 0) == may_name
        named_on = [frame for _, frame in host.sent[before:] if isinstance(frame, GroupEvent) and frame.targets]
        assert len(named_on) == (MAX_GROUPS if may_name else 0)
    assert (len(routed.towards), len(routed.retried)) == (MAX_GROUPS, MAX_GROUPS)
    assert {"stranger", "too many groups", "no other way"} <= set(host.labels("drop"))


def test_a_child_that_was_never_heard_again_is_forgotten() -> None:
    protocol, host = hung()
    host.hear(protocol, Join(0), 5)
    for _ in range(3):
        host.advance(protocol, host.clock_us + SECOND)
        host.hear(protocol, beat(count=protocol.place.count + 1, children=(3, 0, 0)), LEADER)
        assert 5 in protocol.children
    host.advance(protocol, host.clock_us + 1_200_000)
    assert protocol.children == {} and ("note", "lost child", 0, 5, 0) in host.notes


def test_under_a_steady_load_no_table_grows() -> None:
    """Minutes of publications, crashes, restarts and changing links: nothing is larger at the end than half way, nor
    larger than the neighbourhood explains."""
    n = 7
    net = TinyNet(TreeGroup, n, [(i, (i + 1) % n) for i in range(n)], max_level=2, preferred_levels=1, seen=40, held=4)
    for i in range(n):
        net.subscribe(i, topic(f"t{i % 3}"))
    net.start()
    most: list[dict[str, int]] = [{}, {}]
    for second in range(160):
        i = second % n
        if second % 5 == 0:
            net.cut(i, (i + 1) % n)
        elif second % 5 == 2:
            net.join((second - 2) % n, (second - 1) % n)
        if second % 31 == 7:
            net.crash(i)
            net.recover(i, keep_tables=second % 2 == 0)
            net.subscribe(i, topic(f"t{i % 3}"))
        net.nodes[i].on_unsubscribe(2)
        net.subscribe((i + 1) % n, topic("t1"), 2)
        for k in range(3):
            net.publish((i + k) % n, topic=f"t{k}")
        net.run(1)
        for node, host in zip(net.nodes, net.hosts, strict=True) if second % 4 == 3 else ():
            check_limits(node, host)
            for path, size in tables(node).items():
                half = most[second // 80]
                half[path] = max(half.get(path, 0), size)
    assert most[0]["node.routing.events"] == 40, "long enough to fill it"
    slack = {"node.place.labels": REMEMBERED}
    for path, size in most[1].items():
        assert size <= max(most[0].get(path, 0), slack.get(path, n)), path
    assert len(net.air) < 10 * n


# ----------------------------------------------------------------------------------------------- the labels of a place


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4), st.integers(0, 4)), max_size=20))
def test_a_node_never_takes_a_label_that_is_no_better_than_one_it_had(offers: list[tuple[int, int, int]]) -> None:
    """The model remembers every label that the node ever had."""
    place, had = Place(9), {}
    for root, count, level in offers:
        tree = tree_name(root, 0.0)
        best = had.get(tree, (-1, 0))
        is_better = count > best[0] or (count == best[0] and level < best[1])
        assert place.may_attach_below(tree, count, level) == is_better
        if is_better:
            place.attach(5, tree, count, level, 0)
            had[tree] = (count, level + 1)
    assert not place.may_attach_below(0, 99, 0)
    assert not place.may_attach_below(tree_name(9, 0.3), 99, 0), "a node does not attach to another one in its own tree"


def test_a_tree_marked_dead_is_used_again_only_when_its_count_rises() -> None:
    place = Place(9)
    place.attach(5, TREE, 4, 3, 0)
    assert place.may_attach_below(TREE, 4, 1)
    place.mark_root_dead()
    assert not place.may_attach_below(TREE, 4, 0)
    assert place.may_attach_below(TREE, 5, 8)


@given(st.integers(0, (1 << 31) - 1), st.floats(0, 1, exclude_max=True))
def test_the_name_of_a_tree_contains_its_root(root: int, draw: float) -> None:
    assert root_of(tree_name(root, draw)) == root and tree_name(root, draw) > 0


# --------------------------------------------------------------------------------------------- trees on random networks


@st.composite
def networks(draw: Any, most: int = 9) -> tuple[int, list[tuple[int, int]]]:
    """Connected networks, with a few links more than a tree needs."""
    n = draw(st.integers(2, most))
    links = [(i, draw(st.integers(0, i - 1))) for i in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=n))
    return n, links + [(i, j) for i, j in more if i != j]


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


# ---------------------------------------------------------------------------------------------------------- bad weather


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


# -------------------------------------------------------------------------------------------------------- simple models


def pairs_that_are_linked(neighbours: dict[int, GroupNeighbour]) -> float:
    pairs = list(combinations(sorted(neighbours), 2))
    linked = [p for p in pairs if p[1] in neighbours[p[0]].neighbours or p[0] in neighbours[p[1]].neighbours]
    return len(linked) / len(pairs) if pairs else 0.0


def member(id: int, **values: Any) -> GroupNeighbour:
    made = GroupNeighbour(id)
    for name, value in values.items():
        setattr(made, name, value)
    return made


@given(st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 9), unique=True).map(sorted)))
def test_clustering_is_the_share_of_linked_pairs(lists: dict[int, list[int]]) -> None:
    neighbours = {id: member(id, neighbours=[x for x in listed if x != id]) for id, listed in lists.items()}
    assert clustering(neighbours) == pairs_that_are_linked(neighbours)


@given(st.lists(st.integers(0, (1 << 63) - 1), unique=True))
def test_every_event_has_a_slot_of_its_own(ids: list[int]) -> None:
    assert len({slot(id) for id in ids}) == len(ids)
    assert len({slot(event_id(n, 1)) % 4096 for n in range(512)}) == 512, "where a dict looks first"


few_trees = st.sampled_from([tree_name(root, 0.5) for root in (7, 8, 9, 10)])
records = st.builds(GatewayRecord, few_trees, st.integers(4, 6), st.integers(0, 3), st.booleans(), st.just(5))


@given(st.lists(records, max_size=6), st.lists(records, max_size=6))
def test_records_are_the_same_if_the_parent_would_get_the_same(
    one: list[GatewayRecord], other: list[GatewayRecord]
) -> None:
    first, second = ({record.tree: record for record in some} for some in (one, other))
    same = [first[t].fields() for t in sorted(first)] == [second[t].fields() for t in sorted(second)]
    assert same_records(first, second) == same


heard = st.tuples(
    st.integers(10, 19),
    few_trees,
    st.integers(0, 4),
    st.sampled_from([-90.0, -88.0, -70.0, float("nan")]),
    st.sampled_from([0.0, -9.0]),
    st.sampled_from([0, 1_000_000, 2_900_000]),
    st.booleans(),
)


def around(rows: list[tuple[int, int, int, float, float, int, bool]]) -> tuple[TreeGroup, ScriptHost]:
    """A node at level 3 of TREE, three seconds after the start, with these neighbours."""
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.place.attach(20, TREE, 0, 2, 0)
    host.clock_us = 3_000_000
    protocol.link_quality.weakest_dbm = -90.0
    for id, tree, level, dbm, trend, heard_us, open in rows:
        protocol.neighbours[id] = member(
            id, tree=tree, count=1, level=level, parent=99, signal_dbm=dbm, trend_db=trend, heard_us=heard_us, open=open
        )
    return protocol, host


@given(st.lists(heard, max_size=6, unique_by=lambda row: row[0]))
def test_the_best_parent_is_the_first_by_rank(rows: list[tuple[int, int, int, float, float, int, bool]]) -> None:
    protocol, _ = around(rows)
    able = [neighbour for neighbour in protocol.neighbours.values() if protocol.membership.may_be_parent(neighbour)]
    assert protocol.membership.best_parent() is min(able, key=protocol.membership.rank, default=None)


@given(st.lists(heard, max_size=6, unique_by=lambda row: row[0]), st.lists(records, max_size=6))
def test_the_gateway_of_each_group_is_the_closest_of_all(
    rows: list[tuple[int, int, int, float, float, int, bool]], below: list[GatewayRecord]
) -> None:
    protocol, _ = around(rows)
    protocol.children[5] = Child(5, 0)
    protocol.children[5].records = below
    every = [(r.level, r.gateway, r.tree) for r in below if r.tree != TREE]
    for neighbour in protocol.neighbours.values():
        if neighbour.tree != TREE and not protocol.link_quality.is_doubtful(neighbour):
            level = 3 + (FAINT_LEVELS if protocol.link_quality.is_faint(neighbour) else 0)
            every.append((level, 3, neighbour.tree))
    protocol.index.find_routes()
    routes = protocol.index.routes
    assert {tree: (r.level, r.gateway) for tree, r in routes.items()} == {
        tree: min((level, gateway) for level, gateway, t in every if t == tree) for _, _, tree in every
    }
    assert all(r.via == (NOBODY if r.gateway == 3 else 5) for r in routes.values())


def test_a_receiver_uses_its_own_shape_of_bitmaps_whatever_the_sender_has() -> None:
    """A frame passed as an object contains no more than one that arrives as bytes."""
    effects = []
    for is_object in (True, False):
        sender, there = make(TreeGroup, ScriptHost(5), bits=8, hashes=1)
        sender.on_start()
        hang(sender, there, LEADER)
        sender.on_publish(Event(event_id(5, 1), "t", {"x": 1}))
        frame = there.frames("event")[0]
        protocol, host = hung(bits=64, hashes=3)
        for child, filter in ((4, attr("x") == 1), (6, attr("x") == 2)):
            host.hear(protocol, Join(0), child)
            host.hear(protocol, Bitmap(1, filter_bitmap(filter, 64, 3).to_bytes(8, "little")), child)
        host.take()
        host.hear(protocol, frame if is_object else decode(TreeGroup, encode(TreeGroup, frame)), 5)
        effects.append(host.take())
    assert effects[0] == effects[1]
    assert sum(effect.startswith("send n4 event") for effect in effects[0]) == 1
    assert not any(effect.startswith("send n6") for effect in effects[0])


# --------------------------------------------------------------------------------------------------- one node by hand


def beat(
    tree: int = TREE, count: int = 1, level: int = 0, parent: int = NOBODY, children: tuple[int, ...] = (), **more: Any
) -> Heartbeat:
    return Heartbeat(
        tree,
        count,
        level,
        parent,
        more.get("weight", 0),
        more.get("open", True),
        more.get("members", 9),
        more.get("depth", 1),
        list(children),
        more.get("neighbours", []),
    )


def hang(protocol: TreeGroup, host: ScriptHost, parent: int, tree: int = TREE, count: int = 1, level: int = 0) -> None:
    """Let the node hear a parent, send it a request, and get a welcome."""
    above = NOBODY if root_of(tree) == parent else 99
    host.hear(protocol, beat(tree, count, level, above), parent)
    assert protocol.membership.requested == parent
    host.hear(protocol, Welcome(tree, count, level), parent)
    assert protocol.place.parent == parent


def hung(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    protocol, host = make(TreeGroup, ScriptHost(3), **params)
    protocol.on_start()
    hang(protocol, host, LEADER)
    host.sent.clear()
    host.take()
    return protocol, host


def test_a_bitmap_is_sent_when_it_grows_and_again_until_the_parent_has_it() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    assert [frame.version for frame in host.frames("bitmap")] == [1]
    for after_us, listed, expected in (
        (90_000, 0, [1]),  # that heartbeat may have been sent before the bitmap arrived
        (110_000, 0, [1, 1]),
        (500_000, 0, [1, 1, 1]),
        (500_000, 1, [1, 1, 1]),
        (500_000, 1, [1, 1, 1]),
    ):
        host.clock_us += after_us
        host.hear(protocol, beat(count=protocol.place.count + 1, children=(3, listed, 0)), LEADER)
        protocol.tick()
        assert [frame.version for frame in host.frames("bitmap")] == expected
    protocol.on_subscribe(2, topic("a"))
    assert len(host.frames("bitmap")) == 3, "nothing new in it"


def test_a_bitmap_that_only_shrinks_waits_for_the_heartbeat() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    protocol.on_unsubscribe(1)
    assert len(host.frames("bitmap")) == 1
    host.hear(protocol, beat(count=2, children=(3, 1, 0)), LEADER)
    host.advance(protocol, host.clock_us + 1_100_000)
    assert [int.from_bytes(frame.bitmap) > 0 for frame in host.frames("bitmap")] == [True, False]


def test_a_child_that_its_parent_does_not_list_sends_its_request_again() -> None:
    protocol, host = hung()
    host.hear(protocol, beat(count=2, children=(4, 0, 0)), LEADER)
    assert host.frames("join") == [], "the heartbeat may have been sent before the request arrived"
    host.advance(protocol, 1_200_000)
    host.hear(protocol, beat(count=3, children=(4, 0, 0)), LEADER)
    assert [to for to, frame in host.sent if frame.kind == "join"] == [LEADER]


def test_a_bitmap_of_another_size_or_from_a_stranger_is_ignored() -> None:
    protocol, host = hung()
    host.hear(protocol, Join(0), 5)
    for data in (b"\xff" * 127, b"\xff" * 129):
        host.hear(protocol, Bitmap(1, data), 5)
    host.hear(protocol, Bitmap(1, b"\xff" * 128), 6)
    assert protocol.index.merged_bitmap() == 0
    host.hear(protocol, Bitmap(1, b"\xff" * 128), 5)
    assert protocol.index.merged_bitmap() == (1 << 1024) - 1
    small, host = make(TreeGroup, bits=12)
    small.membership.lead()
    host.hear(small, Join(0), 5)
    host.hear(small, Bitmap(1, b"\xff\xff"), 5)
    assert small.index.merged_bitmap() == 0
    host.hear(small, Bitmap(1, b"\xff\x0f"), 5)
    assert small.index.merged_bitmap() == (1 << 12) - 1


def test_an_overtaken_heartbeat_of_the_parent_changes_nothing() -> None:
    protocol, host = hung()
    host.hear(protocol, beat(count=5, level=0), LEADER)
    host.hear(protocol, beat(count=4, level=3, parent=99), LEADER)
    assert protocol.place.parent == LEADER and (protocol.place.count, protocol.place.level) == (5, 1)


def test_a_parent_that_moves_deeper_without_a_newer_count_is_left() -> None:
    """It may have become a descendant of this node."""
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    hang(protocol, host, 5, level=1)
    host.hear(protocol, beat(count=1, level=2, parent=98), 5)
    assert protocol.place.parent == NOBODY
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    hang(protocol, host, 5, level=1)
    host.hear(protocol, beat(count=2, level=2, parent=98), 5)
    assert protocol.place.parent == 5 and protocol.place.level == 3


def test_a_parent_that_requests_a_parent_is_no_longer_one() -> None:
    protocol, host = hung()
    host.hear(protocol, Join(0), LEADER)
    assert protocol.place.parent == NOBODY and protocol.place.tree != TREE
    assert all(frame.tree != TREE for frame in host.frames("welcome")), (
        "it does not offer a place in the tree that it has lost itself"
    )


def test_a_welcome_without_a_request_changes_nothing() -> None:
    protocol, host = hung()
    host.hear(protocol, Welcome(OTHER, 9, 0), 8)
    host.hear(protocol, Welcome(TREE, 9, 0), 6)
    assert (protocol.place.parent, protocol.place.tree) == (LEADER, TREE)


def test_a_lost_frame_is_sent_again_and_after_a_second_loss_the_neighbour_is_gone() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    frame = host.frames("bitmap")[0]
    protocol.on_undelivered(frame, LEADER)
    assert host.frames("bitmap") == [frame, frame] and protocol.place.parent == LEADER
    protocol.on_undelivered(frame, LEADER)
    assert protocol.place.parent == NOBODY and host.labels("note")[-1] == "orphaned"


def test_a_parent_whose_signal_falls_is_replaced_before_it_is_lost() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    host.signal_dbm = -90.0
    host.hear(protocol, beat(OTHER), 8)  # the weakest ever heard
    host.cancel_timer(ANSWER)
    protocol.membership.requested = NOBODY
    host.signal_dbm = -70.0
    hang(protocol, host, LEADER)
    host.signal_dbm = -75.0
    host.hear(protocol, beat(count=4, level=0, parent=99), 4)
    host.hear(protocol, beat(count=2, children=(3, 0, 0)), LEADER)
    assert protocol.membership.requested == NOBODY, "weaker, but not leaving"
    host.signal_dbm = -83.0
    host.hear(protocol, beat(count=3, children=(3, 0, 0)), LEADER)
    assert protocol.membership.requested == 4 and protocol.place.parent == LEADER


def test_a_gateway_with_a_faint_peer_counts_as_farther_away() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    protocol.membership.lead()
    host.signal_dbm = -90.0
    host.hear(protocol, Join(0), 5)
    host.hear(protocol, beat(OTHER, level=0), 8)
    host.hear(protocol, Gateway(1, [[OTHER, 5, 1, True]]), 5)
    assert protocol.index.routes[OTHER].gateway == 5
    host.signal_dbm = -60.0
    host.hear(protocol, beat(OTHER, level=1, parent=8), 9)
    protocol.index.find_routes()
    assert protocol.index.routes[OTHER].gateway == 3


def test_a_node_without_a_group_is_no_gateway() -> None:
    """Neither a node that has just lost its group, before its next heartbeat, nor one that restarts."""
    for leave in (lambda node: node.membership.lose_parent(), lambda node: node.on_start()):
        protocol, host = hung()
        host.hear(protocol, beat(OTHER, level=9, parent=99), 8)  # too deep to be a parent
        protocol.index.find_routes()
        assert list(protocol.index.routes) == [OTHER]
        leave(protocol)
        assert protocol.place.tree == 0 and protocol.index.routes == {}


def test_a_new_node_moves_to_a_much_higher_place_but_not_for_one_level() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    hang(protocol, host, 5, level=3)
    host.hear(protocol, beat(level=2, parent=99), 6)
    assert protocol.membership.requested == NOBODY
    host.hear(protocol, beat(level=1, parent=99), 8)
    assert protocol.membership.requested == 8


def test_the_parent_and_the_count_come_from_one_tree_only() -> None:
    """A dead root stops counting: after a while no node of its tree can be the parent."""
    protocol, host = hung()
    for _ in range(5):
        host.advance(protocol, host.clock_us + SECOND)
        host.hear(protocol, beat(count=1, children=(3, 0, 0)), LEADER)
    assert protocol.place.parent == LEADER
    host.hear(protocol, beat(count=1, level=0, parent=99), 6)
    host.advance(protocol, host.clock_us + 1_200_000)
    assert protocol.place.parent == NOBODY
    assert host.frames("join") == [], "the count of 6 is as old"
    assert ("note", "lost parent", 0, LEADER, 0) in host.notes
    host.hear(protocol, beat(count=2, level=0, parent=99), 6)
    assert protocol.membership.requested == 6


# ------------------------------------------------------------------------------------------ every drop has a reason


def test_an_event_that_waited_when_a_node_went_down_is_dropped_with_a_reason() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    protocol.on_publish(Event(event_id(3, 1), "t"))
    protocol.on_start()
    assert protocol.routing.waiting == []
    assert ("drop", "restart", event_id(3, 1), NOBODY, 0) in host.notes


def test_an_event_that_could_not_be_given_back_is_dropped_with_a_reason() -> None:
    protocol, host = hung()
    event = Event(event_id(9, 1), "t")
    host.hear(protocol, GroupEvent(event, DOWN, 0, 255, [], [OTHER]), LEADER)
    back = host.frames("event")[0]
    assert (back.way, back.targets) == (UP, [OTHER])
    protocol.routing.undelivered(back, LEADER)
    assert ("drop", "not given back", event.id, LEADER, 0) in host.notes and protocol.routing.waiting == []


def test_an_event_that_could_not_cross_to_any_neighbour_is_dropped_with_a_reason() -> None:
    protocol, host = hung()
    event = Event(event_id(9, 1), "t")
    host.hear(protocol, GroupEvent(event, DOWN, 0, 255, [], []), LEADER)
    protocol.routing.undelivered(GroupEvent(event, ACROSS, 0, 255, [], []), 8)
    assert host.labels("drop") == ["no link"]


def test_an_event_that_is_lost_after_it_was_forgotten_is_dropped_with_a_reason() -> None:
    protocol, host = hung(seen=1)
    protocol.on_publish(Event(event_id(3, 1), "t"))
    protocol.on_publish(Event(event_id(3, 2), "t"))
    protocol.routing.undelivered(host.frames("event")[0], LEADER)
    assert ("drop", "lost and forgotten", event_id(3, 1), LEADER, 0) in host.notes


def test_the_holding_time_of_an_event_starts_when_it_begins_to_wait() -> None:
    """The node received it six seconds ago, and lost its parent only now."""
    protocol, host = make(TreeGroup, ScriptHost(3), hold_s=5.0, election_s=100.0)
    protocol.on_start()
    hang(protocol, host, LEADER)
    protocol.on_publish(Event(event_id(3, 1), "t"))
    for _ in range(6):
        host.clock_us += SECOND
        host.hear(protocol, beat(count=protocol.place.count + 1, children=(3, 0, 0)), LEADER)
    lost = host.frames("event")[0]
    for _ in range(2):
        protocol.on_undelivered(lost, LEADER)
    host.advance(protocol, host.clock_us + 3 * SECOND)
    assert [routed.event.id for routed in protocol.routing.waiting] == [event_id(3, 1)]
    host.advance(protocol, host.clock_us + 4 * SECOND)
    assert host.labels("drop") == ["no parent"] and protocol.routing.waiting == []


# -------------------------------------------------------------------------------------------------------------- merging


def led(*children: int) -> tuple[TreeGroup, ScriptHost]:
    """A leader that may already merge."""
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    protocol.membership.lead()
    for child in children:
        host.hear(protocol, Join(0), child)
    host.clock_us = 6 * SECOND
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def test_a_leader_proposes_to_the_nearest_open_group() -> None:
    protocol, host = led(4)
    far, shut = tree_name(9, 0.5), tree_name(10, 0.5)
    records = [[far, 40, 3, True], [OTHER, 41, 2, True], [shut, 42, 1, False]]
    host.hear(protocol, Gateway(1, records), 4)
    protocol.propose_merge()
    assert [frame.fields()[1:3] for frame in host.frames("merge")] == [[OTHER, 41]]


def test_a_group_of_one_proposes_nothing() -> None:
    protocol, host = led()
    protocol.index.routes = {OTHER: GatewayRecord(OTHER, 3, 0, True)}
    protocol.propose_merge()
    assert host.notes == []


def test_a_leader_accepts_one_proposal_at_a_time() -> None:
    protocol, host = led(4)
    for after_us, agreed in ((0, 1), (4_999_999, 1), (5_000_000, 2)):
        host.clock_us = 6 * SECOND + after_us
        host.hear(protocol, Propose(OTHER, protocol.place.tree, 30, 3, 1, 2, [8, 30, 31, 4]), 4)
        assert len(host.frames("merge")) == agreed


def test_a_leader_that_has_just_accepted_makes_no_proposal() -> None:
    protocol, host = led(4)
    host.hear(protocol, Gateway(1, [[tree_name(9, 0.5), 40, 3, True]]), 4)
    host.hear(protocol, Propose(OTHER, protocol.place.tree, 30, 3, 1, 2, [8, 30, 31, 4]), 4)
    for after_us, proposed in ((0, 0), (4_999_999, 0), (5_000_000, 1)):
        host.clock_us = 6 * SECOND + after_us
        protocol.propose_merge()
        assert sum(isinstance(frame, Propose) for frame in host.frames("merge")) == proposed


@pytest.mark.parametrize(("route", "passed_on"), [([8, 30, 31], 1), ([8, 30, 3, 31], 0)])
def test_a_proposal_that_has_passed_this_node_goes_no_farther(route: list[int], passed_on: int) -> None:
    protocol, host = hung()
    host.hear(protocol, Propose(OTHER, TREE, 30, 3, 1, 2, route), 31)
    assert len(host.frames("merge")) == passed_on


def turns(host: ScriptHost) -> list[int]:
    """The nodes that got a Turn frame."""
    return [to for to, frame in host.sent if isinstance(frame, Turn)]


@pytest.mark.parametrize(("below", "asked"), [(9, [LEADER]), (LEADER, [])])
def test_the_old_parent_turns_unless_it_is_the_new_one(below: int, asked: list[int]) -> None:
    protocol, host = hung()
    protocol.membership.turn(below)
    host.hear(protocol, Welcome(TREE, 2, 0), below)
    assert (protocol.place.parent, turns(host)) == (below, asked)


def test_after_an_unanswered_turn_another_parent_is_an_ordinary_one() -> None:
    protocol, host = hung()
    protocol.membership.turn(9)
    host.advance(protocol, host.clock_us + ANSWER_US)
    assert protocol.membership.requested == NOBODY
    protocol.membership.request(20)
    host.hear(protocol, Welcome(TREE, 2, 0), 20)
    assert (protocol.place.parent, turns(host)) == (20, [])


def test_only_a_child_can_make_a_node_turn() -> None:
    protocol, host = hung()
    host.hear(protocol, Turn(), 9)
    assert (protocol.membership.requested, host.frames("join")) == (NOBODY, [])


def test_a_lone_leader_that_gets_a_member_stays() -> None:
    """It had sent a request to another group; the answer comes too late."""
    protocol, host = led()
    host.hear(protocol, beat(OTHER), 8)
    assert protocol.membership.requested == 8
    host.hear(protocol, Join(0), 2)
    assert (protocol.membership.requested, ANSWER in host.timers) == (NOBODY, False)
    host.hear(protocol, Welcome(OTHER, 1, 0), 8)
    assert protocol.place.is_root() and list(protocol.children) == [2]


def test_an_event_that_did_not_reach_a_former_parent_goes_to_the_present_one_at_once() -> None:
    protocol, host = hung()
    protocol.on_publish(Event(event_id(3, 1), "a"))
    (lost,) = host.frames("event")
    protocol.membership.request(20)
    host.hear(protocol, Welcome(TREE, 2, 0), 20)
    host.sent.clear()
    for _ in range(2):  # the first time it is sent to the same node again
        protocol.on_undelivered(lost, LEADER)
    assert [to for to, frame in host.sent if frame.kind == "event"] == [LEADER, 20]
    assert protocol.routing.waiting == []


def test_a_node_that_never_had_a_subscription_sends_no_bitmap_whatever_its_parent_lists() -> None:
    protocol, host = hung()
    host.hear(protocol, beat(count=2, children=(3, 7, 7)), LEADER)
    protocol.tick()
    assert host.frames("bitmap") == []


@pytest.mark.parametrize(("reach", "left"), [(REACH_MAX, REACH_MAX), (3, 2)])
def test_groups_are_counted_for_local_events_only(reach: int, left: int) -> None:
    protocol, host = hung()
    host.hear(protocol, beat(OTHER), 8)
    protocol.index.find_routes()
    host.hear(protocol, GroupEvent(Event(event_id(9, 1), "a"), DOWN, 0, reach, [TREE], [OTHER]), LEADER)
    assert [(to, frame.reach) for to, frame in host.sent if isinstance(frame, GroupEvent)] == [(8, left)]


def test_a_neighbour_with_a_group_is_no_rival() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3))
    protocol.on_start()
    host.hear(protocol, beat(OTHER, weight=1000), 8)
    assert protocol.membership.candidacy.is_capable()
    host.hear(protocol, beat(NO_TREE, weight=1000), 9)
    assert not protocol.membership.candidacy.is_capable()


def test_it_declares_that_it_uses_the_battery() -> None:
    assert TreeGroup.wants_battery


# --------------------------------------------------------------------------------------------------------------- limits


def test_the_tables_have_limits() -> None:
    protocol, host = make(TreeGroup, ScriptHost(3), seen=8)
    protocol.on_start()
    protocol.membership.lead()
    for i in range(10, 10 + MAX_NEIGHBOURS + 5):
        host.hear(protocol, beat(tree_name(i, 0.0), parent=NOBODY, members=2), i)
    assert len(protocol.neighbours) == MAX_NEIGHBOURS
    protocol.index.find_routes()
    assert len(protocol.index.routes) == MAX_GROUPS
    for i in range(1000, 1000 + MAX_CHILDREN + 5):
        host.hear(protocol, Join(0), i)
    assert len(protocol.children) == MAX_CHILDREN
    assert host.sent[-1][1].fields() == [0, 0, 0], "a node too many is refused"
    for n in range(20):
        host.hear(protocol, GroupEvent(Event(event_id(9, n + 1)), UP, 0, 255, [], []), 10)
    assert len(protocol.routing.events) == 8


def test_heartbeats_stay_small_in_a_stable_group() -> None:
    net = TinyNet(TreeGroup, 8, [(0, i) for i in range(1, 8)])
    net.start()
    net.run(20)
    sizes = [frame.size for t, _, _, frame in net.sends("heartbeat") if t > 10 * SECOND]
    assert max(sizes) < 60 and sum(sizes) / len(sizes) < 30


def test_a_stable_group_sends_only_heartbeats() -> None:
    net = TinyNet(TreeGroup, 8, [(i, i + 1) for i in range(7)])
    for i in range(8):
        net.subscribe(i, topic(f"t{i}"))
    net.start()
    net.run(30)
    before = len(net.log)
    net.run(20)
    assert {frame.kind for *_, frame in net.log[before:]} == {"heartbeat"}
    assert 8 * 18 <= len(net.log) - before <= 8 * 23


def test_memory_counts_bitmaps_and_gateway_records() -> None:
    protocol, host = hung()
    assert protocol.memory() == (1, 128)
    host.hear(protocol, Join(0), 5)
    assert protocol.memory() == (2, 256)
    host.hear(protocol, Gateway(1, [[OTHER, 5, 2, True]]), 5)
    assert protocol.memory() == (4, 256 + 32), "the record of the child, and the route made from it"


def test_the_kind_of_a_frame_separates_maintenance_from_notification() -> None:
    kinds = {"heartbeat", "join", "welcome", "bitmap", "gateway", "merge"}
    net = TinyNet(TreeGroup, 6, [(i, i + 1) for i in range(5)], max_level=2, preferred_levels=1)
    net.subscribe(5, topic("t"))
    net.start()
    net.run(15)
    net.publish(0, topic="t")
    net.run(2)
    for *_, frame in net.log:
        assert (frame.kind == "event") == bool(frame.events())
        assert frame.kind in kinds | {"event"}


def test_parameters_are_documented_and_the_name_is_known() -> None:
    assert registry.get("treegroup") is TreeGroup
    assert parameters.build(TreeGroup, {}) == TreeGroupParams()
    assert all(p.doc and p.source for p in parameters.describe(TreeGroup))
