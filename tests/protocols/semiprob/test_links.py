"""Semi-probabilistic routing along links: links learned from beacons, bad weather."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import BROADCAST
from roamcast.protocols.semiprob.link_tables import ANY_LINK, WANTED_MAX, BeaconFrame, LinkEventFrame, TableFrame
from roamcast.protocols.semiprob.links import BEACON, SYNC, SYNC_US, SemiProbLinks
from roamcast.pubsub.filters import Filter, topic
from roamcast.testing import make
from tests.protocols.semiprob.nodes import HOT, event, heard, page, tables_of
from tests.support.net import TinyNet
from tests.support.storm import Plan, check_encoding, plans, weather

# ---- links learned from beacons


def links(node: SemiProbLinks) -> list[int]:
    assert node.links == [i for i, n in sorted(node.neighbours.items()) if n.linked]
    return node.links


def test_a_link_exists_when_both_ends_hear_each_other() -> None:
    net = TinyNet(SemiProbLinks, 3, [(0, 1), (1, 0), (1, 2)], directed=True)
    net.start()
    net.run(5)
    assert [links(node) for node in net.nodes] == [[1], [0], []]


def test_a_beacon_lists_the_nodes_heard_the_own_versions_and_the_missing_pages() -> None:
    protocol, host = make(SemiProbLinks, beacon_s=1.0)
    protocol.on_start()
    host.hear(protocol, BeaconFrame(77, [3, 1, 0], [0], {}), 5)
    host.hear(protocol, BeaconFrame(66, [1], [], {}), 4)  # it does not hear this node: its rows are of no use
    host.hear(protocol, page([], boot=77, at=1), 5)
    host.hear(protocol, page([], boot=77, at=0, version=2), 5)
    host.advance(protocol, 1_000_000)
    (beacon,) = host.frames("beacon")
    assert (beacon.heard, beacon.versions, beacon.lacks) == ([4, 5], [], {5: [0]})
    host.hear(protocol, page([], boot=77, at=0, version=3), 5)
    protocol.on_subscribe(1, HOT)
    host.advance(protocol, 2_000_000)
    beacon = host.frames("beacon")[-1]
    assert (beacon.versions, beacon.lacks) == ([1], {})
    host.advance(protocol, 3_000_000)
    assert len(host.frames("beacon")) == 3


def test_a_beacon_requests_a_limited_number_of_pages() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    for i in (3, 4, 5):
        host.hear(protocol, heard(protocol, versions=[1] * 20), i)
    host.advance(protocol, 1_000_000)
    (beacon,) = host.frames("beacon")
    assert beacon.lacks == {3: list(range(20)), 4: list(range(WANTED_MAX - 20))}
    check_encoding(SemiProbLinks, beacon)


def test_a_silent_neighbour_is_forgotten_after_its_beacons_were_missed() -> None:
    net = TinyNet(SemiProbLinks, 2, [(0, 1)], beacon_s=1.0, patience=2.5)
    net.start()
    net.subscribe(1, HOT)
    net.run(5)
    assert links(net.nodes[0]) == [1] and tables_of(net.nodes[0]) == [{1: {HOT}}, {}]
    net.crash(1)
    net.run(1.4)
    assert links(net.nodes[0]) == [1]
    net.run(2.2)
    assert net.nodes[0].neighbours == {} and net.nodes[0].filters == {} and net.nodes[0].links == []


@pytest.mark.parametrize(("heard_us", "kept"), [(0, False), (499_999, False), (500_000, True)])
def test_a_neighbour_is_forgotten_after_exactly_the_given_number_of_beacons(heard_us: int, kept: bool) -> None:
    protocol, host = make(SemiProbLinks, beacon_s=1.0, patience=2.5)
    host.draws = [0.5, 0.0]
    protocol.on_start()  # its own beacons are at 0, 1, 2, 3 s
    host.advance(protocol, heard_us)
    host.hear(protocol, heard(protocol), 5)
    host.advance(protocol, 3_000_000)
    assert list(protocol.neighbours) == ([5] if kept else [])


def test_an_event_shows_that_its_sender_is_still_a_neighbour() -> None:
    protocol, host = make(SemiProbLinks, beacon_s=1.0, patience=2.5)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    for k in range(1, 6):
        host.advance(protocol, k * 1_000_000)
        host.hear(protocol, LinkEventFrame(event(k), 0, 0, []), 5)
    assert links(protocol) == [5]
    host.advance(protocol, 10_000_000)
    assert links(protocol) == []


def test_a_neighbour_that_no_longer_hears_this_node_is_not_a_link() -> None:
    net = TinyNet(SemiProbLinks, 2, [(0, 1)])
    net.start()
    net.subscribe(1, HOT)
    net.run(5)
    net.links.discard((0, 1))
    net.run(10)
    assert links(net.nodes[0]) == [] and net.nodes[0].filters == {}
    assert list(net.nodes[0].neighbours) == [1]


def test_pages_of_a_neighbour_count_when_it_is_linked_again() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, page([(1, HOT)]), 5)
    assert protocol.filters == {}
    host.hear(protocol, heard(protocol, versions=[1]), 5)
    assert tables_of(protocol) == [{5: {HOT}}, {}]
    host.hear(protocol, BeaconFrame(7, [1], [], {}), 5)
    assert protocol.filters == {}
    host.hear(protocol, heard(protocol, versions=[1]), 5)
    assert tables_of(protocol) == [{5: {HOT}}, {}]


def test_a_neighbour_that_lost_its_tables_gets_them_again() -> None:
    net = TinyNet(SemiProbLinks, 3, [(0, 1), (1, 2)])
    net.start()
    net.subscribe(0, HOT)
    net.run(6)
    net.crash(1)
    net.recover(1)
    net.run(4)
    assert [tables_of(n) for n in net.nodes] == [[{}, {}], [{0: {HOT}}, {}], [{}, {1: {HOT}}]]


def test_simultaneous_changes_are_advertised_by_one_broadcast() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    for i in (3, 4, 5):
        host.hear(protocol, heard(protocol), i)
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, page([(1, topic("cold"))]), 5)
    protocol.on_subscribe(2, topic("mild"))
    host.advance(protocol, SYNC_US)
    assert [(to, sorted(map(str, frame.rows))) for to, frame in host.sent if frame.kind == "subscription"] == [
        (BROADCAST, sorted(map(str, [(1, ANY_LINK, HOT), (1, ANY_LINK, topic("mild")), (2, 5, topic("cold"))])))
    ]
    protocol.on_subscribe(2, topic("mild"))
    host.advance(protocol, 10 * SYNC_US)
    assert len(host.frames("subscription")) == 1


def test_a_requested_page_is_sent_again_once_for_all_that_request_it() -> None:
    protocol, host = make(SemiProbLinks, beacon_s=60.0)
    protocol.on_start()
    protocol.on_subscribe(1, HOT)
    host.advance(protocol, SYNC_US)
    for i in (4, 5):
        host.hear(protocol, heard(protocol, lacks=[0, 1]), i)
    host.advance(protocol, 3 * SYNC_US)
    assert [(f.page, f.version, f.rows) for f in host.frames("subscription")] == [(0, 1, [(1, ANY_LINK, HOT)])] * 2


def test_an_overtaken_page_does_not_replace_a_newer_one() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    host.hear(protocol, page([(1, HOT)], version=2), 5)
    host.hear(protocol, page([(1, topic("cold"))], version=1), 5)
    host.hear(protocol, page([(1, topic("cold"))], version=2), 5)
    assert tables_of(protocol) == [{5: {HOT}}, {}]
    host.hear(protocol, page([], version=3), 5)
    assert protocol.filters == {}


def test_a_row_that_moves_to_another_page_is_not_lost_on_the_way() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    host.hear(protocol, page([(1, HOT)], at=0), 5)
    host.hear(protocol, page([(1, HOT)], at=1), 5)
    host.hear(protocol, page([], at=0, version=2), 5)
    assert tables_of(protocol) == [{5: {HOT}}, {}]
    host.hear(protocol, page([], at=1, version=2), 5)
    assert protocol.filters == {} and protocol.filter_rows == []


def test_rows_that_a_neighbour_advertised_before_it_lost_its_tables_are_forgotten() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    host.hear(protocol, page([(1, HOT)], version=5), 5)
    host.hear(protocol, heard(protocol, boot=8), 5)
    assert protocol.filters == {}
    host.hear(protocol, page([(1, topic("cold"))], boot=8), 5)
    assert tables_of(protocol) == [{5: {topic("cold")}}, {}]


def test_a_row_names_the_neighbour_if_it_came_from_that_neighbour_alone() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    for i in (4, 5):
        host.hear(protocol, heard(protocol), i)
    rows = [(2, 0, HOT), (2, 5, topic("cold")), (2, ANY_LINK, topic("mild"))]
    host.hear(protocol, TableFrame(7, 0, 1, rows), 5)
    assert tables_of(protocol) == [{}, {5: {topic("cold"), topic("mild")}}]
    host.hear(protocol, page([(1, HOT)], at=1), 5)
    host.advance(protocol, SYNC_US)
    assert host.frames("subscription")[-1].rows == [(2, 5, HOT)]
    host.hear(protocol, page([(1, HOT)]), 4)
    host.advance(protocol, 2 * SYNC_US)
    assert host.frames("subscription")[-1].rows == [(2, ANY_LINK, HOT)]


def test_rows_beyond_the_horizon_are_left_out() -> None:
    protocol, host = make(SemiProbLinks, phi=1)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    host.hear(protocol, page([(1, HOT), (2, topic("cold"))]), 5)
    assert tables_of(protocol) == [{5: {HOT}}]
    host.advance(protocol, SYNC_US)
    assert host.frames("subscription") == []


def expected(net: TinyNet, wants: dict[int, list[Filter]], phi: int) -> list[list[dict[int, set[Filter]]]]:
    """A row for each path of `distance` hops to a subscriber that never goes straight back."""
    result = []
    for node in range(len(net.nodes)):
        tables: list[dict[int, set[Filter]]] = [{} for _ in range(phi)]
        ways = [[node, j] for i, j in sorted(net.links) if i == node]
        for distance in range(1, phi + 1):
            for way in ways:
                for filter in wants.get(way[-1], []):
                    tables[distance - 1].setdefault(way[1], set()).add(filter)
            ways = [[*way, j] for way in ways for i, j in sorted(net.links) if i == way[-1] and j != way[-2]]
        result.append(tables)
    return result


def check_when_the_weather_clears(plan: Plan, phi: int) -> None:
    """All nodes must be up to date after the storm: a link takes two beacons, a lost page two more for each hop."""
    net = weather(SemiProbLinks, plan, phi=phi)
    for i in range(plan.n):
        if not net.up[i]:
            net.recover(i, keep_tables=True)
    net.loss = 0.0
    net.links = {(i, j) for i, j in net.links if (j, i) in net.links}
    net.run(12)
    wants = {i: list(node.local.all) for i, node in enumerate(net.nodes)}
    assert [tables_of(node) for node in net.nodes] == expected(net, wants, phi)
    before = len(net.sends("subscription"))
    net.run(3)
    assert len(net.sends("subscription")) == before  # and then there is nothing more to advertise


@settings(max_examples=25, deadline=None)
@given(plans(), st.integers(1, 3))
def test_when_the_weather_clears_the_tables_are_those_of_the_graph(plan: Plan, phi: int) -> None:
    check_when_the_weather_clears(plan, phi)


TRIANGLE = [(0, 1), (1, 2), (0, 2)]


@pytest.mark.parametrize(
    ("plan", "phi"),
    [
        (
            Plan(4, [(2, 0), (2, 1), (3, 0), (3, 2)], False, 14, 0, 0, 0, 0, steps=[
                ("subscribe", 0, 0, 1), ("crash", 1, 2, 4000), ("subscribe", 3, 1, 1501), ("crash", 2, 4, 5520),
            ]),
            2,
        ),
        (
            Plan(3, TRIANGLE, False, 13, 0.3, 0.3, 0, 0, steps=[
                ("join", 1, 2, 4000), ("subscribe", 2, 3, 300), ("crash", 1, 3, 1), ("publish", 2, 2, 300),
                ("publish", 1, 4, 300), ("subscribe", 0, 1, 1),
            ]),
            2,
        ),
        (
            Plan(3, TRIANGLE, False, 7, 0, 0, 30000, 0, steps=[
                ("subscribe", 2, 5, 20), ("subscribe", 0, 3, 20), ("cut", 0, 5, 1800), ("unsubscribe", 2, 1, 1500),
                ("crash", 1, 4, 4000), ("subscribe", 0, 5, 2100),
            ]),
            3,
        ),
    ],
)  # fmt: skip
def test_a_forgotten_node_that_comes_back_with_its_tables_gets_all_rows(plan: Plan, phi: int) -> None:
    """If versions started again for each new neighbour, a node that kept its tables would take new pages for old
    ones."""
    check_when_the_weather_clears(plan, phi)


# ---- bad weather


@settings(max_examples=40, deadline=None)
@given(plans(), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0]))
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(plan: Plan, phi: int, tau: float) -> None:
    net = weather(SemiProbLinks, plan, phi=phi, tau=tau)
    for i, (host, node) in enumerate(zip(net.hosts, net.nodes, strict=True)):
        if net.up[i]:
            assert set(host.timers) == {BEACON, *([SYNC] if node.will_sync else []), *node.waiting}


@settings(max_examples=15, deadline=None)
@given(plans())
def test_the_same_plan_has_the_same_effects(plan: Plan) -> None:
    first, second = (weather(SemiProbLinks, plan) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 9), st.integers(0, 99))
def test_flooding_reaches_every_connected_subscriber_in_fair_weather(n: int, seed: int) -> None:
    net = TinyNet(SemiProbLinks, n, [(i, i + 1) for i in range(n - 1)], seed=seed, tau=1.0, phi=0)
    net.start()
    for i in range(n):
        net.subscribe(i, HOT)
    net.run(3)
    e = net.publish(seed % n, topic="hot")
    net.run(1)
    assert [i for i in range(n) if net.delivered(i) == [e.id]] == [i for i in range(n) if i != seed % n]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(0, 99))
def test_within_the_horizon_routing_needs_no_chance(phi: int, seed: int) -> None:
    n = phi + 1
    net = TinyNet(SemiProbLinks, n + 1, [(i, i + 1) for i in range(n)], seed=seed, tau=0.0, phi=phi)
    net.start()
    net.subscribe(n, HOT)
    net.run(6)
    near, far = net.publish(1, topic="hot"), net.publish(0, topic="hot")
    net.run(1)
    assert net.delivered(n) == [near.id]
    assert ("suppress", "no link left", far.id, -1, 0) in net.hosts[0].notes
