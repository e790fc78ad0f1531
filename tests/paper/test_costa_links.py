"""Costa, Picco, Rossetto, sentence by sentence: along links, as in their reference [11]."""

from __future__ import annotations

import pytest

from roamcast.protocols.kit.interface import BROADCAST
from roamcast.protocols.semiprob.link_tables import ANY_LINK, BeaconFrame, LinkEventFrame, TableFrame
from roamcast.protocols.semiprob.links import SemiProbLinks
from roamcast.pubsub.filters import Filter, Range, topic
from roamcast.testing import ScriptHost, make
from tests.paper.costa_nodes import HOT, SECOND, event
from tests.support.net import TinyNet


def linked(n: int, *, tau: float = 0.5, phi: int = 2, **params: object) -> tuple[SemiProbLinks, ScriptHost]:
    """A node 0 with links to 1 … n."""
    protocol, host = make(SemiProbLinks, tau=tau, phi=phi, **params)
    protocol.on_start()
    for i in range(1, n + 1):
        host.hear(protocol, BeaconFrame(i, [], [0], {}), i)
    return protocol, host


def advertisement(i: int, distance: int, filter: Filter = HOT) -> TableFrame:
    return TableFrame(i, 0, 1, [(distance, ANY_LINK, filter)])


def copies(host: ScriptHost) -> list[int]:
    return [node for frame in host.frames("event") for node in frame.to]


def tables_of(node: SemiProbLinks) -> list[dict[int, Filter]]:
    """For each distance: link -> its only filter."""
    return [
        {link: filter for filter, interest in node.filters.items() for link in interest.tables[distance]}
        for distance in range(node.params.phi)
    ]


@pytest.mark.parametrize(
    ("tau", "links", "expected"), [(0.5, 4, 2), (0.5, 5, 3), (0.25, 4, 1), (0.01, 4, 1), (0.0, 4, 0), (1.0, 4, 4)]
)
def test_links_an_event_is_always_forwarded_along_the_fraction_tau(tau: float, links: int, expected: int) -> None:
    """§II-B: in [11], τ is the share of its links along which every node forwards an event; R1."""
    protocol, host = linked(links, tau=tau)
    protocol.on_publish(event(1, publisher=0))
    assert len(copies(host)) == expected == len(set(copies(host)))


