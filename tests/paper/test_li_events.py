"""Li, Khan, Li, sentence by sentence: subscribing, publishing, and events between groups (3.2, 3.3)."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import pytest

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.treegroup.bloom_routing import Masks, filter_bitmap, filter_keys, passes
from roamcast.protocols.treegroup.frames import ACROSS, DOWN, UP, Bitmap, Gateway, GroupEvent, Join, Welcome
from roamcast.protocols.treegroup.gateways import FAINT_LEVELS
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.protocol import TreeGroup
from roamcast.pubsub.bloom import positions
from roamcast.pubsub.event import LOCAL, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost
from tests.paper.li_nodes import (
    G0,
    G1,
    LEADER,
    ME,
    SECOND,
    beat,
    event,
    events_sent,
    leader,
    lost_with,
    member,
    with_child,
)
from tests.support.net import TinyNet

# ---- 3.2 subscribing and publishing


def test_r1_bitmaps_have_1024_bits_and_four_hashes() -> None:
    params = TreeGroupParams()
    assert (params.bits, params.hashes) == (1024, 4)


def test_a_node_keeps_one_bitmap_for_itself_and_one_for_each_child_and_sends_their_union() -> None:
    """§3.2."""
    protocol, host = member()
    protocol.on_subscribe(1, topic("own"))
    with_child(protocol, host, 5, topic("five"))
    host.hear(protocol, Join(0), 6)
    host.hear(protocol, Bitmap(1, filter_bitmap(topic("six"), 1024, 4).to_bytes(128, "little")), 6)
    (to, frame), = [(to, f) for to, f in host.sent if f.kind == "bitmap"]  # fmt: skip
    union = filter_bitmap(topic("own") | topic("five") | topic("six"), 1024, 4)
    assert to == LEADER and int.from_bytes(frame.bitmap, "little") == union
    assert protocol.index.local == filter_bitmap(topic("own"), 1024, 4)
    assert protocol.children[5].bitmap == filter_bitmap(topic("five"), 1024, 4)


def test_a_match_in_the_local_bitmap_is_checked_against_the_subscriptions() -> None:
    """§3.2, §3.6: bitmaps have false positives, so the last node checks its actual subscriptions."""
    protocol, host = member(bits=1, hashes=1)
    protocol.on_subscribe(1, topic("t"))
    host.hear(protocol, GroupEvent(event(1, "false positive"), DOWN, 0, 255, [], []), LEADER)
    assert passes(protocol.index.local, [[0]]) and host.delivered == []
    host.hear(protocol, GroupEvent(event(2, "t"), DOWN, 0, 255, [], []), LEADER)
    assert host.delivered == [event(2, "t")]


def test_an_event_goes_to_each_child_whose_bitmap_it_passes_except_the_sender() -> None:
    """§3.2: a child gets the event if its bitmap matches."""
    protocol, host = member()
    for child, name in ((4, "t"), (5, "t"), (6, "u")):
        with_child(protocol, host, child, topic(name))
    host.hear(protocol, GroupEvent(event(), UP, 0, 255, [], []), 4)
    assert events_sent(host) == [(5, DOWN, []), (LEADER, UP, [])]


def test_an_event_from_the_parent_does_not_go_back_up() -> None:
    """§3.2: only events that did not come from the parent are sent up."""
    protocol, host = member()
    host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [], []), LEADER)
    assert events_sent(host) == [] and host.labels("suppress") == ["no branch"]


@pytest.mark.parametrize("climb, goes_up", [("always", True), ("unmatched", False)])
def test_r4_a_matched_event_goes_up_nevertheless_except_under_the_literal_rule(climb: str, goes_up: bool) -> None:
    """§3.2 literally: the parent gets the event only if neither the own bitmap nor that of a child matches."""
    for own in (True, False):
        protocol, host = member(climb=climb)
        if own:
            protocol.on_subscribe(1, topic("t"))
        else:
            with_child(protocol, host, 5, topic("t"))
        protocol.on_publish(event(1))
        assert ((LEADER, UP, []) in events_sent(host)) == goes_up
        protocol.on_publish(event(2, "unmatched"))
        assert events_sent(host)[-1] == (LEADER, UP, [])


def words(*wanted: int) -> str:
    """A topic with these positions in 12 bits by two hashes, found by trying."""
    for n in range(100_000):
        if sorted(positions(filter_keys(topic(f"s{n}"))[0], 12, 2)) == sorted(wanted):
            return f"s{n}"
    raise AssertionError


def test_figure_1_intra_group_subscribing_and_publishing() -> None:
    """A has children B and C, B has D and E, C has F. S_B maps to 2 and 3, S_F to 5 and 10. D publishes S_F: it goes
    D → B → A → C → F and nowhere else; F verifies it."""
    a, b, c, d, e, f = range(6)
    net = TinyNet(
        TreeGroup, 6, [(a, b), (a, c), (b, d), (b, e), (c, f)], bits=12, hashes=2, wf1=1, wf2=0, wf3=0, wf4=0
    )  # fmt: skip
    for i in (b, c, d, e, f):
        net.hosts[i].battery_left = 0.1
    s_b, s_f, s_e = words(2, 3), words(5, 10), words(0, 7)
    net.subscribe(b, topic(s_b))
    net.subscribe(e, topic(s_e))
    net.subscribe(f, topic(s_f))
    net.start()
    net.run(10)
    assert [n.place.parent for n in net.nodes] == [NOBODY, a, a, b, b, c]
    assert net.nodes[b].index.local == 1 << 2 | 1 << 3
    assert net.nodes[b].children[e].bitmap == 1 << 0 | 1 << 7
    assert net.nodes[a].children[b].bitmap == net.nodes[b].index.merged_bitmap() == 1 << 0 | 1 << 2 | 1 << 3 | 1 << 7
    assert net.nodes[a].children[c].bitmap == net.nodes[c].children[f].bitmap == 1 << 5 | 1 << 10
    published = net.publish(d, topic=s_f)
    net.run(1)
    assert [(sender, to) for _, sender, to, _ in net.sends("event")] == [(d, b), (b, a), (a, c), (c, f)]
    assert [net.delivered(i) for i in range(6)] == [[], [], [], [], [], [published.id]]


def test_every_node_has_a_summary_of_its_branch_and_the_root_of_the_whole_tree() -> None:
    """§3.2: bitmaps are merged on their way up, so that the leader's bitmap contains all subscriptions."""
    net = TinyNet(TreeGroup, 7, [(i, (i - 1) // 2) for i in range(1, 7)], wf1=1, wf2=0, wf3=0, wf4=0)
    for i in range(7):
        net.hosts[i].battery_left = 1.0 if i == 0 else 0.1
        net.subscribe(i, topic(f"t{i}"))
    net.start()
    net.run(12)
    assert [n.place.parent for n in net.nodes] == [NOBODY, 0, 0, 1, 1, 2, 2]
    for top, branch in ((0, range(7)), (1, (1, 3, 4)), (2, (2, 5, 6)), (5, (5,))):
        own = [filter_bitmap(topic(f"t{i}"), 1024, 4) for i in branch]
        assert net.nodes[top].index.merged_bitmap() == reduce(or_, own)


def test_a_bit_that_two_subscriptions_set_stays_until_both_are_removed() -> None:
    """§3.2: several keys may set a bit. A bit that is 0 proves that a key is not in the set."""
    protocol, _ = member(bits=12, hashes=2)
    for k, name in enumerate((words(2, 3), words(3, 10))):
        protocol.on_subscribe(k, topic(name))
    assert protocol.index.local == 1 << 2 | 1 << 3 | 1 << 10
    protocol.on_unsubscribe(0)
    assert protocol.index.local == 1 << 3 | 1 << 10
    assert passes(protocol.index.local, Masks(event(name=words(3, 10))).of(12, 2))
    assert not passes(protocol.index.local, Masks(event(name=words(2, 3))).of(12, 2))


def test_inside_a_group_nodes_send_to_parents_and_children_only() -> None:
    """§3: everything goes over the tree's links; only gateways send to other groups."""
    net = TinyNet(TreeGroup, 9, [(i, k) for i in range(9) for k in range(i + 1, min(i + 4, 9))], max_level=2)
    for i in range(9):
        net.subscribe(i, topic("t"))
    net.start()
    net.run(20)
    net.log.clear()
    for i in (0, 4, 8):
        net.publish(i, topic="t")
    net.run(0.05)
    assert net.sends("event")
    for _, sender, to, _ in net.sends("event"):
        one, other = net.nodes[sender].place, net.nodes[to].place
        assert one.parent == to or other.parent == sender or one.tree != other.tree


# ---- 3.3 between groups


def two_gateways(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    """A leader with children 5 and 6; both branches have gateways to G0, 6 alone to G1."""
    protocol, host = leader(**params)
    for child in (5, 6):
        with_child(protocol, host, child)
    host.hear(protocol, Gateway(1, [[G0, 50, 3, True]]), 5)
    host.hear(protocol, Gateway(1, [[G0, 60, 2, True], [G1, 61, 4, True]]), 6)
    return protocol, host


def test_gateways_send_what_they_know_to_the_leader() -> None:
    """§3.3: leaders learn about adjacent groups by periodic reports of their gateways."""
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=3, parent=99, open=False), 5)
    host.advance(protocol, 1_000_000)
    assert [(to, f.fields()) for to, f in host.sent if f.kind == "gateway"] == [(20, [1, [[G1, ME, 2, False]]])]


def test_nodes_on_the_way_pass_on_the_closest_gateway_to_each_group() -> None:
    protocol, host = member(level=1)
    for child in (5, 6):
        with_child(protocol, host, child)
    host.advance(protocol, 1000)
    host.hear(protocol, Gateway(1, [[G1, 50, 4, True]]), 5)
    host.hear(protocol, Gateway(1, [[G1, 60, 3, True]]), 6)
    host.hear(protocol, Gateway(2, [[G1, 50, 5, True]]), 5)
    records = [f.records for f in host.frames("gateway")]
    assert records == [[[G1, 50, 4, True]], [[G1, 60, 3, True]]]


def test_of_several_gateways_to_a_group_the_one_closest_to_the_leader_is_chosen() -> None:
    """§3.3."""
    protocol, host = two_gateways()
    host.hear(protocol, GroupEvent(event(), UP, 0, 255, [], []), 5)
    assert events_sent(host) == [(6, DOWN, [G0, G1])]


def test_the_event_goes_down_to_the_gateway_and_across_to_the_other_group() -> None:
    """§3.3: events go to other groups through the gateways of their own group."""
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=3, parent=99), 5)
    host.hear(protocol, beat(G1, level=2, parent=99), 6)
    protocol.index.find_routes()
    host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [G0], [G1]), 20)
    assert events_sent(host) == [(6, ACROSS, [])], "to the peer that is higher in its tree"


