"""Tree groups under attack and for a long time: their state is bounded."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params
from roamcast.protocols.kit.tree import MAX_NEIGHBOURS, REMEMBERED, TICK, tree_name
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.treegroup.bloom_routing import Masks
from roamcast.protocols.treegroup.frames import (
    DOWN,
    MAX_CHILDREN,
    MAX_GROUPS,
    MAX_LISTED,
    UP,
    Gateway,
    GroupEvent,
    Join,
)
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.protocols.treegroup.routing import slot
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import Filter, topic
from roamcast.testing import ScriptHost, make
from roamcast.world.streams import Stream
from tests.protocols.treegroup.nodes import LEADER, OTHER, SECOND, beat, frames, hung
from tests.support.net import TinyNet

# ---- bounded state


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
    "node.subscriptions.all": 3,  # subscriptions of its own application
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


# ---- limits


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
