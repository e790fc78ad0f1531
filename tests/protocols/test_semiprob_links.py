"""Semi-probabilistic routing along links: its frames, its tables against a dumb twin, its limits, and bad weather."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.frames import EventFrame
from roamcast.protocols.semiprob_links import HEARD_MAX, ROWS_MAX, BeaconFrame, SemiProbLinks, TableFrame
from roamcast.protocols.wire import decode, encode
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import Filter, Range, topic
from tests.support.host import ScriptHost, make
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

HOT = topic("hot")
FILTERS = st.sampled_from([HOT, topic("a.b.c"), Range("v", 1, 2.5)])
NUMBERS = st.integers(1, (1 << 32) - 1)
beacons = st.builds(
    BeaconFrame, NUMBERS, st.dictionaries(st.integers(0, (1 << 31) - 1), st.tuples(NUMBERS, NUMBERS), max_size=20)
)
tables = st.builds(TableFrame, NUMBERS, NUMBERS, st.lists(st.tuples(st.integers(1, 255), FILTERS), max_size=20))


def event(n: int = 1, validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, n), "hot", validity_us=validity_us)


# ------------------------------------------------------------------------------------------------------------ frames


@given(beacons | tables)
def test_frames_are_as_long_as_they_say_and_come_back(frame: BeaconFrame | TableFrame) -> None:
    check_encoding(SemiProbLinks, frame)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    try:
        frame = decode(SemiProbLinks, data)
    except Malformed:
        return
    check_encoding(SemiProbLinks, frame)


@given(st.integers(-1, 4), st.lists(VALUES, max_size=5))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        frame = decode(SemiProbLinks, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return
    check_encoding(SemiProbLinks, frame)


@given(beacons | tables, st.integers(0, 500), st.integers(0, 255))
def test_a_damaged_frame_is_malformed_or_another_frame(frame: BeaconFrame, at: int, byte: int) -> None:
    data = bytearray(encode(SemiProbLinks, frame))
    data[at % len(data)] = byte
    try:
        other = decode(SemiProbLinks, bytes(data))
    except Malformed:
        return
    protocol, _ = make(SemiProbLinks)
    protocol.on_start()
    protocol.on_frame(other, 3)


@pytest.mark.parametrize(
    "fields",
    [
        [0, 0, []],
        [0, 1, [1, 2]],
        [0, 1, [1 << 31, 2, 3]],
        [0, 1, [1, 2, 3] * (HEARD_MAX + 1)],
        [1, 1, 0, []],
        [1, 0, 1, []],
        [1, 1, 1, [[0, [2, "hot"]]]],
        [1, 1, 1, [[256, [2, "hot"]]]],
        [1, 1, 1, [[1, [2, "hot"], 1]]],
        [1, 1, 1, [[1, [2, "hot"]]] * (ROWS_MAX + 1)],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(SemiProbLinks, msgspec.msgpack.encode(fields))


# ------------------------------------------------------------------------------------------- links learned from beacons


def links(node: SemiProbLinks) -> list[int]:
    return [i for i, n in sorted(node.neighbours.items()) if n.linked]


def test_a_link_exists_when_both_ends_hear_each_other() -> None:
    net = TinyNet(SemiProbLinks, 3, [(0, 1), (1, 0), (1, 2)], directed=True)
    net.start()
    net.run(5)
    assert [links(node) for node in net.nodes] == [[1], [0], []]


def test_a_beacon_tells_whom_a_node_hears() -> None:
    protocol, host = make(SemiProbLinks, beacon_s=1.0)
    protocol.on_start()
    host.hear(protocol, BeaconFrame(77, {}), 5)
    host.hear(protocol, BeaconFrame(66, {}), 4)
    host.hear(protocol, TableFrame(77, 3, []), 5)
    host.advance(protocol, 1_000_000)
    assert host.frames("beacon")[-1].heard == {4: (66, 0), 5: (77, 3)}
    assert len(host.frames("beacon")) == 1
    host.advance(protocol, 3_000_000)
    assert len(host.frames("beacon")) == 3


def test_a_silent_neighbour_is_forgotten_after_its_beacons_were_missed() -> None:
    net = TinyNet(SemiProbLinks, 2, [(0, 1)], beacon_s=1.0, patience=2.5)
    net.start()
    net.subscribe(1, HOT)
    net.run(5)
    assert links(net.nodes[0]) == [1] and net.nodes[0].tables[0] == {1: [HOT]}
    net.crash(1)
    net.run(1.4)
    assert links(net.nodes[0]) == [1]
    net.run(2.2)
    assert net.nodes[0].neighbours == {} and net.nodes[0].tables == [{}, {}]


def test_a_neighbour_that_no_longer_hears_me_is_no_link() -> None:
    net = TinyNet(SemiProbLinks, 2, [(0, 1)])
    net.start()
    net.subscribe(1, HOT)
    net.run(5)
    net.links.discard((0, 1))
    net.run(10)
    assert links(net.nodes[0]) == [] and net.nodes[0].tables[0] == {}
    assert list(net.nodes[0].neighbours) == [1]


def test_a_neighbour_that_lost_its_tables_is_told_again() -> None:
    net = TinyNet(SemiProbLinks, 3, [(0, 1), (1, 2)])
    net.start()
    net.subscribe(0, HOT)
    net.run(6)
    net.crash(1)
    net.recover(1)
    net.run(3)
    assert [n.tables for n in net.nodes] == [[{}, {}], [{0: [HOT]}, {}], [{}, {1: [HOT]}]]


def test_a_table_is_sent_again_until_the_neighbour_says_it_has_it() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    protocol.on_subscribe(1, HOT)
    heard = {0: (protocol.boot, 0)}
    for n in (1, 2):
        host.hear(protocol, BeaconFrame(7, heard), 5)
        assert [(to, f.number, f.rows) for to, f in host.sent] == [(5, 1, [(1, HOT)])] * n
    host.hear(protocol, BeaconFrame(7, {0: (protocol.boot, 1)}), 5)
    assert len(host.sent) == 2
    host.hear(protocol, BeaconFrame(7, {0: (protocol.boot + 1, 1)}), 5)
    assert len(host.sent) == 3


def test_an_overtaken_table_does_not_replace_a_newer_one() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, TableFrame(7, 2, [(1, HOT)]), 5)
    host.hear(protocol, TableFrame(7, 1, [(1, topic("cold"))]), 5)
    assert protocol.tables[0] == {5: [HOT]}
    host.hear(protocol, TableFrame(7, 3, []), 5)
    assert protocol.tables[0] == {}


def test_what_a_neighbour_said_before_it_lost_its_tables_is_forgotten() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, TableFrame(7, 5, [(1, HOT)]), 5)
    host.hear(protocol, BeaconFrame(8, {0: (protocol.boot, 0)}), 5)
    assert protocol.tables[0] == {}
    host.hear(protocol, TableFrame(8, 1, [(1, topic("cold"))]), 5)
    assert protocol.tables[0] == {5: [topic("cold")]}


def test_what_a_neighbour_said_that_does_not_hear_me_is_forgotten() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    host.hear(protocol, TableFrame(7, 1, [(1, HOT)]), 5)
    host.hear(protocol, BeaconFrame(7, {}), 5)
    assert protocol.tables[0] == {}


def test_rows_beyond_the_horizon_are_left_out() -> None:
    protocol, host = make(SemiProbLinks, phi=1)
    protocol.on_start()
    host.hear(protocol, TableFrame(7, 1, [(1, HOT), (2, topic("cold"))]), 5)
    assert protocol.tables == [{5: [HOT]}]


def expected(net: TinyNet, wants: dict[int, list[Filter]], phi: int) -> list[list[dict[int, set[Filter]]]]:
    """The dumb twin: a row for each way of `distance` hops to a subscriber that never turns back at once."""
    result = []
    for node in range(len(net.nodes)):
        found: list[dict[int, set[Filter]]] = [{} for _ in range(phi)]
        ways = [[node, j] for i, j in sorted(net.links) if i == node]
        for distance in range(1, phi + 1):
            for way in ways:
                for filter in wants.get(way[-1], []):
                    found[distance - 1].setdefault(way[1], set()).add(filter)
            ways = [[*way, j] for way in ways for i, j in sorted(net.links) if i == way[-1] and j != way[-2]]
        result.append(found)
    return result


@settings(max_examples=25, deadline=None)
@given(plans(), st.integers(1, 3))
def test_when_the_weather_clears_the_tables_are_those_of_the_graph(plan: Plan, phi: int) -> None:
    net = weather(SemiProbLinks, plan, phi=phi)
    for i in range(plan.n):
        if not net.up[i]:
            net.recover(i, keep_tables=True)
    net.loss = 0.0
    net.links = {(i, j) for i, j in net.links if (j, i) in net.links}
    net.run(12)
    wants = {i: list(node.local.values()) for i, node in enumerate(net.nodes)}
    tables = [
        [{link: set(rows) for link, rows in table.items()} for table in node.tables] for node in net.nodes
    ]  # fmt: skip
    assert tables == expected(net, wants, phi)
    before = len(net.sends("subscription"))
    net.run(3)
    assert len(net.sends("subscription")) == before  # and then nobody has anything more to tell


# ----------------------------------------------------------------------------------------------------- bad weather


@settings(max_examples=40, deadline=None)
@given(plans(), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0]))
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(plan: Plan, phi: int, tau: float) -> None:
    net = weather(SemiProbLinks, plan, phi=phi, tau=tau)
    assert all(set(host.timers) == {1} for i, host in enumerate(net.hosts) if net.up[i])


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


# ---------------------------------------------------------------------------------------------------------- limits


def test_an_expired_event_is_neither_delivered_nor_forwarded() -> None:
    protocol, host = make(SemiProbLinks, tau=1.0)
    protocol.on_start()
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, BeaconFrame(7, {0: (protocol.boot, 0)}), 5)
    host.sent.clear()
    host.hear(protocol, EventFrame(event(1, 1000), 0, 1000), 2)
    assert host.delivered == [] and host.sent == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, EventFrame(event(1, 1000), 0, 999), 2)
    assert len(host.delivered) == 1 and [frame.age_us for _, frame in host.sent] == [999]


def test_neighbours_and_recent_events_are_bounded() -> None:
    protocol, host = make(SemiProbLinks, neighbours=3, recent=5)
    protocol.on_start()
    for i in range(1, 9):
        host.hear(protocol, BeaconFrame(i, {}), i)
        host.hear(protocol, TableFrame(i, 1, [(1, HOT)]), i)
        host.hear(protocol, EventFrame(event(i), 0, 0), i)
    assert list(protocol.neighbours) == [1, 2, 3] and list(protocol.tables[0]) == [1, 2, 3]
    assert list(protocol.recent) == [event(n).id for n in range(4, 9)]
    assert host.labels("note").count("neighbours full") == 10


def test_a_table_has_at_most_so_many_rows_on_the_air_nearest_first() -> None:
    protocol, host = make(SemiProbLinks, phi=2)
    protocol.on_start()
    host.hear(protocol, TableFrame(6, 1, [(1, topic(f"far{n}")) for n in range(ROWS_MAX)]), 6)
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, BeaconFrame(7, {0: (protocol.boot, 0)}), 5)
    to, frame = host.sent[-1]
    assert to == 5 and len(frame.rows) == ROWS_MAX and frame.rows[0] == (1, HOT)
    check_encoding(SemiProbLinks, frame)


def test_state_stays_bounded_over_a_long_steady_run() -> None:
    net = TinyNet(SemiProbLinks, 4, [(0, 1), (1, 2), (2, 3), (3, 0)], phi=3, recent=20, loss=0.2)
    net.start()
    for n in range(200):
        net.subscribe(n % 4, topic(f"t{n % 40}"), n % 3)
        net.publish(n % 4, topic=f"t{n % 37}")
        net.run(0.5)
        for node in net.nodes:
            assert len(node.recent) <= 20 and len(node.neighbours) <= 2
            assert sum(len(rows) for table in node.tables for rows in table.values()) <= 3 * 2 * 4 * 3


def test_memory_counts_rows_and_neighbours() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    protocol.on_subscribe(1, topic("mine"))
    assert protocol.memory() == (0, 0)
    host.hear(protocol, TableFrame(7, 1, [(1, HOT), (2, HOT)]), 5)
    entries, size = protocol.memory()
    assert entries == 3 and size > 2 * len(b"hot")


def test_copies_of_a_known_event_are_muted() -> None:
    protocol, host = make(SemiProbLinks)
    host.hear(protocol, EventFrame(event(), 0, 0), 2)
    mine = Event(event_id(0, 1), "hot")
    protocol.on_publish(mine)
    assert set(host.muted) == {event().id, mine.id}


def test_it_is_registered() -> None:
    assert registry.get("semiprob-links") is SemiProbLinks


def test_boots_differ() -> None:
    boots = set()
    for seed in range(20):
        protocol, _ = make(SemiProbLinks, ScriptHost(0, seed))
        protocol.on_start()
        boots.add(protocol.boot)
    assert len(boots) == 20 and min(boots) > 0