def test_in_the_other_group_an_event_is_treated_like_a_published_one() -> None:
    protocol, host = member()
    protocol.on_subscribe(1, topic("t"))
    with_child(protocol, host, 5, topic("t"))
    host.hear(protocol, GroupEvent(event(), ACROSS, 0, 255, [G1], []), 40)
    assert host.delivered == [event()]
    assert events_sent(host) == [(5, DOWN, []), (LEADER, UP, [])]


def test_a_node_that_has_the_event_still_takes_it_down_to_a_gateway() -> None:
    """The event passed the node on its way up. The frame that the leader sends down for another group must not be
    muted."""
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=2, parent=99), 6)
    protocol.index.find_routes()
    protocol.on_publish(event())
    host.sent.clear()
    host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [G0], [G1]), 20)
    host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [G0], [G1]), 20)
    assert events_sent(host) == [(6, ACROSS, [])]


def test_r13_a_leader_sends_an_event_only_to_groups_that_did_not_get_it() -> None:
    protocol, host = two_gateways()
    host.hear(protocol, GroupEvent(event(), UP, 0, 255, [G1], []), 5)
    assert events_sent(host) == [(6, DOWN, [G0])]
    assert host.frames("event")[-1].groups == [G1, protocol.place.tree, G0]


@pytest.mark.parametrize("local_groups, expected", [(0, []), (1, [(6, DOWN, [G0, G1])])])
def test_r12_local_events_stay_in_the_group_or_go_to_a_few_adjacent_ones(
    local_groups: int, expected: list[tuple[int, int, list[int]]]
) -> None:
    """§3.3: a local event stays in its group, or goes to some adjacent groups."""
    protocol, host = two_gateways(local_groups=local_groups)
    protocol.on_publish(event(scope=LOCAL))
    assert events_sent(host) == expected
    assert [frame.reach for frame in host.frames("event")] == [1] * len(expected)


