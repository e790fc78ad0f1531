"""Tree groups, node by node: labels, simple models, one node by hand, the reason of every drop."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import Place, root_of, tree_name
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.treegroup.bloom_routing import filter_bitmap
from roamcast.protocols.treegroup.frames import ACROSS, DOWN, UP, Bitmap, Gateway, GroupEvent, Join, Welcome
from roamcast.protocols.treegroup.gateways import FAINT_LEVELS
from roamcast.protocols.treegroup.index import same_records
from roamcast.protocols.treegroup.leader import clustering
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.protocols.treegroup.routing import slot
from roamcast.protocols.treegroup.tables import Child, GatewayRecord, GroupNeighbour
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import attr, topic
from roamcast.testing import ScriptHost, make
from tests.protocols.treegroup.nodes import (
    LEADER,
    OTHER,
    SECOND,
    TREE,
    beat,
    few_trees,
    hang,
    hung,
    pairs_that_are_linked,
    records,
)

# ---- the labels of a place


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


# ---- simple models


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


# ---- one node by hand


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


# ---- every drop has a reason


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
