"""What both trees share: versions, labels, and when heartbeats are sent."""

from __future__ import annotations

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import (
    HURRY_US,
    REMEMBERED,
    TICK,
    VERSION_MAX,
    HeartbeatTimer,
    Place,
    next_version,
    tree_name,
)
from roamcast.protocols.subtree.frames import Heartbeat
from roamcast.testing import ScriptHost


def test_versions_start_again_at_one_because_zero_means_none() -> None:
    assert [next_version(version) for version in (0, 1, VERSION_MAX - 1, VERSION_MAX)] == [1, 2, VERSION_MAX, 1]


def test_labels_in_the_last_trees_are_remembered() -> None:
    place = Place(3)
    trees = [tree_name(10 + k, 0.5) for k in range(REMEMBERED + 1)]
    for tree in (*trees[:-1], trees[0], trees[-1]):
        place.attach(9, tree, 1, 0, 0)
    assert list(place.labels) == [*trees[2:-1], trees[0], trees[-1]]


def test_an_early_heartbeat_is_sent_once_however_often_the_tree_changes() -> None:
    """There is at most one early heartbeat within its delay."""
    host = ScriptHost(3)
    host.clock_us = 5_000_000
    timer = HeartbeatTimer(host, 1_000_000)
    timer.send(Heartbeat(0, 0, 0, NOBODY, []))
    for after_us, due_us in ((0, HURRY_US), (HURRY_US - 1, HURRY_US), (HURRY_US + 7, HURRY_US + 7)):
        host.clock_us = 5_000_000 + after_us
        host.draws = [0.0]
        timer.send_soon()
        assert host.timers[TICK] == 5_000_000 + due_us


def test_a_count_that_the_parent_does_not_reach_is_given_up_if_it_is_doubted() -> None:
    """R10 of subtree, R21 of treegroup: one older heartbeat may be on the way, two rising ones are the truth."""
    for doubts in (False, True):
        place = Place(9, doubts)
        place.attach(3, 77, 10, 1, 0)
        place.attach(3, 77, 10_000, 1, 1)  # somebody else said so
        assert place.is_overtaken(77, 11)
        assert place.is_overtaken(77, 11), "the same one again"
        assert place.is_overtaken(77, 12) == (not doubts)
        assert place.may_attach_below(77, 12, 1) == doubts
    place.attach(3, 77, 12, 1, 2)
    assert (place.count, place.fresh_us) == (12, 2)
    assert not place.is_overtaken(77, 13)
    assert not place.is_overtaken(78, 0), "another tree"
