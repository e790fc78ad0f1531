"""The subscription tree: both strategies of Baldoni §II, its frames, repair, bad weather, limits."""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import NOBODY, Frame, Params
from roamcast.protocols.kit.tree import MAX_NEIGHBOURS, REMEMBERED, TICK, root_of, tree_name
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.subtree.cover_table import SHARED, CoverTable, SharedTables, key_of
from roamcast.protocols.subtree.frames import MAX_LINKS, PER_FRAME, Heartbeat, Join, Subscribe
from roamcast.protocols.subtree.protocol import SYNC, SYNC_US, SubTree, SubTreeParams
from roamcast.pubsub.event import LOCAL, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, Range, attr, topic
from roamcast.testing import ScriptHost, make
from tests.protocols.subtree.test_filter_table import keys, to_advertise
from tests.protocols.treegroup.test_protocol import networks
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

SECOND = 1_000_000
ME, ROOT = 9, 2
TREE = tree_name(ROOT, 0.5)
MODES = st.sampled_from(["subscription", "message"])

# ------------------------------------------------------------------------------------------------------------ readings


def test_r1_the_lowest_connected_id_is_the_root() -> None:
    net = TinyNet(SubTree, 6, [(5, 4), (4, 3), (3, 2), (2, 1), (1, 0)])
    net.start()
    net.run(8)
    assert [node.place.parent for node in net.nodes] == [NOBODY, 0, 1, 2, 3, 4]
    net.cut(1, 2)
    net.run(25)
    assert [root_of(node.place.tree) for node in net.nodes] == [0, 0, 2, 2, 2, 2]


def test_r2_heartbeats_come_every_second_and_after_three_missed_ones_a_neighbour_is_gone() -> None:
    params = SubTreeParams()
    assert (params.heartbeat_s, params.missed) == (1.0, 3)
    protocol, host = hung()
    host.advance(protocol, 2_900_000)
    assert protocol.place.parent == ROOT
    host.advance(protocol, 4_200_000)
    assert protocol.place.is_root()


def test_r3_filters_of_a_lost_neighbour_are_removed_with_the_next_heartbeat() -> None:
    protocol, host = hung()
    child(protocol, host, 20, topic("a"))
    host.advance(protocol, host.clock_us + SYNC_US)
    host.hear(protocol, Heartbeat(TREE, 2, 3, 30, []), 20)
    host.sent.clear()
    assert keys(to_advertise(protocol.links.filters, ROOT)) == []
    protocol.sync_soon()
    host.advance(protocol, host.clock_us + SYNC_US)
    assert host.frames("subscribe") == []
    host.advance(protocol, host.clock_us + 1_100_000)
    assert [frame.removed for frame in host.frames("subscribe")] == [[0]]


def test_r4_until_a_neighbour_has_advertised_its_filters_it_gets_everything() -> None:
    protocol, host = hung()
    protocol.on_publish(Event(event_id(ME, 1), "a"))
    assert host.labels("forward") == ["not told yet"]
    host.hear(protocol, Subscribe(0, 1, [], []), ROOT)
    protocol.on_publish(Event(event_id(ME, 2), "a"))
    assert host.labels("suppress") == ["unwanted"]


def test_r5_an_event_that_did_not_reach_the_parent_goes_to_the_next_one() -> None:
    protocol, host = hung()
    host.hear(protocol, Heartbeat(TREE, 2, 1, ROOT, []), 5)
    host.hear(protocol, Subscribe(0, 1, [], []), ROOT)
    host.hear(protocol, Subscribe(1, 2, [(0, topic("a"))], []), ROOT)
    protocol.on_publish(Event(event_id(ME, 1), "a"))
    frame = host.frames("event")[0]
    protocol.on_undelivered(frame, ROOT)
    assert host.sent[-1] == (ROOT, frame), "it was heard just now, so the frame is sent again"
    protocol.on_undelivered(frame, ROOT)
    assert protocol.place.parent == 5 and host.sent[-1] == (5, frame)
    assert host.labels("forward")[-1] == "new parent"


def test_r5_all_events_on_their_way_to_the_old_parent_go_to_the_next_one() -> None:
    protocol, host = hung()
    host.hear(protocol, Heartbeat(TREE, 2, 1, ROOT, []), 5)
    for n in (1, 2, 3):
        protocol.on_publish(Event(event_id(ME, n), "a"))
    frames = host.frames("event")
    protocol.on_undelivered(frames[0], ROOT)
    for frame in frames:
        protocol.on_undelivered(frame, ROOT)
    assert [frame for to, frame in host.sent if to == 5 and frame.kind == "event"] == frames
    assert host.labels("drop") == []


