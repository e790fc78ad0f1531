"""Semi-probabilistic routing along links: its frames, its tables against a simple model, its limits, bad weather."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import BROADCAST
from roamcast.protocols.kit.wire import decode, encode, measure
from roamcast.protocols.semiprob.link_tables import (
    ANY_LINK,
    HEARD_MAX,
    PAGE_BYTES,
    PAGES_MAX,
    ROWS_MAX,
    TABLE_BYTES,
    WANTED_MAX,
    AdvertisedTable,
    BeaconFrame,
    LinkEventFrame,
    Row,
    TableFrame,
)
from roamcast.protocols.semiprob.links import BEACON, SYNC, SYNC_US, SemiProbLinks
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import Filter, Range, topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

HOT = topic("hot")
FILTERS = st.sampled_from([HOT, topic("a.b.c"), Range("v", 1, 2.5)])
NUMBERS = st.integers(1, (1 << 32) - 1)
NODES = st.integers(0, (1 << 31) - 1)
PAGES = st.integers(0, PAGES_MAX - 1)
EVENTS = st.builds(
    Event, st.integers(1, (1 << 63) - 1), st.sampled_from(["", "hot", "a.b"]), payload=st.binary(max_size=5)
)
beacons = st.builds(
    BeaconFrame,
    NUMBERS,
    st.lists(NUMBERS | st.just(0), max_size=20),
    st.lists(NODES, max_size=20),
    st.dictionaries(NODES, st.lists(PAGES, max_size=20), max_size=20),
)
tables = st.builds(
    TableFrame,
    NUMBERS,
    PAGES,
    NUMBERS,
    st.lists(st.tuples(st.integers(1, 255), st.just(ANY_LINK) | NODES, FILTERS), max_size=20),
)
copies = st.builds(LinkEventFrame, EVENTS, st.integers(0, 255), st.integers(0, FOREVER), st.lists(NODES, max_size=40))
FRAMES = beacons | tables | copies


def event(n: int = 1, validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, n), "hot", validity_us=validity_us)


# ------------------------------------------------------------------------------------------------------------ frames


@given(FRAMES)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: BeaconFrame | TableFrame | LinkEventFrame) -> None:
    check_encoding(SemiProbLinks, frame)


@pytest.mark.parametrize("named", [0, 15, 16, HEARD_MAX])
def test_an_event_may_go_along_many_links(named: int) -> None:
    check_encoding(SemiProbLinks, LinkEventFrame(event(), 0, 0, list(range(1000, 1000 + named))))


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


@given(FRAMES, st.integers(0, 500), st.integers(0, 255))
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
        [0, 0, [], [], []],
        [0, 1, [-1], [], []],
        [0, 1, [1] * (PAGES_MAX + 1), [], []],
        [0, 1, [], [1 << 31], []],
        [0, 1, [], [1] * (HEARD_MAX + 1), []],
        [0, 1, [], [], [[]]],
        [0, 1, [], [], [[1, PAGES_MAX]]],
        [0, 1, [], [], [[1, 2], [1, 3]]],
        [0, 1, [], [], [[n] for n in range(WANTED_MAX + 1)]],
        [0, 1, [], []],
        [1, 0, 0, 1, []],
        [1, 1, PAGES_MAX, 1, []],
        [1, 1, 0, 0, []],
        [1, 1, 0, 1, [[0, -1, [2, "hot"]]]],
        [1, 1, 0, 1, [[256, -1, [2, "hot"]]]],
        [1, 1, 0, 1, [[1, -2, [2, "hot"]]]],
        [1, 1, 0, 1, [[1, [2, "hot"]]]],
        [1, 1, 0, 1, [[1, -1, [2, "hot"]]] * (ROWS_MAX + 1)],
        [2, 256, 0, [1, "hot", {}, b"", 0, 0], []],
        [2, 0, -1, [1, "hot", {}, b"", 0, 0], []],
        [2, 0, 0, [0, "hot", {}, b"", 0, 0], []],
        [2, 0, 0, [1, "hot", {}, b"", 0, 0], [-1]],
        [2, 0, 0, [1, "hot", {}, b"", 0, 0], [1] * (HEARD_MAX + 1)],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(SemiProbLinks, msgspec.msgpack.encode(fields))


# ------------------------------------------------------------------------------------------------------ advertised rows


def advertised_rows(table: AdvertisedTable) -> dict[Row, int]:
    return {row: link for page in table.pages for row, link in page.rows.items()}


MOVES = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 60), st.sampled_from([ANY_LINK, 4, 5, None])), min_size=1, max_size=60
)


@settings(max_examples=60)
@given(MOVES, st.integers(1, 60))
def test_pages_hold_the_advertised_rows_and_changed_pages_are_enough_to_know_them(moves: list, every: int) -> None:
    """Compared with a dict of all rows, and with a receiver that keeps the last copy of each page."""
    table, wanted = AdvertisedTable(), {}
    heard: dict[int, dict[Row, int]] = {}
    versions: list[int] = []
    for k, (distance, n, link) in enumerate(moves):
        row = (distance, topic("t" * (n + 1)))
        if link is None:
            wanted.pop(row, None)
            table.remove(row)
        else:
            wanted[row] = link
            table.put(row, link)
        if k % every and k < len(moves) - 1:
            continue
        changed = table.update_pages()
        for at in changed:
            heard[at] = dict(table.pages[at].rows)
        assert [v for at, v in enumerate(versions) if at not in changed] == [
            v for at, v in enumerate(table.versions()[: len(versions)]) if at not in changed
        ]
        assert all(table.pages[at].version == (versions[at] if at < len(versions) else 0) + 1 for at in changed)
        versions = table.versions()
        assert advertised_rows(table) == wanted and table.unplaced == {}
        assert {row: link for rows in heard.values() for row, link in rows.items()} == wanted
        assert all(page.size <= PAGE_BYTES or len(page.rows) == 1 for page in table.pages)


def test_a_change_costs_one_page() -> None:
    table = AdvertisedTable()
    for n in range(100):
        table.put((1, topic(f"t{n}")), ANY_LINK)
    assert len(table.update_pages()) == len(table.pages) > 3
    table.put((1, topic("t50")), ANY_LINK)
    assert table.update_pages() == []
    table.put((1, topic("t50")), 7)
    assert table.update_pages() == [table.page_of[(1, topic("t50"))]]
    table.remove((1, topic("t0")))
    table.put((2, topic("new")), 3)
    assert table.update_pages() == [0]  # the new row fills the gap


def test_the_frame_of_a_page_is_not_longer_than_the_page_states() -> None:
    table = AdvertisedTable()
    for n in range(300):
        table.put((1 + n % 255, topic("x" * (1 + n % 40))), (1 << 31) - 1)
    table.update_pages()
    for at, page in enumerate(table.pages):
        assert TableFrame((1 << 32) - 1, at, (1 << 32) - 1, page.listed()).size <= page.size + 20


def test_rows_without_room_are_left_out_farthest_first_until_there_is_room() -> None:
    table = AdvertisedTable()
    far, near = [(3, topic(f"far{n:03d}" + "x" * 50)) for n in range(200)], [(1, topic(f"n{n}")) for n in range(10)]
    for row in far:
        table.put(row, ANY_LINK)
    table.update_pages()
    fits = len(table.page_of)
    assert 100 < fits < 200 and table.size <= TABLE_BYTES and len(table.unplaced) == 200 - fits
    for row in near:
        table.put(row, ANY_LINK)
    table.update_pages()
    assert all(row in table.page_of for row in near) and table.size <= TABLE_BYTES
    assert len(table.page_of) + len(table.unplaced) == 210
    table.put((3, topic("farther" + "x" * 50)), ANY_LINK)
    assert table.update_pages() == []  # as far away as the rows in the table: it has to wait
    for row in near + far[:100]:
        table.remove(row)
    table.update_pages()
    assert table.unplaced == {} and len(table.page_of) == 101


def test_a_filter_too_long_for_a_page_has_one_of_its_own() -> None:
    table = AdvertisedTable()
    table.put((1, topic("a")), ANY_LINK)
    table.put((1, topic("b" * 2 * PAGE_BYTES)), ANY_LINK)
    table.put((1, topic("c")), ANY_LINK)
    assert table.update_pages() == [0, 1]
    assert [len(page.rows) for page in table.pages] == [2, 1]


def test_an_empty_page_is_used_again_also_for_a_long_filter() -> None:
    table = AdvertisedTable()
    for n in range(3):
        table.put((1, topic(f"b{n}" * PAGE_BYTES)), ANY_LINK)
        assert table.update_pages() == [0]
        table.remove((1, topic(f"b{n}" * PAGE_BYTES)))
    assert table.update_pages() == [0] and len(table.pages) == 1


def test_the_number_of_pages_is_limited() -> None:
    table = AdvertisedTable()
    for n in range(400):
        table.put((2, topic(f"t{n:03d}" + "x" * 100)), ANY_LINK)
    table.update_pages()
    for row in list(table.page_of)[::2]:
        table.remove(row)
    for n in range(100):
        table.put((1, topic("y" * (200 + n))), ANY_LINK)
        table.update_pages()
    assert len(table.pages) <= PAGES_MAX and table.size <= TABLE_BYTES


def test_rows_left_out_are_noted() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    for n in range(200):
        protocol.on_subscribe(n, topic(f"t{n:03d}" + "x" * 50))
    host.advance(protocol, SYNC_US)
    left = 200 - sum(len(frame.rows) for frame in host.frames("subscription"))
    assert left > 0 and ("note", "rows left out", 0, -1, left) in host.notes
    protocol.on_unsubscribe(0)
    host.advance(protocol, 2 * SYNC_US)
    assert host.labels("note") == ["rows left out"]


# ------------------------------------------------------------------------------------------- links learned from beacons


def links(node: SemiProbLinks) -> list[int]:
    assert node.links == [i for i, n in sorted(node.neighbours.items()) if n.linked]
    return node.links


def tables_of(node: SemiProbLinks) -> list[dict[int, set[Filter]]]:
    """For each distance: link -> filters."""
    tables: list[dict[int, set[Filter]]] = [{} for _ in range(node.params.phi)]
    for filter, interest in node.filters.items():
        for table, rows in zip(tables, interest.tables, strict=True):
            for link in rows:
                table.setdefault(link, set()).add(filter)
    assert node.rows == sum(len(filters) for table in tables for filters in table.values())
    return tables


def heard(node: SemiProbLinks, *, boot: int = 7, versions: list[int] | None = None, lacks: list[int] | None = None):
    """The beacon of a neighbour that hears node 0."""
    return BeaconFrame(boot, versions or [], [0], {0: lacks} if lacks else {})


def page(rows: list[tuple[int, Filter]], *, boot: int = 7, at: int = 0, version: int = 1) -> TableFrame:
    return TableFrame(boot, at, version, [(distance, ANY_LINK, filter) for distance, filter in rows])


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


# ----------------------------------------------------------------------------------------------------- bad weather


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


# ---------------------------------------------------------------------------------------------------------- limits


def test_the_age_on_the_air_grows_by_the_time_spent_waiting() -> None:
    protocol, host = make(SemiProbLinks, tau=1.0, jitter_ms=10.0, phi=0)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    host.draws = [0.5]
    host.hear(protocol, LinkEventFrame(event(), 0, 700, [0]), 2)
    host.advance(protocol, 4_999)
    assert host.frames("event") == []
    host.advance(protocol, 5_000)
    assert [frame.age_us for frame in host.frames("event")] == [5_700]


def test_an_event_from_a_neighbour_without_a_link_goes_along_all_links() -> None:
    protocol, host = make(SemiProbLinks, tau=1.0, jitter_ms=0.0, phi=0)
    protocol.on_start()
    host.hear(protocol, BeaconFrame(1, [], [], {}), 2)  # it does not hear this node
    for node in (5, 6):
        host.hear(protocol, heard(protocol), node)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 2)
    host.advance(protocol, 0)
    assert [sorted(frame.to) for frame in host.frames("event")] == [[5, 6]]


def test_a_remembered_event_that_comes_again_expired_is_not_noted_as_expired() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    for age_us in (0, 100):
        protocol.on_frame(LinkEventFrame(event(1, validity_us=100), 0, age_us, [0]), 2)
    assert "expired" not in host.labels("drop")
    protocol.on_frame(LinkEventFrame(event(2, validity_us=100), 0, 100, [0]), 2)
    assert host.labels("drop") == ["expired"]


def test_events_that_waited_before_a_crash_are_sent_after_it_if_the_tables_survive() -> None:
    protocol, host = make(SemiProbLinks, tau=1.0)
    protocol.on_start()
    host.hear(protocol, heard(protocol), 5)
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 2)
    host.timers.clear()
    protocol.on_start()
    host.advance(protocol, SYNC_US)
    assert len(host.frames("event")) == 1 and len(host.frames("subscription")) == 1
    assert protocol.waiting == {}


def test_neighbours_and_recent_events_are_bounded() -> None:
    protocol, host = make(SemiProbLinks, neighbours=3, recent=5)
    protocol.on_start()
    for i in range(1, 9):
        host.hear(protocol, heard(protocol, boot=i), i)
        host.hear(protocol, page([(1, HOT)], boot=i), i)
        host.hear(protocol, LinkEventFrame(event(i), 0, 0, [0]), i)
    assert list(protocol.neighbours) == [1, 2, 3] and tables_of(protocol)[0] == {i: {HOT} for i in (1, 2, 3)}
    assert protocol.recent.in_order() == [event(n).id for n in range(4, 9)]
    assert host.labels("note").count("neighbours full") == 10


def test_state_stays_bounded_over_a_long_steady_run() -> None:
    net = TinyNet(SemiProbLinks, 4, [(0, 1), (1, 2), (2, 3), (3, 0)], phi=3, recent=20, loss=0.2)
    net.start()
    for n in range(200):
        net.subscribe(n % 4, topic(f"t{n % 40}"), n % 3)
        net.publish(n % 4, topic=f"t{n % 37}")
        net.run(0.5)
        for node in net.nodes:
            assert len(node.recent) <= 20 and len(node.neighbours) <= 2
            assert len(node.waiting) <= 20 and node.rows <= 3 * 2 * 4 * 3 and len(node.advertised.page_of) <= 3 * 4 * 3
            assert len(node.filters) == len(node.filter_rows) <= 4 * 3


def test_memory_counts_rows_and_neighbours() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    protocol.on_subscribe(1, topic("mine"))
    assert protocol.memory() == (0, 0)
    host.hear(protocol, heard(protocol), 5)
    host.hear(protocol, page([(1, HOT), (2, HOT)]), 5)
    host.hear(protocol, heard(protocol), 6)
    host.hear(protocol, page([(1, HOT)]), 6)
    assert protocol.memory() == (5, measure(HOT.fields()) + 3 * 4 + 2 * 16)


def test_copies_of_a_known_event_are_muted() -> None:
    protocol, host = make(SemiProbLinks)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 2)
    mine = Event(event_id(0, 1), "hot")
    protocol.on_publish(mine)
    assert set(host.muted) == {event().id, mine.id}


def test_a_forgotten_event_is_heard_again() -> None:
    protocol, host = make(SemiProbLinks, recent=1)
    for n in (1, 2, 1):
        host.hear(protocol, LinkEventFrame(event(n), 0, 0, [0]), 2)
    assert set(host.muted) == {event(1).id}


def test_it_is_registered() -> None:
    assert registry.get("semiprob-links") is SemiProbLinks


def test_boots_differ() -> None:
    boots = set()
    for seed in range(20):
        protocol, _ = make(SemiProbLinks, ScriptHost(0, seed))
        protocol.on_start()
        boots.add(protocol.boot)
    assert len(boots) == 20 and min(boots) > 0
