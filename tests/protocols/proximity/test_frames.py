"""Proximity-driven routing on the wire."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.proximity.frames import CREDIT_MAX, DESTINATIONS_MAX, Beacon, Message
from roamcast.protocols.proximity.protocol import Proximity
from roamcast.pubsub.event import FOREVER, Event
from roamcast.pubsub.filters import EVERYTHING, NOTHING, topic
from roamcast.testing import round_trip
from tests.protocols.proximity.nodes import INTERVAL_US, NEWS, broker, news

events = st.builds(
    Event,
    st.integers(1, (1 << 63) - 1),
    st.text(max_size=20),
    st.dictionaries(st.text(max_size=5), st.integers(-5, 5) | st.booleans() | st.text(max_size=5), max_size=4),
    st.binary(max_size=40),
    st.integers(1, FOREVER),
)
messages = st.builds(
    Message,
    events,
    st.integers(0, CREDIT_MAX),
    st.dictionaries(st.integers(0, (1 << 31) - 1), st.integers(0, 1000), max_size=20),
    st.integers(0, FOREVER),
)


@given(messages)
def test_a_message_crosses_the_wire_unchanged_and_its_size_is_that_of_its_bytes(m: Message) -> None:
    there = round_trip(Proximity, m)
    assert isinstance(there, Message)
    assert there.fields() == m.fields()
    assert (there.kind, there.id, there.size, there.events()) == ("event", m.event.id, m.size, [m.event])
    assert m.size == len(encode(Proximity, m))


@pytest.mark.parametrize("n", [0, 7, 8, DESTINATIONS_MAX])
def test_the_size_of_a_message_is_right_where_the_header_of_its_list_grows(n: int) -> None:
    m = Message(news(1), 0, dict.fromkeys(range(n), 1000), 0)
    assert m.size == len(encode(Proximity, m))
    assert round_trip(Proximity, m).fields() == m.fields()


@pytest.mark.parametrize("predicate", [EVERYTHING, NOTHING, NEWS, NEWS | topic("sport")])
def test_a_beacon_crosses_the_wire_unchanged(predicate: Any) -> None:
    beacon = Beacon(predicate)
    there = round_trip(Proximity, beacon)
    assert isinstance(there, Beacon)
    assert there.predicate == predicate
    assert (there.kind, there.id, there.size) == ("beacon", 0, len(encode(Proximity, beacon)))


EVENT = news(1).fields()


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [0],
        [0, []],
        [0, NEWS.fields(), 1],
        [0, [99]],
        [1, 0, 0, []],
        [1, -1, 0, [], EVENT],
        [1, CREDIT_MAX + 1, 0, [], EVENT],
        [1, True, 0, [], EVENT],
        [1, 0, FOREVER + 1, [], EVENT],
        [1, 0, 0, [4], EVENT],
        [1, 0, 0, [4, 0, 5], EVENT],
        [1, 0, 0, [4, 0, 4, 0], EVENT],
        [1, 0, 0, [4, 1001], EVENT],
        [1, 0, 0, [4, -1], EVENT],
        [1, 0, 0, [-1, 0], EVENT],
        [1, 0, 0, [4, 0.5], EVENT],
        [1, 0, 0, {4: 0}, EVENT],
        [1, 0, 0, [0] * (2 * DESTINATIONS_MAX + 2), EVENT],
        [1, 0, 0, [], [0, *EVENT[1:]]],
        [2, 0],
        "frame",
    ],
)
def test_invalid_fields_are_malformed(fields: Any) -> None:
    with pytest.raises(Malformed):
        decode(Proximity, msgspec.msgpack.encode(fields))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_frame_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        decode(Proximity, data)


@given(messages, st.data())
def test_a_message_with_bytes_changed_on_the_way_is_a_frame_or_malformed(m: Message, data: st.DataObject) -> None:
    raw = bytearray(encode(Proximity, m))
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=4)):
        raw[at] = data.draw(st.integers(0, 255))
    try:
        frame = decode(Proximity, bytes(raw))
    except Malformed:
        return
    protocol, host = broker()
    host.hear(protocol, frame, 3)
    host.advance(protocol, 10 * INTERVAL_US)