def test_r5_events_also_go_to_the_next_parent_if_the_old_one_was_left_for_it() -> None:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 1, 3, 30, []), 5)
    protocol.on_publish(Event(event_id(ME, 1), "a"))
    host.hear(protocol, Heartbeat(TREE, 1, 1, 30, []), 7)
    assert protocol.place.parent == 7
    frame = host.frames("event")[0]
    protocol.on_undelivered(frame, 5)
    protocol.on_undelivered(frame, 5)
    assert host.sent[-1] == (7, frame) and host.labels("drop") == []


def test_r5_without_another_parent_the_event_is_lost() -> None:
    protocol, host = hung()
    event = Event(event_id(ME, 1), "a")
    protocol.on_publish(event)
    frame = host.frames("event")[0]
    protocol.on_undelivered(frame, ROOT)
    host.sent.clear()
    protocol.on_undelivered(frame, ROOT)
    assert protocol.place.is_root() and host.frames("event") == []
    assert host.notes[-1][:4] == ("drop", "lost parent", event.id, ROOT)


def test_r5_an_event_that_did_not_reach_a_child_is_lost_even_if_the_child_was_the_parent_before() -> None:
    for was_parent in (False, True):
        protocol, host = hung()
        host.hear(protocol, Heartbeat(TREE, 2, 1, ROOT, []), 5)
        id = ROOT if was_parent else 20
        host.hear(protocol, Join(), id)
        assert id in protocol.links.by_peer and protocol.place.parent == (5 if was_parent else ROOT)
        event = Event(event_id(ME, 1), "a")
        protocol.on_publish(event)
        frame = host.frames("event")[0]
        host.sent.clear()
        protocol.on_undelivered(frame, id)
        assert id not in protocol.links.by_peer and host.frames("event") == []
        assert host.notes[-1][:4] == ("drop", "lost child", event.id, id)


def test_r6_local_events_go_everywhere_on_the_tree() -> None:
    net = TinyNet(SubTree, 5, [(i, i + 1) for i in range(4)])
    net.subscribe(4, topic("a"))
    net.start()
    net.run(6)
    event = net.publish(0, topic="a", scope=LOCAL)
    net.run(1)
    assert net.delivered(4) == [event.id]


def test_r7_a_broker_moves_up_by_two_levels_but_not_by_one() -> None:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 1, 3, 30, []), 5)
    assert protocol.place.level == 4
    host.hear(protocol, Heartbeat(TREE, 1, 2, 30, []), 6)
    assert protocol.place.parent == 5
    host.hear(protocol, Heartbeat(TREE, 1, 1, 30, []), 7)
    assert protocol.place.parent == 7 and protocol.place.level == 2


def test_r7_a_leaving_parent_is_replaced_by_another_of_the_tree() -> None:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.signal_dbm = -80.0
    host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, []), ROOT)
    host.signal_dbm = -70.0
    host.hear(protocol, Heartbeat(TREE, 4, 1, ROOT, []), 5)
    host.signal_dbm = -79.5
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, [ME, 0]), ROOT)
    assert protocol.place.parent == ROOT, "its signal grows"
    host.signal_dbm = -79.9
    host.hear(protocol, Heartbeat(TREE, 3, 0, NOBODY, [ME, 0]), ROOT)
    assert protocol.place.parent == 5


def test_r8_an_event_that_arrives_expired_is_neither_delivered_nor_forwarded() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    event = Event(event_id(1, 1), "a", validity_us=SECOND)
    host.hear(protocol, EventFrame(event, 0, SECOND), 20)
    assert host.delivered == [] and host.frames("event") == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, EventFrame(event, 0, SECOND - 1), 20)
    assert host.delivered == [event], "the expired copy was not remembered"
    assert [frame.age_us for frame in host.frames("event")] == [SECOND - 1]


def overflowing(*taken_back: int) -> TinyNet:
    """3 subscribes to six topics, t0 to t5, and 2 has room for five; then 3 unsubscribes from some."""
    net = TinyNet(SubTree, 4, [(0, 1), (1, 2), (2, 3)], filters=5)
    net.start()
    for n in range(6):
        net.subscribe(3, topic(f"t{n}"), n)
    net.run(8)
    assert {"overflow"} <= set(net.hosts[2].labels("note"))
    for n in taken_back:
        net.nodes[3].on_unsubscribe(n)
    net.run(8)
    return net