def test_links_r1_the_link_it_came_by_is_not_available() -> None:
    protocol, host = linked(5, tau=1.0)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 3)
    host.advance(protocol, SECOND // 10)
    assert sorted(copies(host)) == [1, 2, 4, 5]
    protocol, host = linked(5, tau=0.5)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 3)
    host.advance(protocol, SECOND // 10)
    assert len(copies(host)) == 2
    protocol, host = linked(5, tau=0.5)  # a sender without a link takes no link away
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 9)
    host.advance(protocol, SECOND // 10)
    assert len(copies(host)) == 3


def test_links_r1_an_event_does_not_go_back_even_to_where_a_subscriber_is_known() -> None:
    protocol, host = linked(3, tau=0.0)
    for i in (1, 3):
        host.hear(protocol, advertisement(i, 1), i)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 3)
    host.advance(protocol, SECOND // 10)
    assert copies(host) == [1]


def test_links_r1_a_fraction_that_is_whole_is_not_rounded_up_by_the_arithmetic() -> None:
    protocol, host = linked(25, tau=0.28)
    assert 0.28 * 25 > 7
    protocol.on_publish(event(1, publisher=0))
    assert len(copies(host)) == 7


def test_links_subscription_information_is_used_first() -> None:
    """§II-B: links with matching rows come first; if they are too few, others are drawn at random."""
    for seed in range(20):
        protocol, host = linked(6, tau=0.5)
        host.stream = ScriptHost(0, seed).stream
        host.hear(protocol, advertisement(4, 2), 4)
        protocol.on_publish(event(1, publisher=0))
        assert copies(host)[0] == 4 and len(set(copies(host))) == 3
        assert host.labels("forward") == ["deterministic", "probabilistic", "probabilistic"]


def test_links_r2_all_matching_links_are_taken_even_beyond_tau() -> None:
    protocol, host = linked(4, tau=0.25)
    for i in (1, 3, 4):
        host.hear(protocol, advertisement(i, 1), i)
    protocol.on_publish(event(1, publisher=0))
    assert copies(host) == [1, 3, 4]
    assert host.labels("forward") == ["deterministic"] * 3


def test_links_rows_of_all_filters_and_distances_count() -> None:
    protocol, host = linked(5, tau=0.0)
    host.hear(protocol, advertisement(1, 1), 1)
    host.hear(protocol, advertisement(2, 2), 2)
    host.hear(protocol, advertisement(3, 1, Range("celsius", 30, 99)), 3)
    host.hear(protocol, advertisement(4, 1, topic("cold")), 4)
    protocol.on_publish(event(1, publisher=0, attrs={"celsius": 35}))
    protocol.on_publish(event(2, publisher=0))
    assert [sorted(frame.to) for frame in host.frames("event")] == [[1, 2, 3], [1, 2]]


def test_links_the_remaining_links_are_drawn_uniformly() -> None:
    protocol, host = linked(5, tau=0.2)
    counts = dict.fromkeys(range(1, 6), 0)
    for n in range(3000):
        protocol.on_publish(event(n, publisher=0))
    for to in copies(host):
        counts[to] += 1
    assert all(abs(count / 3000 - 0.2) < 0.03 for count in counts.values())


def test_links_there_is_a_table_for_each_distance_with_filter_and_link() -> None:
    """§II-A: [11] has one table per distance, of pairs of a filter and a link."""
    net = TinyNet(SemiProbLinks, 5, [(i, i + 1) for i in range(4)], phi=3)
    net.start()
    net.subscribe(0, HOT)
    net.run(12)
    assert [tables_of(node) for node in net.nodes] == [
        [{}, {}, {}],
        [{0: HOT}, {}, {}],
        [{}, {1: HOT}, {}],
        [{}, {}, {2: HOT}],
        [{}, {}, {}],
    ]
    assert {sender for _, sender, _, _ in net.sends("subscription")} == {0, 1, 2}


def test_links_an_unsubscription_is_propagated_explicitly() -> None:
    """§II-A: in [11] there are messages for subscribing and for unsubscribing."""
    net = TinyNet(SemiProbLinks, 4, [(i, i + 1) for i in range(3)], phi=3)
    net.start()
    net.subscribe(0, HOT)
    net.run(10)
    assert tables_of(net.nodes[3])[2] == {2: HOT}
    net.nodes[0].on_unsubscribe(1)
    net.run(0.2)
    assert [tables_of(node) for node in net.nodes] == [[{}, {}, {}]] * 4


def test_links_a_vanished_link_counts_as_an_unsubscription_and_a_new_one_as_a_subscription() -> None:
    """§II-A: in [11] a new link counts as its far end subscribing, a lost one as that end unsubscribing; R4."""
    net = TinyNet(SemiProbLinks, 4, [(i, i + 1) for i in range(3)], phi=3)
    net.start()
    net.subscribe(0, HOT)
    net.run(10)
    net.cut(0, 1)
    net.run(10)
    assert [tables_of(node) for node in net.nodes] == [[{}, {}, {}]] * 4
    net.join(0, 3)
    net.run(10)
    assert [tables_of(n) for n in net.nodes[1:]] == [[{}, {}, {2: HOT}], [{}, {3: HOT}, {}], [{0: HOT}, {}, {}]]


def test_links_r3_the_time_to_live_counts_hops() -> None:
    net = TinyNet(SemiProbLinks, 6, [(i, i + 1) for i in range(5)], phi=0, tau=1.0, ttl=3)
    net.start()
    net.run(5)
    net.publish(0, topic="hot")
    net.run(1)
    assert [sender for _, sender, _, _ in net.sends("event")] == [0, 1, 2]


def test_links_r4_a_neighbour_that_no_longer_lists_this_node_gets_no_events() -> None:
    protocol, host = linked(2, tau=1.0)
    host.hear(protocol, advertisement(1, 1), 1)
    host.hear(protocol, BeaconFrame(1, [1], [2], {}), 1)
    protocol.on_publish(event(1, publisher=0))
    assert copies(host) == [2] and host.labels("forward") == ["probabilistic"]
    host.hear(protocol, BeaconFrame(1, [1], [0, 2], {}), 1)
    protocol.on_publish(event(2, publisher=0))
    assert copies(host) == [2, 1, 2]


def test_links_r5_one_broadcast_names_the_links_and_other_nodes_ignore_it() -> None:
    protocol, host = linked(4, tau=0.5)
    protocol.on_publish(event(1, publisher=0))
    ((to, frame),) = [(to, frame) for to, frame in host.sent if frame.kind == "event"]
    assert to == BROADCAST and len(frame.to) == 2

    protocol, host = linked(4, tau=1.0)
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [7, 8]), 3)
    host.advance(protocol, SECOND // 10)
    assert host.delivered == [] and copies(host) == []
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [8, 0]), 2)
    host.advance(protocol, SECOND)
    assert host.delivered == [event()] and sorted(copies(host)) == [1, 3, 4]


def test_links_r5_nodes_named_together_do_not_send_together() -> None:
    net = TinyNet(SemiProbLinks, 9, [(0, i) for i in range(1, 9)], tau=1.0, jitter_ms=50.0)
    net.start()
    net.run(3)
    for i in range(1, 9):
        net.join(i, i % 8 + 1)
    net.run(5)
    began = net.now_us
    net.publish(0, topic="hot")
    net.run(1)
    times = [t - began for t, sender, _, frame in net.sends("event") if sender]
    assert len(set(times)) == 8 and min(times) >= 1000 and 20_000 < max(times) <= 51_000


def test_links_r6_an_expired_event_is_neither_delivered_nor_sent() -> None:
    protocol, host = linked(3, tau=1.0, jitter_ms=100.0)
    protocol.on_subscribe(1, HOT)
    old = event(1, validity_us=1000)
    host.hear(protocol, LinkEventFrame(old, 0, 1000, [0]), 2)
    host.advance(protocol, SECOND)
    assert host.delivered == [] and copies(host) == [] and host.labels("drop") == ["expired"]
    host.draws = [0.0]
    host.hear(protocol, LinkEventFrame(old, 0, 999, [0]), 2)
    assert host.delivered == [old]
    host.advance(protocol, SECOND)
    assert len(copies(host)) == 2
    host.draws = [0.5]
    host.hear(protocol, LinkEventFrame(event(2, validity_us=50_000), 0, 0, [0]), 2)
    host.advance(protocol, 2 * SECOND)
    assert len(copies(host)) == 2 and host.labels("drop") == ["expired"] * 2
