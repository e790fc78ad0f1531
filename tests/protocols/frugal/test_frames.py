"""Frugal dissemination on the wire."""

from __future__ import annotations

import contextlib
from math import nan
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError, Malformed
from roamcast.protocols.frugal.frames import MOST, Events, EventsIds, Heartbeat
from roamcast.protocols.frugal.protocol import Frugal
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.parameters import build
from roamcast.protocols.kit.wire import decode, encode
from roamcast.pubsub.event import FOREVER, Event
from roamcast.pubsub.filters import EVERYTHING, attr, topic
from tests.protocols.frugal.nodes import NEWS, SECOND, news, node
from tests.support.storm import check_encoding

published = st.builds(
    Event,
    st.integers(1, (1 << 63) - 1),
    st.text(max_size=20),
    st.dictionaries(st.text(max_size=5), st.integers(-5, 5) | st.booleans() | st.text(max_size=5), max_size=4),
    st.binary(max_size=40),
    st.integers(1, FOREVER),
)
filters = st.sampled_from([NEWS, EVERYTHING, topic(""), topic("a.b") & (attr("t") > 3), attr("r").isin("x", "y")])
nodes = st.integers(0, (1 << 31) - 1)


@st.composite
def events_frames(draw: st.DrawFn) -> Events:
    carried = draw(st.lists(published, min_size=1, max_size=10))
    ages_us = draw(st.lists(st.integers(0, FOREVER), min_size=len(carried), max_size=len(carried)))
    return Events(carried, ages_us, draw(st.lists(nodes, max_size=20)))


frames = st.one_of(
    st.builds(Heartbeat, st.lists(filters, max_size=20), st.floats(0, 1e6) | st.just(nan)),
    st.builds(EventsIds, st.lists(st.integers(0, (1 << 63) - 1), max_size=40)),
    events_frames(),
)


@settings(deadline=None)
@given(frames)
def test_a_frame_crosses_the_wire_unchanged_and_its_size_is_that_of_its_bytes(frame: Frame) -> None:
    check_encoding(Frugal, frame)


@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, MOST])
def test_sizes_are_right_where_the_header_of_a_list_grows(n: int) -> None:
    for frame in (EventsIds(list(range(n))), Events([news(1)] * min(n, 100), [0] * min(n, 100), list(range(n)))):
        check_encoding(Frugal, frame)


@pytest.mark.parametrize("speed_mps", [nan, 0.0, 7.25])
def test_the_size_of_a_heartbeat_that_is_sent_is_that_of_its_bytes(speed_mps: float) -> None:
    protocol, host = node()
    host.speed_mps = speed_mps
    for key in range(20):
        protocol.on_subscribe(key, topic(f"news.{key}"))
    host.advance(protocol, 15 * SECOND)
    (heartbeat,) = host.frames("heartbeat")
    check_encoding(Frugal, heartbeat)


def test_equal_subscriptions_are_sent_once() -> None:
    protocol, host = node()
    for key in range(3):
        protocol.on_subscribe(key, topic("news"))
    host.advance(protocol, 15 * SECOND)
    (heartbeat,) = host.frames("heartbeat")
    assert heartbeat.fields()[0] == [NEWS.fields()]


EVENT = news(1).fields()


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [0],
        [0, [], None, 1],
        [0, {}, None],
        [0, [[99]], None],
        [0, [NEWS.fields()], "fast"],
        [0, [NEWS.fields()], -1.0],
        [0, [NEWS.fields()], float("inf")],
        [0, [NEWS.fields()], nan],
        [0, [NEWS.fields()], True],
        [0, [NEWS.fields()] * (MOST + 1), None],
        [1],
        [1, [], []],
        [1, 5],
        [1, [-1]],
        [1, [1 << 63]],
        [1, [True]],
        [1, [1.0]],
        [1, [1] * (MOST + 1)],
        [2, [0, EVENT]],
        [2, [], []],
        [2, [0], []],
        [2, [0, EVENT, 0], []],
        [2, [EVENT, 0], []],
        [2, [-1, EVENT], []],
        [2, [FOREVER + 1, EVENT], []],
        [2, [0, EVENT[:-1]], []],
        [2, [0, EVENT], [-1]],
        [2, [0, EVENT], [1 << 31]],
        [2, [0, EVENT], 3],
        [2, [0, EVENT], [0] * (MOST + 1)],
        [3, 0],
        "frame",
    ],
)
def test_invalid_fields_are_malformed(fields: Any) -> None:
    with pytest.raises(Malformed):
        decode(Frugal, msgspec.msgpack.encode(fields))


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_a_frame_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        decode(Frugal, data)


@settings(deadline=None)
@given(st.lists(frames, min_size=1, max_size=6), st.data())
def test_frames_with_bytes_changed_on_the_way_are_malformed_or_do_no_harm(sent: list[Any], data: st.DataObject) -> None:
    protocol, host = node(neighbors_limit=2, ids_limit=5, events_table_size=3)
    protocol.on_subscribe(1, EVERYTHING)
    for frame in sent:
        raw = bytearray(encode(Frugal, frame))
        for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=3)):
            raw[at] = data.draw(st.integers(0, 255))
        with contextlib.suppress(Malformed):
            host.hear(protocol, decode(Frugal, bytes(raw)), data.draw(st.integers(1, 4)))
        host.advance(protocol, host.clock_us + SECOND // 3)
    host.advance(protocol, host.clock_us + 20 * SECOND)
    assert len(protocol.neighborhood_table) <= 2
    assert len(protocol.events_table) <= 3


@pytest.mark.parametrize("given_", [{"hb_lower_s": 2.0}, {"ids_on": "never"}, {"events_table_size": 0}, {"sizes": "x"}])
def test_wrong_parameters_are_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        build(Frugal, given_)