def way_of(net: TinyNet, name: str) -> tuple[bool, int]:
    """Whether an event of this topic, published by 0, is delivered to 3, and how often it is sent."""
    event = net.publish(0, topic=name)
    net.run(1)
    return event.id in net.delivered(3), len([frame for _, _, _, frame in net.sends("event") if frame.id == event.id])


@pytest.mark.parametrize("taken_back", [(), (0,), (5,), (4,), (0, 1), (0, 1, 2, 3), (5, 4, 3)])
def test_r9_no_subscriber_is_lost_when_a_table_overflows(taken_back: tuple[int, ...]) -> None:
    net = overflowing(*taken_back)
    for n in range(6):
        delivered, _ = way_of(net, f"t{n}")
        assert delivered == (n not in taken_back)


def test_r9_the_filters_of_a_neighbour_are_known_again_when_they_fit() -> None:
    assert way_of(overflowing(), "other") == (False, 3), "every event goes there"
    assert way_of(overflowing(5), "other") == (False, 0), "the filter without room is gone"
    net = overflowing(0)
    assert way_of(net, "other") == (False, 0), "advertised again, because five fit"
    assert sorted(got(net.nodes[0], 1)) == [f"topic t{n}" for n in range(1, 6)]
    assert net.nodes[2].memory() == (5, 5 * len("topic t1"))
    net.subscribe(3, topic("t0"), 0)
    net.run(8)
    assert way_of(net, "other") == (False, 3), "again too many"
    net.crash(3)
    net.run(8)
    assert way_of(net, "other") == (False, 0) and net.nodes[1].memory() == (0, 0), "no filter of 3 is left"


def crowded(*taken_back: int) -> TinyNet:
    """3 subscribes to four topics, t0 to t3, and 4 to another three, t4 to t6; 2 has room for six."""
    net = TinyNet(SubTree, 5, [(0, 1), (1, 2), (2, 3), (2, 4)])
    net.nodes[2].links.filters.room = 6
    net.start()
    for n in range(7):
        net.subscribe(3 + n // 4, topic(f"t{n}"), n)
        net.run(2)
    assert net.hosts[2].labels("note").count("overflow") == 1
    for n in taken_back:
        net.nodes[3 + n // 4].on_unsubscribe(n)
    net.run(15)
    return net


@pytest.mark.parametrize(("taken_back", "is_known"), [((), False), ((0,), False), ((6,), True), ((0, 4), True)])
def test_r9_no_subscriber_is_lost_when_the_tables_of_all_neighbours_overflow(
    taken_back: tuple[int, ...], is_known: bool
) -> None:
    net = crowded(*taken_back)
    assert way_of(net, "other") == (False, 0 if is_known else 3)
    for n in range(7):
        event = net.publish(0, topic=f"t{n}")
        net.run(1)
        assert (event.id in net.delivered(3 + n // 4)) == (n not in taken_back)
    net.subscribe(2, topic("own"), 1)
    net.run(3)
    assert way_of(net, "other") == (False, 0 if is_known else 3), "the application has room"
    event = net.publish(0, topic="own")
    net.run(1)
    assert net.delivered(2) == [event.id]


def test_r9_while_there_is_no_room_no_table_is_requested_again() -> None:
    net = crowded()
    before = len(net.log)
    net.run(20)
    assert {frame.kind for *_, frame in net.log[before:]} == {"heartbeat"}


# --------------------------------------------------------------------------------------------------- one node by hand


def got(protocol: SubTree, peer: int) -> list[str]:
    return [str(filter) for filter in protocol.links.by_peer[peer].wanted.values()]


def hung() -> tuple[SubTree, ScriptHost]:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, []), ROOT)
    assert protocol.place.parent == ROOT and host.sent[-1][0] == ROOT
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def child(protocol: SubTree, host: ScriptHost, id: int, *filters: Filter) -> None:
    host.hear(protocol, Join(), id)
    host.hear(protocol, Subscribe(0, 1, list(enumerate(filters)), []), id)


def test_changes_within_a_short_time_go_into_one_frame() -> None:
    protocol, host = hung()
    for n in range(PER_FRAME + 3):
        protocol.on_subscribe(n, topic(f"t{n}"))
    host.advance(protocol, SYNC_US)
    frames = host.frames("subscribe")
    assert [(f.base, f.version, len(f.added)) for f in frames] == [(0, 1, PER_FRAME), (1, 2, 3)]


def test_a_parent_that_missed_a_frame_gets_everything_again() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    host.advance(protocol, SYNC_US)
    host.sent.clear()
    host.advance(protocol, 500_000)
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, [ME, 0]), ROOT)
    host.advance(protocol, 1_600_000)
    assert [(f.base, f.version, len(f.added)) for f in host.frames("subscribe")] == [(0, 2, 1)]
    host.hear(protocol, Heartbeat(TREE, 3, 0, NOBODY, [ME, 2]), ROOT)
    host.advance(protocol, 2_700_000)
    assert len(host.frames("subscribe")) == 1


