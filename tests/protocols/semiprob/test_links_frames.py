"""The frames of semi-probabilistic routing along links, and its limits."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.kit.wire import decode, encode, measure
from roamcast.protocols.semiprob.link_tables import (
    HEARD_MAX,
    PAGES_MAX,
    ROWS_MAX,
    WANTED_MAX,
    BeaconFrame,
    LinkEventFrame,
    TableFrame,
)
from roamcast.protocols.semiprob.links import SYNC_US, SemiProbLinks
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.protocols.semiprob.nodes import HOT, NODES, NUMBERS, PAGES, event, heard, page, tables, tables_of
from tests.support.net import TinyNet
from tests.support.storm import VALUES, check_encoding

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


copies = st.builds(LinkEventFrame, EVENTS, st.integers(0, 255), st.integers(0, FOREVER), st.lists(NODES, max_size=40))
FRAMES = beacons | tables | copies


# ---- frames


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


# ---- limits


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
