"""Subscription trees (ST) as Li, Khan, Li (2013) describe them for comparison; `subtree` implements them."""

from __future__ import annotations

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.subtree.protocol import SubTree
from roamcast.pubsub.filters import attr, topic
from tests.support.net import TinyNet

MESH = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 6), (5, 6), (5, 7)]


def test_the_tree_serves_to_subscribe_interests_and_to_forward_publications() -> None:
    """§4.1: subscriptions are advertised and events forwarded along the same tree."""
    net = TinyNet(SubTree, 8, MESH)
    net.start()
    net.run(10)
    before = len(net.log)
    net.subscribe(7, topic("a"))
    net.run(2)
    up = {(i, node.place.parent) for i, node in enumerate(net.nodes) if node.place.parent != NOBODY}
    assert len(up) == 7
    event = net.publish(4, topic="a")
    net.run(1)
    on_the_tree = up | {(parent, i) for i, parent in up}
    used = [(sender, to) for _, sender, to, frame in net.log[before:] if frame.kind != "heartbeat"]
    assert len(used) > 7 and set(used) <= on_the_tree
    assert net.delivered(7) == [event.id]


def test_each_subscription_is_propagated_to_all_other_nodes() -> None:
    """§4.2 on Fig. 5: every node gets every subscription over the edges of the tree."""
    net = TinyNet(SubTree, 8, MESH)
    net.subscribe(7, attr("a") == 1)
    net.subscribe(2, attr("a") == 2)
    net.start()
    net.run(10)
    assert [node.memory()[0] for node in net.nodes] == [2, 2, 1, 2, 2, 2, 2, 1]


def test_some_subscriptions_can_be_covered_by_others() -> None:
    """§4.2 on Fig. 5: covering saves a part of the subscription traffic, which is high nevertheless."""
    entries = []
    for narrow in (topic("a.b"), topic("c")):
        net = TinyNet(SubTree, 8, MESH)
        net.subscribe(7, topic("a"), 1)
        net.subscribe(7, narrow, 2)
        net.start()
        net.run(10)
        entries.append([node.memory()[0] for node in net.nodes])
    assert entries == [[1] * 7 + [0], [2] * 7 + [0]]
