"""What both trees share, by itself: versions, and when heartbeats are sent."""

from __future__ import annotations

from roamcast.protocols.interface import NOBODY
from roamcast.protocols.subtree_frames import Heartbeat
from roamcast.protocols.tree import HURRY_US, TICK, VERSION_MAX, Heart, next_version
from tests.support.host import ScriptHost


def test_versions_start_again_at_one_since_zero_means_none() -> None:
    assert [next_version(version) for version in (0, 1, VERSION_MAX - 1, VERSION_MAX)] == [1, 2, VERSION_MAX, 1]


def test_a_node_in_a_hurry_waits_until_its_last_heartbeat_is_over() -> None:
    """However often the tree changes, there is no more than one heartbeat in that time."""
    host = ScriptHost(3)
    host.clock_us = 5_000_000
    heart = Heart(host, 1_000_000)
    heart.beat(Heartbeat(0, 0, 0, NOBODY, []))
    for after_us, due_us in ((0, HURRY_US), (HURRY_US - 1, HURRY_US), (HURRY_US + 7, HURRY_US + 7)):
        host.clock_us = 5_000_000 + after_us
        host.draws = [0.0]
        heart.hurry()
        assert host.timers[TICK] == 5_000_000 + due_us
