"""Li, Khan, Li: An efficient event delivery scheme in mobile ad hoc communities (2013), sentence by sentence.

Sections are those of the paper. Readings (R1 …) are those of `roamcast.protocols.treegroup.protocol`.
"""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import root_of, tree_name
from roamcast.protocols.treegroup.frames import Accept, Gateway, Join, Propose, Turn, Welcome
from roamcast.protocols.treegroup.leader import clustering, dissemination
from roamcast.protocols.treegroup.protocol import TreeGroup
from roamcast.protocols.treegroup.tables import ANSWER_US
from roamcast.testing import ScriptHost, make
from tests.paper.li_nodes import G0, G1, LEADER, ME, SECOND, beat, leader, member, node, with_child
from tests.support.net import TinyNet


def sent(host: ScriptHost) -> list[tuple[int, str]]:
    return [(to, frame.kind) for to, frame in host.sent]


# ---- 3.1 the weight of a leader (R3)


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


# ---- 3.1 finding a group


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


# ---- 3.1 Algorithm 1


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


# ---- 3.1 merging


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