def test_a_child_that_missed_a_frame_gets_everything_again() -> None:
    protocol, host = hung()
    child(protocol, host, 20)
    protocol.on_subscribe(1, topic("a"))
    host.advance(protocol, SYNC_US)
    host.sent.clear()
    host.advance(protocol, 500_000)
    for version, expected in ((0, [(0, 2, 1)]), (2, [])):
        host.sent.clear()
        host.hear(protocol, Heartbeat(TREE, 1, 2, ME, [ME, version]), 20)
        host.advance(protocol, host.clock_us + 1_100_000)
        to_child = [frame for to, frame in host.sent if to == 20 and isinstance(frame, Subscribe)]
        assert [(f.base, f.version, len(f.added)) for f in to_child] == expected


def test_changes_are_applied_in_order_however_they_arrive() -> None:
    frames = [
        Subscribe(0, 1, [(0, topic("a")), (1, topic("b"))], []),
        Subscribe(1, 2, [(2, topic("c"))], [0]),
        Subscribe(2, 3, [], [1]),
    ]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        protocol, host = hung()
        host.hear(protocol, Join(), 20)
        for n in order:
            host.hear(protocol, frames[n], 20)
        assert got(protocol, 20) == ["topic c"] and protocol.links.by_peer[20].received_version == 3


def test_a_change_to_a_version_that_never_came_is_not_applied() -> None:
    protocol, host = hung()
    child(protocol, host, 20, topic("a"))
    host.hear(protocol, Subscribe(7, 8, [], [0]), 20)
    assert got(protocol, 20) == ["topic a"] and protocol.links.by_peer[20].received_version == 1
    host.advance(protocol, 1_000_000)
    assert protocol.links.by_peer[20].early == {}


def test_a_parent_that_does_not_list_its_child_is_joined_again() -> None:
    protocol, host = hung()
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, []), ROOT)
    assert host.frames("join") == [], "the heartbeat may have been sent before the join arrived"
    host.advance(protocol, 1_200_000)
    host.hear(protocol, Heartbeat(TREE, 3, 0, NOBODY, []), ROOT)
    assert [to for to, frame in host.sent if frame.kind == "join"] == [ROOT]


def test_a_parent_that_joins_its_child_is_no_longer_the_parent() -> None:
    protocol, host = hung()
    host.hear(protocol, Join(), ROOT)
    assert protocol.place.parent == NOBODY and ROOT in protocol.links.by_peer


def test_a_parent_that_moves_deeper_without_a_newer_count_is_left() -> None:
    """It may have become a descendant of this node."""
    for count, stays in ((1, False), (2, True)):
        protocol, host = make(SubTree, ScriptHost(ME))
        protocol.on_start()
        host.hear(protocol, Heartbeat(TREE, 1, 1, ROOT, []), 5)
        host.hear(protocol, Heartbeat(TREE, count, 2, 30, [ME, 0]), 5)
        assert (protocol.place.parent == 5) == stays


def test_a_parent_that_goes_over_to_a_worse_tree_is_left() -> None:
    """Another node of the tree becomes the parent. If the parent goes to a better tree, this node follows."""
    worse, better = tree_name(4, 0.5), tree_name(1, 0.5)
    for tree, parent in ((worse, 6), (better, 5)):
        protocol, host = make(SubTree, ScriptHost(ME))
        protocol.on_start()
        host.hear(protocol, Heartbeat(TREE, 1, 1, ROOT, []), 5)
        host.hear(protocol, Heartbeat(TREE, 2, 1, ROOT, []), 6)
        host.hear(protocol, Heartbeat(tree, 7, 1, root_of(tree), [ME, 0]), 5)
        assert (protocol.place.parent, protocol.place.tree) == (parent, TREE if parent == 6 else better)


