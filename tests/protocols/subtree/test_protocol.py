"""The subscription tree: both strategies of Baldoni §II, and one node by hand."""

from __future__ import annotations

import pytest

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import root_of, tree_name
from roamcast.protocols.subtree.frames import PER_FRAME, Heartbeat, Join, Subscribe
from roamcast.protocols.subtree.protocol import SYNC_US, SubTree, SubTreeParams
from roamcast.pubsub.event import LOCAL, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.protocols.subtree.nodes import ME, ROOT, TREE, child, hung
from tests.protocols.subtree.test_filter_table import keys, to_advertise
from tests.support.net import TinyNet

SECOND = 1_000_000


# ---- readings


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


# ---- one node by hand


def got(protocol: SubTree, peer: int) -> list[str]:
    return [str(filter) for filter in protocol.links.by_peer[peer].wanted.values()]


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
