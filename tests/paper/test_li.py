"""Li, Khan, Li: An efficient event delivery scheme in mobile ad hoc communities (2013), sentence by sentence.

Sections are those of the paper. Readings (R1 …) are those of `roamcast.protocols.treegroup.protocol`.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

import pytest

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import root_of, tree_name
from roamcast.protocols.treegroup.bloom_routing import (
    Masks,
    combinations,
    event_keys,
    filter_bitmap,
    filter_keys,
    passes,
    value_part,
)
from roamcast.protocols.treegroup.frames import (
    ACROSS,
    DOWN,
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
from roamcast.protocols.treegroup.leader import clustering, dissemination
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.protocols.treegroup.tables import ANSWER_US
from roamcast.pubsub.bloom import positions
from roamcast.pubsub.event import GLOBAL, LOCAL, Event, event_id
from roamcast.pubsub.filters import Filter, attr, topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet

SECOND = 1_000_000
ME, LEADER = 3, 7
G0, G1 = tree_name(LEADER, 0.5), tree_name(8, 0.5)


def beat(
    tree: int = G0, count: int = 1, level: int = 0, parent: int = NOBODY, children: tuple[int, ...] = (), **more: Any
) -> Heartbeat:
    weight, neighbours = more.get("weight", 0), more.get("neighbours", [])
    open, members, depth = more.get("open", True), more.get("members", 9), more.get("depth", 1)
    return Heartbeat(tree, count, level, parent, weight, open, members, depth, list(children), neighbours)


def node(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    protocol, host = make(TreeGroup, ScriptHost(ME), **params)
    protocol.on_start()
    return protocol, host


def member(level: int = 1, **params: Any) -> tuple[TreeGroup, ScriptHost]:
    """A node at this level of G0, below node 20 or below the leader."""
    protocol, host = node(**params)
    parent = LEADER if level == 1 else 20
    protocol.membership.requested = parent
    host.hear(protocol, beat(level=level - 1, parent=NOBODY if level == 1 else 99), parent)
    host.hear(protocol, Welcome(G0, 1, level - 1), parent)
    assert protocol.place.parent == parent and protocol.place.level == level
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def leader(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    protocol, host = node(**params)
    protocol.membership.lead()
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def with_child(protocol: TreeGroup, host: ScriptHost, id: int, filter: Filter | None = None) -> None:
    host.hear(protocol, Join(0), id)
    if filter is not None:
        p = protocol.params
        bitmap = filter_bitmap(filter, p.bits, p.hashes)
        host.hear(protocol, Bitmap(1, bitmap.to_bytes((p.bits + 7) // 8, "little")), id)
    host.sent.clear()
    host.notes.clear()


def event(n: int = 1, name: str = "t", scope: int = GLOBAL) -> Event:
    return Event(event_id(50, n), name, scope=scope)


def sent(host: ScriptHost) -> list[tuple[int, str]]:
    return [(to, frame.kind) for to, frame in host.sent]


def events_sent(host: ScriptHost) -> list[tuple[int, int, list[int]]]:
    return [(to, frame.way, frame.targets) for to, frame in host.sent if isinstance(frame, GroupEvent)]


# ------------------------------------------------------------------------------------- 3.1 the weight of a leader (R3)


def test_the_weight_is_the_weighted_sum_of_power_signal_clustering_and_dissemination() -> None:
    """§3.1: W = wf1 P_A + wf2 s + wf3 C_L + wf4 Δdd. R3: every term in [0, 1], factors 0.25."""
    protocol, host = node()
    assert (protocol.params.wf1, protocol.params.wf2, protocol.params.wf3, protocol.params.wf4) == (0.25,) * 4
    host.battery_left = 0.8
    host.signal_dbm = -70.0  # half way between -95 and -45
    host.hear(protocol, beat(0, neighbours=[5, 6, 9, 10]), 4)
    host.hear(protocol, beat(0, neighbours=[4]), 5)
    host.hear(protocol, beat(0, neighbours=[]), 6)
    assert clustering(protocol.neighbours) == pytest.approx(2 / 3), "4-5 and 4-6 of three pairs"
    assert dissemination(protocol.neighbours) == pytest.approx(3 / 4), (
        "three neighbours; the neighbour with the most has four"
    )
    assert protocol.membership.candidacy.weight() == round(1000 * 0.25 * (0.8 + 0.5 + 2 / 3 + 3 / 4))


@pytest.mark.parametrize(
    "dbm, s", [(float("nan"), 0.5), (-95.0, 0.0), (-120.0, 0.0), (-45.0, 1.0), (-20.0, 1.0), (-60.0, 0.7)]
)
def test_r3_the_signal_strength_is_mapped_to_the_unit_interval(dbm: float, s: float) -> None:
    protocol, host = node(wf1=0, wf2=1, wf3=0, wf4=0)
    host.signal_dbm = dbm
    host.hear(protocol, beat(0), 4)
    assert protocol.membership.candidacy.weight() == round(1000 * s)


def test_r3_a_node_alone_has_neither_clustering_nor_dissemination() -> None:
    protocol, host = node()
    host.battery_left = 1.0
    assert protocol.membership.candidacy.weight() == round(1000 * (0.25 + 0.25 * 0.5))


def test_r3_every_node_lists_its_neighbours_in_every_heartbeat() -> None:
    """With a group or without: nodes that look for a leader need them for C_L and Δdd."""
    for protocol, host in (node(), member(), leader()):
        for id in (9, 4, 6):
            host.hear(protocol, beat(0), id)
        host.advance(protocol, 1_100_000)
        assert host.frames("heartbeat")[-1].neighbours == sorted(protocol.neighbours)
        assert {4, 6, 9} <= set(protocol.neighbours)


def test_r3_a_node_that_loses_its_group_knows_its_weight_from_nodes_with_a_group() -> None:
    """4, 5 and 20, the lost parent, are all members; no heartbeat comes between the loss and the election."""
    protocol, host = member(level=2, wf1=0, wf2=0, wf3=0.5, wf4=0.5, missed=9)
    host.hear(protocol, beat(G0, level=9, parent=99, neighbours=[ME, 5, 30, 31]), 4)
    host.hear(protocol, beat(G0, level=9, parent=99, neighbours=[ME, 4]), 5)
    host.hear(protocol, beat(0, neighbours=[ME]), 20)
    assert protocol.place.tree == 0
    assert host.frames("heartbeat")[-1].weight == round(1000 * 0.5 * (1 / 3 + 3 / 4))


def test_r3_after_the_loss_of_a_leader_the_best_remaining_node_leads() -> None:
    """0 leads 1 to 4. Without it 1-2-3 is a triangle and 4 is linked to 1 only: C_L is 1/3 for 1, 1 for 2 and 3, 0 for
    4."""
    links = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (1, 3), (1, 4)]
    net = TinyNet(TreeGroup, 5, links, wf1=0.5, wf2=0, wf3=0.5, wf4=0)
    for i in range(1, 5):
        net.hosts[i].battery_left = 0.0
    net.start()
    net.run(10)
    assert {root_of(n.place.tree) for n in net.nodes} == {0}
    net.crash(0)
    net.run(15)
    assert {root_of(n.place.tree) for n in net.nodes[1:]} == {2}


def test_weighing_factors_are_chosen_according_to_requirements() -> None:
    """§3.1."""
    protocol, host = node(wf1=0.5, wf2=0, wf3=0, wf4=0)
    host.battery_left = 0.4
    assert protocol.membership.candidacy.weight() == 200


# ------------------------------------------------------------------------------------------------- 3.1 finding a group


def test_a_joining_node_tries_to_find_a_group_to_join() -> None:
    """§3.1."""
    protocol, host = node()
    host.hear(protocol, beat(level=2, parent=99), 4)
    assert sent(host) == [(4, "join")]


def test_without_a_group_to_join_a_capable_node_becomes_leader() -> None:
    """§3.1. R7: after a heartbeat of listening and (1 − W) · election_s, if no neighbour has a higher weight."""
    protocol, host = node(wf1=1, wf2=0, wf3=0, wf4=0, election_s=4.0)
    host.battery_left = 0.5
    host.hear(protocol, beat(0, weight=400), 4)
    host.advance(protocol, 2_999_999)
    assert protocol.membership.requested == NOBODY and protocol.place.tree == 0
    host.advance(protocol, 4_200_000)
    assert protocol.place.is_root() and protocol.place.level == 0
    assert root_of(protocol.place.tree) == ME


def test_r7_a_node_waits_for_a_neighbour_that_would_lead_better() -> None:
    protocol, host = node(wf1=1, wf2=0, wf3=0, wf4=0, election_s=4.0, missed=9)
    host.battery_left = 0.5
    host.hear(protocol, beat(0, weight=501), 4)
    host.advance(protocol, 4_500_000)
    assert not protocol.place.is_root()
    host.advance(protocol, 7_000_000)
    assert protocol.place.is_root(), "it does not wait for ever"


def test_each_node_knows_its_group_the_leader_and_its_level() -> None:
    """§3.1: a node knows its group, its leader and its level, which is counted from 0 at the root."""
    net = TinyNet(TreeGroup, 4, [(0, 1), (1, 2), (2, 3)], wf1=1, wf2=0, wf3=0, wf4=0)
    for i in range(1, 4):
        net.hosts[i].battery_left = 0.1
    net.start()
    net.run(8)
    assert [n.place.level for n in net.nodes] == [0, 1, 2, 3]
    assert {root_of(n.place.tree) for n in net.nodes} == {0}


def test_r8_a_new_node_takes_a_place_within_the_preferred_levels_or_leads() -> None:
    protocol, host = node(preferred_levels=4, election_s=0.0, missed=20)
    host.hear(protocol, beat(level=4, parent=99), 4)
    assert host.frames("join") == [], "it would be at level 5"
    host.advance(protocol, 2_100_000)
    assert protocol.place.is_root()
    protocol, host = node(preferred_levels=4)
    host.hear(protocol, beat(level=3, parent=99), 4)
    assert sent(host) == [(4, "join")]


def test_r8_a_node_that_cannot_lead_finally_takes_a_deeper_place() -> None:
    protocol, host = node(preferred_levels=4, election_s=0.0, missed=20)
    host.hear(protocol, beat(level=4, parent=99), 4)
    host.hear(protocol, beat(0, weight=60_000), 5)
    host.advance(protocol, 2_900_000)
    assert host.frames("join") == []
    host.advance(protocol, 4_400_000)
    assert (4, "join") in sent(host)


def test_r9_a_leader_without_members_looks_for_a_group() -> None:
    protocol, host = leader()
    host.hear(protocol, beat(level=5, parent=99), 4)
    assert sent(host) == [(4, "join")]
    host.hear(protocol, Welcome(G0, 1, 5), 4)
    assert protocol.place.parent == 4 and protocol.place.level == 6


def test_r9_of_two_such_neighbours_the_higher_id_joins() -> None:
    protocol, host = leader()
    host.hear(protocol, beat(tree_name(4, 0.5), members=1), 4)
    assert host.frames("join") == []
    host.hear(protocol, beat(tree_name(2, 0.5), members=1), 2)
    assert sent(host) == [(2, "join")]


# ----------------------------------------------------------------------------------------------------- 3.1 Algorithm 1


def test_algorithm_1_lines_1_and_2_a_member_above_the_limit_adds_the_node() -> None:
    """N1's parent is N0, its level N0's plus one; N0 notifies N1 about the group and the root."""
    protocol, host = member(level=8)
    host.hear(protocol, Join(500), 5)
    assert 5 in protocol.children
    assert host.sent[-1] == (5, host.sent[-1][1]) and host.sent[-1][1].fields() == [G0, 1, 8]
    other, there = make(TreeGroup, ScriptHost(5))
    other.on_start()
    other.membership.request(ME)
    there.hear(other, Welcome(G0, 1, 8), ME)
    assert (other.place.parent, other.place.level, root_of(other.place.tree)) == (ME, 9, LEADER)


def test_algorithm_1_line_1_at_the_maximum_level_no_node_is_added() -> None:
    """§3.1: a node at the maximum level takes no children. Table 1: maximum level 9."""
    protocol, host = member(level=9)
    assert protocol.params.max_level == 9
    host.hear(protocol, Join(500), 5)
    assert protocol.children == {}
    assert host.sent[-1][1].fields() == [0, 0, 0]


def test_algorithm_1_lines_4_and_5_a_node_without_a_group_is_added_to_the_others_group() -> None:
    """R5: the heartbeat of a node with a group replaces its request; N0 sends a request to N1, which checks the level
    (R6)."""
    protocol, host = node()
    host.hear(protocol, beat(G1, count=4, level=2, parent=99), 5)
    assert sent(host) == [(5, "join")]
    host.hear(protocol, Welcome(G1, 4, 2), 5)
    assert (protocol.place.parent, protocol.place.tree, protocol.place.level) == (5, G1, 3)


def test_r6_line_5_does_not_exceed_the_maximum_level_either() -> None:
    protocol, host = node()
    host.hear(protocol, beat(G1, count=4, level=9, parent=99), 5)
    assert host.sent == []
    protocol.membership.request(5)
    host.hear(protocol, Welcome(G1, 4, 9), 5)
    assert protocol.place.parent == NOBODY


def test_algorithm_1_line_7_two_nodes_without_a_group_create_one_and_the_weight_decides() -> None:
    protocol, host = node(wf1=1, wf2=0, wf3=0, wf4=0)
    host.battery_left = 0.5
    host.hear(protocol, Join(499), 5)
    assert protocol.place.is_root() and 5 in protocol.children
    assert host.sent[-1][1].kind == "welcome"

    protocol, host = node(wf1=1, wf2=0, wf3=0, wf4=0)
    host.battery_left = 0.5
    host.hear(protocol, Join(501), 5)
    assert not protocol.place.is_root() and sent(host) == [(5, "join")], "N1 is to lead"


@pytest.mark.parametrize("n1, leads", [(2, False), (5, True)])
def test_r6_between_equal_weights_the_lower_id_leads(n1: int, leads: bool) -> None:
    protocol, host = node(wf1=1, wf2=0, wf3=0, wf4=0)
    host.battery_left = 0.5
    host.hear(protocol, Join(500), n1)
    assert protocol.place.is_root() == leads


def test_r6_a_member_at_the_limit_stays_and_the_other_leads_alone() -> None:
    n0, host = member(level=9)
    host.hear(n0, Join(1), 5)
    assert n0.place.parent == 20 and n0.place.level == 9
    n1, there = make(TreeGroup, ScriptHost(5))
    n1.on_start()
    n1.membership.request_any()
    there.hear(n1, Welcome(0, 0, 0), ME)
    assert not n1.place.is_root(), "other nodes may still answer"
    there.advance(n1, ANSWER_US)
    assert n1.place.is_root()


def test_r5_a_node_that_hears_another_group_becomes_a_gateway() -> None:
    """§3.1: N1, of group G1, is then the gateway between G1 and the group G0 of N0."""
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=3, parent=99), 5)
    protocol.index.find_routes()
    assert (protocol.index.routes[G1].gateway, protocol.index.routes[G1].level, protocol.index.routes[G1].via) == (
        ME,
        2,
        NOBODY,
    )
    assert protocol.place.tree == G0, "and stays in its own group"


# --------------------------------------------------------------------------------------------------------- 3.1 merging


def test_merging_is_proposed_periodically_by_a_leader_through_a_boundary_node() -> None:
    """§3.1: neighbouring groups periodically try to merge, through a boundary node."""
    protocol, host = leader(merge_s=5.0)
    with_child(protocol, host, 5)
    host.hear(protocol, Gateway(1, [[G0, 5, 1, True]]), 5)
    for now in (1_000_000, 3_000_000, 4_900_000, 6_200_000):
        assert host.frames("merge") == []
        host.hear(protocol, beat(protocol.place.tree, level=1, parent=ME), 5)
        host.advance(protocol, now)
    (to, frame), = [(to, f) for to, f in host.sent if f.kind == "merge"]  # fmt: skip
    assert to == 5 and isinstance(frame, Propose)
    assert (frame.target, frame.gateway, frame.members, frame.depth, frame.reach) == (G0, 5, 10, 2, 1)


def test_a_saturated_group_is_not_proposed_to_and_does_not_propose() -> None:
    """§3.1: only groups with room for more levels and members merge. R8."""
    for open, depth, members in ((False, 0, 1), (True, 3, 1), (True, 0, 127)):
        protocol, host = leader()
        with_child(protocol, host, 5)
        for _ in range(8):
            host.hear(protocol, beat(protocol.place.tree, level=1, parent=ME, depth=depth, members=members), 5)
            host.hear(protocol, Gateway(1, [[G0, 5, 1, open]]), 5)
            host.advance(protocol, host.clock_us + SECOND)
        assert host.frames("merge") == []


def test_the_boundary_node_passes_the_proposal_across_with_the_length_of_the_way() -> None:
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, level=3, parent=99), 5)
    host.hear(protocol, Propose(G0, G1, ME, 6, 2, 2, [LEADER, 20]), 20)
    (to, frame), = [(to, f) for to, f in host.sent if f.kind == "merge"]  # fmt: skip
    assert to == 5 and frame.fields() == [G0, G1, ME, 6, 2, 2 + 1 + 3, [LEADER, 20, ME]]


def decided(frame: Propose, depth: int = 1, members: int = 9, **params: Any) -> Accept | None:
    """The answer of a leader of `members` + 1 nodes in `depth` + 1 levels."""
    protocol, host = leader(**params)
    with_child(protocol, host, 5)
    host.hear(protocol, beat(protocol.place.tree, level=1, parent=ME, depth=depth, members=members), 5)
    frame = Propose(frame.source, protocol.place.tree, *frame.fields()[2:])
    host.hear(protocol, frame, 5)
    answers = [f for f in host.frames("merge") if isinstance(f, Accept)]
    return answers[0] if answers else None


def test_the_other_leader_agrees_and_the_answer_goes_back_to_the_boundary_node() -> None:
    """§3.1: both leaders must agree to merge."""
    answer = decided(Propose(G1, 0, 30, 3, 1, 3, [8, 30, 31, 5]))
    assert answer is not None and (answer.turner, answer.below, answer.route) == (30, 31, [8, 30, 31])


@pytest.mark.parametrize(
    "reach, depth, members, agrees",
    [(7, 2, 3, True), (8, 2, 3, False), (3, 1, 118, True), (3, 1, 119, False)],
)
def test_merging_does_not_exceed_the_limit_of_levels_or_members(
    reach: int, depth: int, members: int, agrees: bool
) -> None:
    """§3.1: the merged group keeps to the limits of depth and size."""
    assert (decided(Propose(G1, 0, 30, members, depth, reach, [8, 30, 31, 5])) is not None) == agrees


@pytest.mark.parametrize(
    "own_depth, other_depth, other_members, turner",
    [
        (2, 1, 10, 30),  # with this leader the tree is shallower: the other group turns
        (1, 2, 10, 31),
        (1, 1, 9, 30),  # equally deep: the larger group stays
        (1, 1, 11, 31),
        (1, 1, 10, 30),  # then the lower name
    ],
)
def test_r10_the_leader_whose_tree_is_more_balanced_leads(
    own_depth: int, other_depth: int, other_members: int, turner: int
) -> None:
    """§3.1: the leader with the better balanced merged tree stays."""
    answer = decided(Propose(G1, 0, 30, other_members, other_depth, 3, [8, 30, 31, 5]), own_depth - 1, 9)
    assert answer is not None and answer.turner == turner and {answer.turner, answer.below} == {30, 31}


def test_of_several_boundary_nodes_the_one_closest_to_the_leader_is_proposed() -> None:
    """§3.1: the leader chooses the node that is best for the balance of the tree: here the one with the shortest
    way."""
    protocol, host = leader()
    for child in (5, 6):
        with_child(protocol, host, child)
    host.hear(protocol, Gateway(1, [[G0, 50, 3, True], [G1, 51, 2, True]]), 5)
    host.hear(protocol, Gateway(1, [[G0, 60, 2, True], [G1, 61, 4, True]]), 6)
    assert (protocol.index.routes[G0].gateway, protocol.index.routes[G1].gateway) == (60, 51)


def test_r11_a_group_turns_from_the_boundary_node_to_the_old_leader() -> None:
    """0-1-2 and 3-4-5 in a row, with leaders at the two ends; in the end all are below one leader, through 2 and 3."""
    net = TinyNet(
        TreeGroup, 6, [(0, 1), (1, 2), (3, 4), (4, 5)], wf1=1, wf2=0, wf3=0, wf4=0, election_s=1.0, merge_s=2.0
    )  # fmt: skip
    for i in range(6):
        net.hosts[i].battery_left = 1.0 if i in (0, 5) else 0.0
    net.start()
    net.run(6)
    assert [n.place.level for n in net.nodes] == [0, 1, 2, 2, 1, 0]
    net.join(2, 3)
    net.run(20)
    assert len({n.place.tree for n in net.nodes}) == 1
    assert [n.place.level for n in net.nodes] in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])
    assert any(isinstance(frame, Turn) for *_, frame in net.sends("merge"))


# -------------------------------------------------------------------------------------- 3.2 subscribing and publishing


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
    assert passes(protocol.index.local, [1]) and host.delivered == []
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


# ------------------------------------------------------------------------------------------------ 3.3 between groups


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


# -------------------------------------------------------------------------------------------------------- 3.4 mobility


def test_parents_and_children_send_heartbeats_every_second() -> None:
    """§3.4. R2: the period is 1 s, a tenth more or less."""
    net = TinyNet(TreeGroup, 2, [(0, 1)])
    net.start()
    net.run(60)
    for i in (0, 1):
        times = [t for t, sender, _, _ in net.sends("heartbeat") if sender == i and t > 6 * SECOND]
        gaps = [b - a for a, b in pairwise(times)]
        assert all(900_000 <= gap <= 1_100_000 for gap in gaps) and len(set(gaps)) > 10


def test_r2_a_node_missed_three_times_is_gone() -> None:
    protocol, host = member()
    assert protocol.params.missed == 3
    host.advance(protocol, 2_900_000)
    assert protocol.place.parent == LEADER
    host.advance(protocol, 4_200_000)
    assert protocol.place.parent == NOBODY


def lost_with(*neighbours: tuple[int, Heartbeat]) -> tuple[TreeGroup, ScriptHost]:
    """A node at level 2 whose parent 20 turns out to be lost."""
    protocol, host = member(level=2)
    for id, heartbeat in neighbours:
        host.hear(protocol, heartbeat, id)
    host.hear(protocol, beat(0), 20)
    return protocol, host


def test_a_node_that_lost_its_parent_finds_another_neighbour() -> None:
    """§3.4: it looks for a new parent among its neighbours, also those of other groups."""
    protocol, host = lost_with((5, beat(G1, level=3, parent=99)))
    assert protocol.membership.requested == 5
    host.hear(protocol, Welcome(G1, 1, 3), 5)
    assert (protocol.place.tree, protocol.place.level) == (G1, 4)


def test_neighbours_in_the_same_group_are_preferred() -> None:
    """§3.4."""
    protocol, _ = lost_with((5, beat(G1, level=0, parent=99)), (6, beat(G0, count=2, level=8, parent=99)))
    assert protocol.membership.requested == 6


def test_a_node_avoids_connecting_to_its_descendants() -> None:
    """§3.4: a child, and a grandchild, whose count is never newer."""
    protocol, _ = lost_with((5, beat(G0, count=1, level=3, parent=ME)), (6, beat(G0, count=1, level=4, parent=5)))
    assert protocol.membership.requested == NOBODY


def test_without_such_a_neighbour_the_children_learn_it_and_find_new_parents() -> None:
    """§3.4: if no neighbour qualifies, the children learn it, and each looks for a parent in the same way."""
    protocol, host = lost_with((5, beat(G0, count=1, level=3, parent=ME)))
    assert [f.tree for f in host.frames("heartbeat")] == [0] and protocol.children == {}
    child, there = make(TreeGroup, ScriptHost(5))
    child.on_start()
    child.membership.requested = ME
    there.hear(child, beat(G0, level=2, parent=20), ME)
    there.hear(child, Welcome(G0, 1, 2), ME)
    there.hear(child, beat(G1, level=2, parent=99), 30)
    there.hear(child, host.frames("heartbeat")[0], ME)
    assert child.membership.requested == 30


def test_afterwards_the_node_can_connect_to_its_previous_child() -> None:
    """§3.4: a former descendant that has found a parent may become the parent of the node."""
    protocol, host = lost_with((5, beat(G0, count=1, level=3, parent=ME)))
    host.hear(protocol, beat(G0, count=2, level=5, parent=30), 5)
    assert protocol.membership.requested == 5
    host.hear(protocol, Welcome(G0, 2, 5), 5)
    assert protocol.place.parent == 5 and protocol.place.level == 6


def test_a_lost_childs_filter_is_removed_and_the_parent_gets_the_change() -> None:
    """§3.4: the parent of a lost child removes its filter and sends the change upwards."""
    protocol, host = member()
    with_child(protocol, host, 5, topic("t"))
    host.hear(protocol, beat(G0, level=2, parent=ME), 5)
    host.hear(protocol, beat(G0, level=2, parent=30), 5)
    assert protocol.index.merged_bitmap() == 0
    host.hear(protocol, beat(count=2, children=(ME, 1, 0)), LEADER)
    host.advance(protocol, 1_200_000)
    assert [int.from_bytes(f.bitmap, "little") for f in host.frames("bitmap")] == [0]


def test_the_branch_follows_its_root_into_another_group() -> None:
    """§3.4: repair should leave few small, scattered groups."""
    protocol, host = member(level=2)
    host.hear(protocol, beat(G1, count=9, level=4, parent=99, children=(ME, 0, 0)), 20)
    assert (protocol.place.tree, protocol.place.level, protocol.place.parent) == (G1, 5, 20)


def test_no_node_follows_a_parent_below_the_maximum_level() -> None:
    protocol, host = member(level=2)
    host.hear(protocol, beat(G0, count=2, level=9, parent=99), 20)
    assert protocol.place.parent == NOBODY


def test_r14_an_event_waits_for_the_next_parent() -> None:
    protocol, host = lost_with((5, beat(G1, level=3, parent=99)))
    protocol.on_publish(event())
    assert host.frames("event") == [] and host.labels("delay") == ["no parent"]
    host.hear(protocol, Welcome(G1, 1, 3), 5)
    assert events_sent(host) == [(5, UP, [])]


def test_r15_a_node_moves_up_by_two_levels_but_not_by_one() -> None:
    protocol, host = member(level=4)
    host.hear(protocol, beat(level=2, parent=99), 5)
    assert protocol.membership.requested == NOBODY
    host.hear(protocol, beat(level=1, parent=99), 6)
    assert protocol.membership.requested == 6


def test_r17_no_node_takes_a_leaving_neighbour_if_there_is_another() -> None:
    protocol, host = member(level=2)
    for dbm in (-80.0, -88.0):
        host.signal_dbm = dbm
        host.hear(protocol, beat(G1, level=0), 8)
    host.signal_dbm = -88.0
    host.hear(protocol, beat(G1, level=3, parent=99), 5)
    host.hear(protocol, beat(0), 20)
    assert protocol.membership.requested == 5


def test_r14_a_node_that_restarts_drops_its_waiting_events() -> None:
    protocol, host = node()
    protocol.on_publish(event())
    protocol.on_start()
    assert host.labels("drop") == ["restart"]
    host.hear(protocol, beat(level=2, parent=99), 4)
    host.hear(protocol, Welcome(G0, 1, 2), 4)
    assert events_sent(host) == []


# ------------------------------------------------------------------------------------------- 3.5 several attributes


def test_a_disjunction_adds_each_attribute() -> None:
    """§3.5: S = {a ∪ b ∪ c} gives three keys."""
    a, b, c = (attr(name) == 1 for name in "abc")
    assert filter_keys(a | b | c) == [value_part("a", 1), value_part("b", 1), value_part("c", 1)]


def test_a_conjunction_adds_the_ordered_concatenation() -> None:
    """§3.5: S = {b ∩ a ∩ c} maps 'abc'."""
    a, b, c = (attr(name) == 1 for name in "abc")
    assert filter_keys(b & a & c) == [value_part("a", 1) + value_part("b", 1) + value_part("c", 1)]


def test_an_event_with_three_attributes_has_seven_combinations() -> None:
    """§3.5: {a}, {b}, {c}, {ab}, {ac}, {bc}, {abc}; 2^n − 1 in general."""
    assert sorted(combinations(["a", "b", "c"], [""])) == sorted(["a", "b", "c", "ab", "ac", "bc", "abc"])
    for n in range(7):
        assert len(combinations([chr(97 + i) for i in range(n)], [""])) == 2**n - 1


def test_one_attribute_is_enough_for_a_disjunction_all_are_needed_for_a_conjunction() -> None:
    """§3.5: for a disjunction, one attribute of the event is enough; a conjunction is one combined key."""
    keys = set(event_keys(Event(1, attrs={"a": 1, "b": 2})) or [])
    a, b, c = attr("a") == 1, attr("b") == 2, attr("c") == 3
    assert keys & set(filter_keys(a | c)) and keys & set(filter_keys(a & b))
    assert not keys & set(filter_keys(a & c)) and not keys & set(filter_keys(a & b & c))


# ------------------------------------------------------------------------------------------------------------- Table 1


def test_table_1_gives_the_defaults() -> None:
    params = TreeGroupParams()
    assert (params.max_level, params.preferred_levels) == (9, 4)


def test_the_timer_for_an_answer_ends_with_the_answer() -> None:
    protocol, host = node()
    host.hear(protocol, beat(level=2, parent=99), 4)
    assert ANSWER in host.timers
    host.hear(protocol, Welcome(G0, 1, 2), 4)
    assert ANSWER not in host.timers