def test_a_node_does_not_attach_to_its_own_descendant() -> None:
    """Even if the descendant has a newer count, which it heard from another node."""
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 5, 1, ME, []), 8)
    assert protocol.place.is_root() and list(protocol.links.by_peer) == [8]
    host.hear(protocol, Heartbeat(TREE, 5, 1, ROOT, []), 8)
    assert protocol.place.parent == 8


def test_a_root_whose_count_has_stopped_counts_as_dead() -> None:
    protocol, host = hung()
    for _ in range(5):
        host.advance(protocol, host.clock_us + SECOND)
        host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, [ME, 0]), ROOT)
    assert protocol.place.parent == ROOT
    host.hear(protocol, Heartbeat(TREE, 1, 0, 30, []), 6)
    host.advance(protocol, host.clock_us + 1_200_000)
    assert protocol.place.is_root(), "the count of 6 is as old"
    assert ROOT not in protocol.links.by_peer
    host.hear(protocol, Heartbeat(TREE, 2, 0, 30, []), 6)
    assert protocol.place.parent == 6


def test_subscribing_twice_under_one_name_replaces() -> None:
    protocol, _ = hung()
    protocol.on_subscribe(1, topic("a"))
    protocol.on_subscribe(1, topic("b"))
    assert keys(to_advertise(protocol.links.filters, 5)) == ["topic b"]
    protocol.on_unsubscribe(1)
    protocol.on_unsubscribe(1)
    assert keys(to_advertise(protocol.links.filters, 5)) == []


# ------------------------------------------------------------------------------------------------------------ frames

ids = st.integers(0, (1 << 31) - 1)
trees = st.integers(0, (1 << 47) - 1)
filters = st.sampled_from([topic("hot"), Range("v", 1, 2.5), attr("x") == "y", EVERYTHING, topic("a") & topic("b")])
frames = st.one_of(
    st.builds(
        Heartbeat,
        trees,
        st.integers(0, (1 << 48) - 1),
        st.integers(0, 255),
        ids | st.just(NOBODY),
        st.lists(st.tuples(ids, ids), max_size=20).map(lambda rows: [x for row in rows for x in row]),
    ),
    st.just(Join()),
    st.builds(
        Subscribe,
        st.integers(0, 65_535),
        st.integers(1, 65_535),
        st.lists(st.tuples(st.integers(0, 99), filters), max_size=PER_FRAME),
        st.lists(st.integers(0, 99), max_size=40),
    ),
    st.builds(EventFrame, st.builds(Event, st.integers(1, 9)), st.just(0), st.integers(0, 9)),
)


@given(frames)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: Frame) -> None:
    check_encoding(SubTree, frame)


@pytest.mark.parametrize("n", [0, 15, 16])
@pytest.mark.parametrize("gone", [0, 15, 16, 256])
def test_sizes_are_right_for_lists_of_every_length(n: int, gone: int) -> None:
    check_encoding(SubTree, Subscribe(1, 2, [(300 * k, topic(f"t{k}")) for k in range(n)], [70_000] * gone))


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(SubTree, b"\xc1" + data)
    try:
        frame = decode(SubTree, data)
    except Malformed:
        return
    check_encoding(SubTree, frame)