def test_r12_each_group_entered_counts() -> None:
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=2, parent=99), 6)
    protocol.index.find_routes()
    host.hear(protocol, GroupEvent(event(scope=LOCAL), DOWN, 0, 1, [G0], [G1]), 20)
    assert host.frames("event")[-1].reach == 0
    protocol, host = two_gateways()
    host.hear(protocol, GroupEvent(event(scope=LOCAL), UP, 0, 0, [], []), 5)
    assert events_sent(host) == []


def test_global_events_are_delivered_all_over_the_network() -> None:
    """§3.3: three groups in a row; a local event does not reach all of them."""
    net = TinyNet(TreeGroup, 6, [(i, i + 1) for i in range(5)], max_level=1, preferred_levels=1, local_groups=0)
    for i in range(6):
        net.subscribe(i, topic("t"))
    net.start()
    net.run(25)
    assert len({n.place.tree for n in net.nodes}) >= 2
    everywhere = net.publish(0, topic="t")
    here = net.publish(0, topic="t", scope=LOCAL)
    net.run(2)
    assert all(everywhere.id in net.delivered(i) for i in range(1, 6))
    for i in range(1, 6):
        assert (here.id in net.delivered(i)) == (net.nodes[i].place.tree == net.nodes[0].place.tree)


def test_r16_a_gateway_without_a_peer_gives_the_event_back_once() -> None:
    protocol, host = member(level=2)
    for _ in range(2):
        host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [G0], [G1]), 20)
    assert events_sent(host) == [(20, UP, [G1])]
    above, there = two_gateways()
    there.hear(above, GroupEvent(event(), UP, 0, 255, [], []), 5)
    there.sent.clear()
    there.hear(above, Gateway(2, []), 6)
    there.hear(above, GroupEvent(event(), UP, 0, 255, [], [G0]), 6)
    assert events_sent(there) == [(5, DOWN, [G0])], "the leader uses the other gateway"


