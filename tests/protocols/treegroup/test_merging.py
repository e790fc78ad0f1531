"""How groups merge."""

from __future__ import annotations

import pytest

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import NO_TREE, tree_name
from roamcast.protocols.treegroup.frames import DOWN, REACH_MAX, Gateway, GroupEvent, Join, Propose, Turn, Welcome
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.protocols.treegroup.tables import ANSWER_US, GatewayRecord
from roamcast.pubsub.event import Event, event_id
from roamcast.testing import ScriptHost, make
from tests.protocols.treegroup.nodes import LEADER, OTHER, SECOND, TREE, beat, hung


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