@given(st.integers(-1, 4), st.lists(VALUES, max_size=6))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        decode(SubTree, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return


@pytest.mark.parametrize(
    "fields",
    [
        [0, 0, 0, 0, -2, []],
        [0, 0, 0, 0, -1, [1]],
        [0, 0, 0, 256, -1, []],
        [1, 0],
        [2, 0, 0, [], []],
        [2, 0, 1, [[0]], []],
        [2, 0, 1, [[0, [99]]], []],
        [2, 0, 1, [[0, [0]]] * (PER_FRAME + 1), []],
        [2, 0, 1, [], [-1]],
        [4],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(SubTree, msgspec.msgpack.encode(fields))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(frames, st.integers(0, 5), st.sampled_from([0, 50, 700, 3000])), max_size=12), MODES)
def test_no_sequence_of_frames_raises_or_grows_without_bound(script: list[tuple[Frame, int, int]], mode: str) -> None:
    protocol, host = make(SubTree, ScriptHost(3), mode=mode)
    protocol.on_start()
    protocol.on_subscribe(1, topic("a"))
    for frame, sender, ms in script:
        host.hear(protocol, decode(SubTree, encode(SubTree, frame)), sender + 4)
        host.advance(protocol, host.clock_us + ms * 1000)
        for to, sent in host.sent[-3:]:
            if to >= 0:
                protocol.on_undelivered(sent, to)
        assert set(host.timers) <= {TICK, SYNC} and TICK in host.timers
        assert len(protocol.place.labels) <= REMEMBERED


def test_a_copy_that_the_host_hands_up_is_neither_delivered_nor_forwarded() -> None:
    """A restarted host has forgotten which ids are muted."""
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    for sender in (20, 20, 21):
        protocol.on_frame(EventFrame(Event(event_id(1, 1), "a"), 0, 0), sender)
    assert len(host.delivered) == 1 and len(host.frames("event")) == 1


def test_a_publisher_that_forgot_its_own_event_forwards_it_but_does_not_deliver_it() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    host.hear(protocol, EventFrame(Event(event_id(ME, 1), "a"), 0, 0), 20)
    assert host.delivered == [] and len(host.frames("event")) == 1


def test_hops_are_not_counted_on_a_tree() -> None:
    protocol, host = hung()
    host.hear(protocol, EventFrame(Event(event_id(1, 1), "a"), 5, 700), 20)
    assert [(frame.ttl, frame.age_us) for frame in host.frames("event")] == [(0, 700)]


def test_a_restarted_node_has_no_neighbours_and_no_parent() -> None:
    protocol, host = hung()
    child(protocol, host, 20, topic("a"))
    protocol.on_subscribe(1, topic("b"))
    host.timers.clear()
    protocol.on_start()
    assert protocol.neighbours == {} and protocol.links.by_peer == {} and protocol.place.is_root()
    assert keys(to_advertise(protocol.links.filters, 5)) == ["topic b"]
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, []), ROOT)
    host.advance(protocol, host.clock_us + SYNC_US)
    assert [frame.fields()[:2] for frame in host.frames("subscribe")][-1] == [0, 1], "advertised from scratch, and soon"


def test_an_event_with_id_0_is_ignored() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, EVERYTHING)
    host.hear(protocol, EventFrame(Event(0), 0, 0), 20)
    assert host.delivered == [] and host.muted == {}, "it would mute every heartbeat"


# --------------------------------------------------------------------------------------------- trees on random networks


def check_tree(net: TinyNet) -> None:
    """Every connected part has one root, the lowest id; every other node has a parent that lists it; there are no
    rings."""
    for i, node in enumerate(net.nodes):
        if not net.up[i]:
            continue
        part, front = {i}, [i]
        while front:
            at = front.pop()
            more = [b for a, b in net.links if a == at and b not in part and net.up[b]]
            part.update(more)
            front.extend(more)
        assert root_of(node.place.tree) == min(part)
        steps, at = 0, i
        while net.nodes[at].place.parent != NOBODY:
            parent = net.nodes[at].place.parent
            assert net.up[parent] and (parent, at) in net.links
            assert at in net.nodes[parent].links.by_peer and parent in net.nodes[at].links.by_peer
            at, steps = parent, steps + 1
            assert steps <= len(net.nodes), "a ring"
        assert at == min(part) and node.place.level == steps


CONDITIONS = st.sampled_from([{}, {}, {"loss": 0.1}, {"duplication": 0.5}, {"jitter_us": 20_000}])


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 99), CONDITIONS, MODES, st.data())
def test_every_node_finds_a_place_again_after_any_crash_and_events_reach_all_subscribers(
    network: tuple[int, list[tuple[int, int]]], seed: int, conditions: dict[str, Any], mode: str, data: st.DataObject
) -> None:
    n, links = network
    net = TinyNet(SubTree, n, links, seed=seed, mode=mode, **conditions)
    wants = data.draw(st.lists(st.sampled_from(["x", "y", "all", ""]), min_size=n, max_size=n))
    filters = {"x": attr("a") == "x", "y": attr("a").isin("y", "z"), "all": EVERYTHING}

    def subscribe(i: int) -> None:
        if wants[i]:
            net.subscribe(i, filters[wants[i]])

    for i in range(n):
        subscribe(i)
    net.start()
    net.run(10)
    crashed = data.draw(st.lists(st.integers(0, n - 1), max_size=2, unique=True))
    for i in crashed:
        net.crash(i)
    net.run(20)
    net.loss = 0.0
    net.run(25)
    check_tree(net)
    for i in crashed:
        keep = data.draw(st.booleans())
        net.recover(i, keep_tables=keep)
        if not keep:
            subscribe(i)
    net.run(20)
    check_tree(net)
    publisher = data.draw(st.integers(0, n - 1))
    before = len(net.log)
    event = net.publish(publisher, attrs={"a": data.draw(st.sampled_from("xyz"))})
    net.run(1)
    for i in range(n):
        interested = i != publisher and wants[i] and filters[wants[i]].matches(event)
        assert net.delivered(i) == ([event.id] if interested else [])
    if mode == "message":
        assert sum(frame.kind == "event" for *_, frame in net.log[before:]) == n - 1


