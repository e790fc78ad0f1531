"""Frames of a member that lies: the trees of real nodes are whole again after some heartbeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roamcast.net.host.runner import Runner
from roamcast.net.live import live_params
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.parameters import build
from roamcast.protocols.kit.tree import COUNT_MAX, Place
from roamcast.protocols.subtree import frames as subtree
from roamcast.protocols.treegroup import frames as treegroup
from roamcast.pubsub.filters import topic
from tests.conformance.real import MULTICAST, Real

NODES = 4
EVENTS = 15
MANY = range(100, 150)
"""Senders that do not exist."""

Attack = Callable[[Runner, dict[int, Place]], list[tuple[int, Frame]]]
"""The frames that a node gets, and in whose name. It knows the places of the nodes that it hears."""


def high_counts(_: Runner, places: dict[int, Place]) -> list[tuple[int, Frame]]:
    return [(n, subtree.Heartbeat(at.tree, COUNT_MAX, at.level, at.parent, [])) for n, at in places.items()]


def rising_counts(_: Runner, places: dict[int, Place]) -> list[tuple[int, Frame]]:
    return [(n, subtree.Heartbeat(at.tree, at.count + 1000, at.level, at.parent, [])) for n, at in places.items()]


def children(runner: Runner, _: dict[int, Place]) -> list[tuple[int, Frame]]:
    at: Place = runner.protocol.place  # type: ignore[union-attr]
    return [(n, subtree.Heartbeat(at.tree, at.count, at.level + 1, runner.id, [])) for n in MANY]


def joins(_: Runner, __: dict[int, Place]) -> list[tuple[int, Frame]]:
    heartbeat = treegroup.Heartbeat(0, 0, 0, -1, 100, True, 1, 1, [], [])
    return [each for n in MANY for each in ((n, heartbeat), (n, treegroup.Join(100)))]


def high_group_counts(_: Runner, places: dict[int, Place]) -> list[tuple[int, Frame]]:
    return [
        (n, treegroup.Heartbeat(at.tree, COUNT_MAX, at.level, at.parent, 0, True, 1, 1, [], []))
        for n, at in places.items()
    ]


@pytest.mark.parametrize(
    ("name", "attack"),
    [
        ("subtree", high_counts),
        ("subtree", rising_counts),
        ("subtree", children),
        ("treegroup", joins),
        ("treegroup", high_group_counts),
    ],
)
def test_after_hostile_frames_events_arrive_again_within_seconds(name: str, attack: Attack) -> None:
    """Before, `subtree` lost events for 20 s or for good, and `treegroup` for 15 s."""
    protocol: Any = registry.get(name)
    driver = Real(
        MULTICAST,
        [0.4 * i for i in range(NODES)],
        subscriptions=[(NODES - 1, topic("news"))],
        protocol=protocol,
        params=build(protocol, live_params(name)),
    )
    driver.run(15.0)
    driver.publish_event(0, "news")
    driver.run(1.0)
    assert len(driver.delivered(NODES - 1)) == 1
    for i, runner in enumerate(driver.runners):
        heard = {j: driver.runners[j].protocol.place for j in driver.in_range(i)}  # type: ignore[union-attr]
        for sender, frame in attack(runner, heard):
            runner.inbox.hand_up(frame, sender)
    for _ in range(EVENTS):
        driver.publish_event(0, "news")
        driver.run(1.0)
    driver.run(3.0)
    assert len(driver.delivered(NODES - 1)) >= 1 + EVENTS - 4
    driver.check()