def test_r18_a_gateway_whose_peers_are_faint_counts_as_farther() -> None:
    protocol, host = member(level=2)
    host.signal_dbm = -90.0
    host.hear(protocol, beat(G1, level=2, parent=99), 6)
    protocol.index.find_routes()
    assert protocol.index.routes[G1].level == 2 + FAINT_LEVELS
    host.signal_dbm = -86.9
    host.hear(protocol, beat(G1, level=4, parent=99), 5)
    protocol.index.find_routes()
    assert protocol.index.routes[G1].level == 2


def valid_for(us: int) -> Event:
    return Event(event_id(50, 1), "t", validity_us=us)


@pytest.mark.parametrize("age_us, arrives", [(999_999, True), (1_000_000, False)])
def test_r19_an_event_past_its_validity_is_neither_delivered_nor_forwarded(age_us: int, arrives: bool) -> None:
    """§3.3: an event that comes too late has no value."""
    protocol, host = member()
    protocol.on_subscribe(1, topic("t"))
    with_child(protocol, host, 5, topic("t"))
    host.hear(protocol, GroupEvent(valid_for(SECOND), DOWN, age_us, 255, [], []), LEADER)
    assert len(host.delivered) == arrives and events_sent(host) == ([(5, DOWN, [])] if arrives else [])
    assert host.labels("drop") == ([] if arrives else ["expired"])


@pytest.mark.parametrize("validity_us, sent_on", [(500_000, False), (500_001, True)])
def test_r19_an_event_that_expires_while_it_waits_is_not_sent(validity_us: int, sent_on: bool) -> None:
    protocol, host = lost_with((5, beat(G1, level=3, parent=99)))
    protocol.on_publish(valid_for(validity_us))
    host.clock_us += 500_000
    host.hear(protocol, Welcome(G1, 1, 3), 5)
    assert events_sent(host) == ([(5, UP, [])] if sent_on else [])
    assert host.labels("drop") == ([] if sent_on else ["expired"])


@pytest.mark.parametrize("way", [UP, DOWN, ACROSS])
def test_r19_an_event_that_expires_on_the_way_is_not_sent_another_way(way: int) -> None:
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=2, parent=99), 6)
    host.hear(protocol, GroupEvent(valid_for(500_000), DOWN, 0, 255, [], []), 20)
    host.sent.clear()
    host.clock_us += 500_000
    protocol.routing.undelivered(GroupEvent(valid_for(500_000), way, 0, 255, [], []), 6)
    assert host.sent == [] and protocol.routing.waiting == []
    assert host.labels("drop") == ["expired"]


def test_r20_only_the_parent_and_a_child_that_gives_back_may_name_groups() -> None:
    for sender, way, believed in ((20, DOWN, True), (5, DOWN, False), (8, DOWN, False), (5, UP, True), (8, UP, False)):
        protocol, host = member(level=2)
        with_child(protocol, host, 5)
        host.hear(protocol, beat(G1, level=2, parent=99), 6)
        protocol.index.find_routes()
        host.hear(protocol, GroupEvent(event(), ACROSS, 0, 255, [], []), 40)
        host.sent.clear()
        host.hear(protocol, GroupEvent(event(), way, 0, 255, [], [G1]), sender)
        assert events_sent(host) == ([(6, ACROSS, [])] if believed else [])
        assert host.labels("drop") == ([] if believed else ["stranger"])


@pytest.mark.parametrize("sender, way", [(8, DOWN), (8, UP), (5, DOWN)])
def test_r20_without_the_check_any_node_may_name_groups(sender: int, way: int) -> None:
    protocol, host = member(level=2, strangers="believed")
    with_child(protocol, host, 5)
    host.hear(protocol, beat(G1, level=2, parent=99), 6)
    protocol.index.find_routes()
    host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [], []), 20)
    host.sent.clear()
    host.hear(protocol, GroupEvent(event(), way, 0, 255, [], [G1]), sender)
    assert events_sent(host) == [(6, ACROSS, [])] and host.labels("drop") == []


def test_r20_the_event_itself_is_accepted_from_any_node() -> None:
    protocol, host = member()
    protocol.on_subscribe(1, topic("t"))
    with_child(protocol, host, 5, topic("t"))
    host.hear(protocol, GroupEvent(event(), DOWN, 0, 255, [], [G1]), 40)
    assert host.delivered == [event()] and events_sent(host) == [(5, DOWN, [])]