@settings(max_examples=50, deadline=None)
@given(plans(), MODES)
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(plan: Plan, mode: str) -> None:
    net = weather(SubTree, plan, mode=mode, filters=3, seen=64)
    for i, (host, node) in enumerate(zip(net.hosts, net.nodes, strict=True)):
        assert set(host.timers) <= {TICK, SYNC}
        assert (TICK in host.timers) == net.up[i]
        assert node.place.is_attached() or not net.up[i]
        assert len(node.seen) <= 64 and all(len(link.wanted) <= 3 for link in node.links.by_peer.values())
        filter_table = node.links.filters
        assert set(filter_table.sources) <= {NOBODY, *node.links.by_peer}
        for link in node.links.by_peer.values():
            filters = [*link.wanted.values(), *([EVERYTHING] if link.gets_everything else [])]
            sets = link.sets
            assert filter_table.sources[link.peer] is sets
            assert {*keys(filter_table.covers.members(sets.wanted))} == {key_of(filter) for filter in filters}
            assert len(filters) == sets.wanted.bit_count() + sum(sets.repeated.values())
            assert {*keys(filter_table.covers.members(sets.advertised))} == {*link.advertised} or link.from_scratch


class Taped:
    """A node that records every call of its host, with the time."""

    params_class, frames = SubTree.params_class, SubTree.frames
    tapes: ClassVar[dict[int, list[tuple[int, str, tuple[Any, ...]]]]] = {}

    def __init__(self, host: ScriptHost, params: Any) -> None:
        self.node = SubTree(host, params)
        self.host = host
        self.write("new", params)

    def write(self, what: str, *arguments: Any) -> None:
        self.tapes.setdefault(self.host.id, []).append((self.host.now(), what, arguments))

    def __getattr__(self, name: str) -> Any:
        def recorded(*arguments: Any) -> None:
            self.write(name, *arguments)
            getattr(self.node, name)(*arguments)

        return recorded if name.startswith("on_") else getattr(self.node, name)


@settings(max_examples=15, deadline=None)
@given(plans(), MODES)
def test_replaying_the_calls_of_a_host_has_the_same_effects(plan: Plan, mode: str) -> None:
    Taped.tapes = {}
    net = weather(Taped, plan, mode=mode, filters=3)  # type: ignore[arg-type]
    for host in net.hosts:
        alone = ScriptHost(host.id, plan.seed)
        node = None
        for now, what, arguments in Taped.tapes[host.id]:
            alone.clock_us = now
            if what == "new":
                node = SubTree(alone, *arguments)
            else:
                getattr(node, what)(*arguments)
        assert alone.effects == host.effects


