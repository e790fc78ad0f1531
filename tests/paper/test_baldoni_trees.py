"""Baldoni et al. 2005, §II and Fig. 1: the two classic strategies on a tree of brokers, the modes of `subtree`."""

from __future__ import annotations

from itertools import pairwise

from roamcast.protocols.subtree.protocol import SubTree
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import topic
from tests.support.net import TinyNet

# A tree of 16 brokers, as in Fig. 1: (child, parent).
SIXTEEN = [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 2), (7, 2), (8, 3), (9, 3), (10, 4), (11, 4), (12, 6), (13, 6),
           (14, 8), (15, 8)]  # fmt: skip


def path(a: int, b: int) -> list[tuple[int, int]]:
    """The links on the way from a to b in that tree, in the direction of travel."""
    parents = dict(SIXTEEN)
    up = [a]
    while up[-1] in parents:
        up.append(parents[up[-1]])
    down = [b]
    while down[-1] not in up:
        down.append(parents[down[-1]])
    nodes = up[: up.index(down[-1]) + 1] + down[-2::-1]
    return list(pairwise(nodes))


def figure_1(mode: str) -> tuple[TinyNet, Event]:
    """S1 = 10 and S2 = 12 subscribed to black, S3 = 15 to gray; P = 5 publishes black."""
    net = TinyNet(SubTree, 16, SIXTEEN, mode=mode)
    for broker, colour in ((10, "black"), (12, "black"), (15, "gray")):
        net.subscribe(broker, topic(colour))
    net.start()
    net.run(6)
    return net, net.publish(5, topic="black")


def test_message_forwarding_sends_to_all_other_brokers_and_propagates_no_subscription() -> None:
    """§II: a message travels over every edge of the tree and so reaches each broker."""
    net, event = figure_1("message")
    net.run(1)
    assert net.sends("subscribe") == []
    assert len(net.sends("event")) == 15 and {to for _, _, to, _ in net.sends("event")} == set(range(16)) - {5}
    assert [net.delivered(i) for i in (10, 12, 15)] == [[event.id], [event.id], []]
    assert all(node.memory() == (0, 0) for node in net.nodes)
    assert {label for host in net.hosts for label in host.labels("forward")} == {"along the tree"}


def test_subscription_forwarding_follows_the_reverse_path_of_matching_subscriptions() -> None:
    """§II, Fig. 1(b): only the links between the publisher and the subscribers to black."""
    net, event = figure_1("subscription")
    net.run(1)
    links = sorted((sender, to) for _, sender, to, _ in net.sends("event"))
    assert links == sorted(set(path(5, 10) + path(5, 12)))
    assert [net.delivered(i) for i in (10, 12, 15)] == [[event.id], [event.id], []]


def test_every_broker_has_an_arrow_towards_each_subscription_beyond_it() -> None:
    """§II, Fig. 1(b): an arrow of a predicate's colour leads from a broker to the neighbour that advertised the
    subscription."""
    net, _ = figure_1("subscription")
    for i, node in enumerate(net.nodes):
        arrows = {(link.peer, str(filter)) for link in node.links.by_peer.values() for filter in link.wanted.values()}
        black = {(path(i, s)[0][1], "topic black") for s in (10, 12) if s != i}
        gray = {(path(i, 15)[0][1], "topic gray")} if i != 15 else set()
        assert arrows == black | gray


def test_a_subscription_that_another_one_covers_is_not_advertised() -> None:
    """§II, note 1: a more general predicate replaces those that it covers."""
    net = TinyNet(SubTree, 3, [(0, 1), (1, 2)])
    net.subscribe(2, topic("a"), 1)
    net.subscribe(2, topic("a.b"), 2)
    net.subscribe(1, topic("a.c"), 1)
    net.start()
    net.run(5)
    assert [str(filter) for filter in net.nodes[0].links.by_peer[1].wanted.values()] == ["topic a"]
    assert [str(filter) for filter in net.nodes[1].links.by_peer[2].wanted.values()] == ["topic a"]
    assert [str(filter) for filter in net.nodes[2].links.by_peer[1].wanted.values()] == ["topic a.c"]
    net.nodes[2].on_unsubscribe(1)
    net.run(5)
    assert sorted(str(filter) for filter in net.nodes[0].links.by_peer[1].wanted.values()) == ["topic a.b", "topic a.c"]
