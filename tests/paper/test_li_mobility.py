"""Li, Khan, Li, sentence by sentence: mobility, several attributes, Table 1 (3.4, 3.5)."""

from __future__ import annotations

from itertools import pairwise

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.treegroup.bloom_routing import combinations, event_keys, filter_keys, value_part
from roamcast.protocols.treegroup.frames import UP, Welcome
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.protocol import ANSWER, TreeGroup
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import attr, topic
from roamcast.testing import ScriptHost, make
from tests.paper.li_nodes import (
    G0,
    G1,
    LEADER,
    ME,
    SECOND,
    beat,
    event,
    events_sent,
    lost_with,
    member,
    node,
    with_child,
)
from tests.support.net import TinyNet

# ---- 3.4 mobility


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


# ---- 3.5 several attributes


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


# ---- Table 1


def test_table_1_gives_the_defaults() -> None:
    params = TreeGroupParams()
    assert (params.max_level, params.preferred_levels) == (9, 4)


def test_the_timer_for_an_answer_ends_with_the_answer() -> None:
    protocol, host = node()
    host.hear(protocol, beat(level=2, parent=99), 4)
    assert ANSWER in host.timers
    host.hear(protocol, Welcome(G0, 1, 2), 4)
    assert ANSWER not in host.timers