@settings(max_examples=12, deadline=None)
@given(plans(), MODES)
def test_the_same_plan_has_the_same_effects(plan: Plan, mode: str) -> None:
    first, second = (weather(SubTree, plan, mode=mode) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


# ------------------------------------------------------------------------------------------------------------ limits


def test_the_tables_have_limits() -> None:
    protocol, host = make(SubTree, ScriptHost(1), filters=5, seen=8)
    protocol.on_start()
    for i in range(10, 10 + MAX_NEIGHBOURS + 5):
        host.hear(protocol, Heartbeat(tree_name(i, 0.0), 1, 0, NOBODY, []), i)
    assert len(protocol.neighbours) == MAX_NEIGHBOURS
    for i in range(1000, 1000 + MAX_LINKS + 5):
        host.hear(protocol, Join(), i)
    assert len(protocol.links.by_peer) == MAX_LINKS
    host.hear(protocol, Subscribe(0, 1, [(n, topic(f"t{n}")) for n in range(5)], []), 1000)
    assert len(protocol.links.by_peer[1000].wanted) == 5
    host.hear(protocol, Subscribe(1, 2, [(7, topic("t7"))], []), 1000)
    assert len(protocol.links.by_peer[1000].wanted) == 5
    for n in range(20):
        host.hear(protocol, EventFrame(Event(event_id(9, n + 1)), 0, 0), 1000)
    assert len(protocol.seen) == 8


def tables(node: object) -> dict[str, int]:
    """The size of every table within a protocol object, by its path; `*` stands for all entries of a table."""
    sizes: dict[str, int] = {}

    def look(thing: object, name: str) -> None:
        if isinstance(thing, dict | list):
            sizes[name] = sizes.get(name, 0) + len(thing)
            for entry in thing.values() if isinstance(thing, dict) else thing:
                look(entry, name + ".*")
        elif type(thing).__module__.startswith("roamcast.protocols.") and not isinstance(
            thing, Frame | CoverTable | SharedTables | Params
        ):
            for attribute in sorted(attributes(thing)):
                look(getattr(thing, attribute), f"{name}.{attribute}" if name else attribute)

    look(node, "")
    return sizes


def attributes(thing: object) -> set[str]:
    """Attributes of compiled and interpreted objects; the sets of a link belong to the filter table."""
    kept = (GetSetDescriptorType, MemberDescriptorType)
    declared = {name for c in type(thing).__mro__ for name, value in vars(c).items() if isinstance(value, kept)}
    names = declared | set(getattr(thing, "__dict__", {}))
    return {name for name in names if name not in ("host", "sets") and name[:2] != "__"}


TABLES = {"links.by_peer", "links.by_peer.*.early", "links.by_peer.*.wanted", "links.by_peer.*.advertised",
          "links.filters.recent", "links.filters.order", "links.filters.sources",
          "links.filters.sources.*.repeated", "neighbours", "place.labels", "seen", "subscriptions.all",
          "subscriptions.filters"}  # fmt: skip
LINKS = {name for name in TABLES if name.startswith("links.") and name != "links.by_peer"}


CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


@pytest.mark.parametrize("mode", ["subscription", "message"])
def test_under_a_steady_load_no_table_grows_and_no_timer_leaks(mode: str) -> None:
    """Ten minutes. Every second a node changes a subscription, publishes, moves, or crashes."""
    net = TinyNet(SubTree, 6, CHAIN, mode=mode, seen=32, loss=0.05, jitter_us=90_000)
    net.start()
    peaks: list[dict[str, int]] = [{}, {}, {}]
    for second in range(600):
        i = second % 6
        if second % 40 == 19:
            net.crash(i)
            net.run(4)
            net.recover(i, keep_tables=second % 80 == 19)
        net.nodes[i].on_unsubscribe(second // 6 % 3)
        for subscription in (second // 6 % 3, 3):  # each filter is subscribed to twice
            net.subscribe(i, topic(f"s{second}"), subscription)
        net.publish((i + 3) % 6, topic=f"s{second}")
        k = second // 30 % 5
        if second % 30 == 10:
            net.cut(k, k + 1)
        if second % 30 == 20:
            net.join(k, k + 1)
        net.run(1)
        for host in net.hosts:
            assert set(host.timers) <= {TICK, SYNC}
        for node in net.nodes:
            for name, held in tables(node).items():
                peaks[second // 200][name] = max(held, peaks[second // 200].get(name, 0))
    assert set().union(*peaks) <= TABLES
    assert {name for name, held in peaks[2].items() if held} >= TABLES - (set() if mode == "subscription" else LINKS)
    limits = {name: 1.25 * held for name, held in peaks[0].items()}
    assert all(held <= limits[name] for name, held in peaks[2].items()), (peaks[0], peaks[2])
    assert len(SHARED.latest.by_number) <= SHARED.latest.limit == SHARED.limit


def test_a_stable_tree_sends_only_heartbeats() -> None:
    net = TinyNet(SubTree, 8, [(i, i + 1) for i in range(7)])
    for i in range(8):
        net.subscribe(i, topic(f"t{i}"))
    net.start()
    net.run(15)
    before = len(net.log)
    net.run(20)
    assert {frame.kind for *_, frame in net.log[before:]} == {"heartbeat"}


def test_memory_counts_the_filters_of_neighbours() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("own"))
    assert protocol.memory() == (0, 0)
    child(protocol, host, 20, topic("a"), topic("bc"))
    assert protocol.memory() == (2, len("topic a") + len("topic bc"))


def test_parameters_are_documented_and_the_name_is_known() -> None:
    assert registry.get("subtree") is SubTree
    assert parameters.build(SubTree, {}) == SubTreeParams()
    assert all(p.doc and p.source for p in parameters.describe(SubTree))
