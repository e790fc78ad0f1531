"""Encoded frames: any received bytes give a frame or `Malformed`, and a sent frame has the size that it states.

Every registered protocol is tested with frames that it really sends. They come from a small busy network, and are cut
short, overwritten, and rebuilt with other values.
"""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import registry
from roamcast.protocols.flooding import FloodingNeighbors
from roamcast.protocols.gossip import Gossip
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Protocol
from roamcast.protocols.kit.wire import (
    MAX_FRAME,
    as_bytes,
    as_float,
    as_int,
    as_list,
    counted,
    decode,
    encode,
    measure,
    uint_size,
)
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import And, attr, topic
from tests.support.net import TinyNet
from tests.support.storm import VALUES

every = pytest.mark.parametrize("name", registry.names())
ALL_FRAMES: dict[str, list[dict[str, Any]]] = {"gossip": [{"repair": True}], "roam": [{}, {"effort": 0.1}]}
"""Parameters with which a protocol sends all of its frames."""
EDGES = [0, 1, 127, 128, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1, -1]


# ------------------------------------------------------------------------------------------- frames of every protocol


@cache
def sent_by(name: str) -> list[bytes]:
    """Frames that small busy networks of this protocol send: some of each kind, of different lengths."""
    protocol = registry.get(name)
    shortest_first: dict[tuple[int, int], bytes] = {}
    for params in ALL_FRAMES.get(name, [{}]):
        for _, _, _, frame in busy_network(protocol, params).log:
            data = encode(protocol, frame)
            assert len(data) == frame.size, frame.fields()
            shortest_first[protocol.frames.index(type(frame)), len(data)] = data
    return [data for _, data in sorted(shortest_first.items())]


def busy_network(protocol: type[Protocol], params: dict[str, Any]) -> TinyNet:
    links = [(0, 1), (1, 2), (0, 2), (2, 3), (4, 5), (5, 6), (6, 7)]
    net = TinyNet(protocol, 8, links, seed=5, **params)
    wanted = And([topic("news"), attr("room").isin("lab", "hall"), attr("t") > 3])
    for i in range(8):
        net.subscribe(i, topic("news") if i % 2 else wanted)
    net.start()
    for k in range(16):
        net.run(2)
        net.publish(k % 8, topic="news", attrs={"room": "lab", "t": k}, payload=bytes(k), validity_us=30_000_000)
        if k == 5:
            net.join(3, 4)
        if k == 10:
            net.cut(1, 2)
            net.cut(0, 2)
    net.run(5)
    return net


def decoded(name: str, data: bytes) -> Frame | None:
    try:
        return decode(registry.get(name), data)
    except Malformed:
        return None


def check(protocol: type[Protocol], frame: Frame) -> None:
    """The frame has the size that it states, and is decoded unchanged."""
    data = encode(protocol, frame)
    assert frame.size == len(data)
    again = decode(protocol, data)
    assert type(again) is type(frame)
    assert encode(protocol, again) == data
    assert (again.kind, again.id, again.size) == (frame.kind, frame.id, frame.size)
    assert [event.id for event in again.events()] == [event.id for event in frame.events()]


@every
def test_every_kind_of_its_frames_is_tested(name: str) -> None:
    assert {msgspec.msgpack.decode(data)[0] for data in sent_by(name)} == set(range(len(registry.get(name).frames)))


@every
def test_its_frames_are_decoded_unchanged(name: str) -> None:
    assert sent_by(name)
    for data in sent_by(name):
        check(registry.get(name), decode(registry.get(name), data))


@every
def test_a_frame_cut_short_anywhere_or_with_a_byte_too_many_is_malformed(name: str) -> None:
    for data in sent_by(name):
        for end in range(len(data)):
            assert decoded(name, data[:end]) is None
        assert decoded(name, data + b"\x00") is None


@every
@settings(max_examples=60)
@given(data=st.binary(max_size=60))
def test_any_bytes_are_a_frame_or_malformed(name: str, data: bytes) -> None:
    decoded(name, data)
    for tag in range(len(registry.get(name).frames)):
        decoded(name, bytes([0x90 | min(len(data) + 1, 15), tag]) + data)


@every
@settings(max_examples=60)
@given(tag=st.integers(0, 9), fields=st.lists(VALUES, max_size=8))
def test_any_fields_are_a_frame_or_malformed(name: str, tag: int, fields: list[Any]) -> None:
    frame = decoded(name, msgspec.msgpack.encode([tag, *fields]))
    if frame is not None:
        check(registry.get(name), frame)


@every
@settings(max_examples=120)
@given(data=st.data())
def test_bytes_changed_on_the_way_make_a_frame_or_malformed(name: str, data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(sent_by(name))))
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=4)):
        raw[at] = data.draw(st.integers(0, 255))
    frame = decoded(name, bytes(raw))
    if frame is not None:
        check(registry.get(name), frame)


def places(fields: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value inside."""
    inner = list(enumerate(fields)) if isinstance(fields, list) else []
    if isinstance(fields, dict):
        inner = list(fields.items())
    return [at, *(place for key, value in inner for place in places(value, (*at, key)))]


def replaced(fields: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy = fields.copy()
    copy[place[0]] = replaced(fields[place[0]], place[1:], value)
    return copy


def at(fields: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        fields = fields[key]
    return fields


def alike(value: Any) -> st.SearchStrategy[Any]:
    """Another value of the same type: mostly these make frames again."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.sampled_from(EDGES) | st.integers(0, 1000) | st.integers(-(1 << 63), (1 << 64) - 1)
    if isinstance(value, float):
        return st.floats() | st.integers(-5, 5)
    if isinstance(value, str):
        return st.text(max_size=40)
    if isinstance(value, bytes):
        return st.binary(max_size=300) | st.sampled_from([16, 128, 256]).map(bytes)
    if isinstance(value, list) and value:
        return st.lists(st.sampled_from(value), max_size=40)
    return VALUES


@every
@settings(max_examples=200)
@given(data=st.data())
def test_frames_with_other_values_have_the_size_that_they_state(name: str, data: st.DataObject) -> None:
    fields = msgspec.msgpack.decode(data.draw(st.sampled_from(sent_by(name))))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(fields)[1:]))
        fields = replaced(fields, place, data.draw(alike(at(fields, place)) | VALUES))
    frame = decoded(name, msgspec.msgpack.encode(fields))
    if frame is not None:
        check(registry.get(name), frame)


@every
@settings(max_examples=40)
@given(data=st.data())
def test_a_node_survives_any_frames(name: str, data: st.DataObject) -> None:
    """Frames that decode may still be wrong. A node receives them one after the other and does not fail."""
    net = TinyNet(registry.get(name), 2, [(0, 1)], seed=5)
    net.subscribe(0, topic("news"))
    net.start()
    for _ in range(data.draw(st.integers(1, 6))):
        fields = msgspec.msgpack.decode(data.draw(st.sampled_from(sent_by(name))))
        place = data.draw(st.sampled_from(places(fields)[1:]))
        fields = replaced(fields, place, data.draw(alike(at(fields, place))))
        frame = decoded(name, msgspec.msgpack.encode(fields))
        if frame is not None:
            net.hosts[0].hear(net.nodes[0], frame, data.draw(st.sampled_from([1, 1, 2, 0, 1 << 30])))
        net.run(data.draw(st.sampled_from([0.0, 0.01, 1.5, 20.0])))
    for _, _, _, frame in net.log:
        assert len(encode(net.protocol, frame)) == frame.size


# ------------------------------------------------------------------------------------------------ decoding and encoding

NEWS = EventFrame(Event(event_id(7, 1), "news"), 0, 0)


def test_the_tag_is_the_place_of_the_frame_in_the_protocol_s_list() -> None:
    raw = encode(Gossip, NEWS)
    assert raw[:2] == b"\x94\x00"
    assert type(decode(FloodingNeighbors, b"\x92\x01\x90")).__name__ == "HeartbeatFrame"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc0",
        b"\x00",
        b"\x90",
        b"\x80",
        b"\xa1a",
        b"\x91\xc3",  # True is not a tag
        b"\x91\xcb" + bytes(8),  # nor is 0.0
        b"\x91\xff",  # nor -1
        b"\x91\x01",  # gossip has only one kind of frame
        b"\xc1",  # never used by msgpack
        b"\x81\x80\x01",  # a dictionary as a key
        b"\xd6\xff\x00\x00\x00\x00",  # a date
        b"\xc7\x0c\xff" + b"\xff" * 12,  # a date out of range
        b"\x92\x00\xd9\x01\xff",  # not UTF-8
        b"\x91" * 60_000 + b"\x00",  # too deep
        b"\xdd\xff\xff\xff\xff",  # four thousand million fields, all missing
    ],
)
def test_invalid_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(Gossip, data)


def test_bytes_longer_than_any_frame_are_not_decoded() -> None:
    def of(payload: int) -> bytes:
        return encode(Gossip, EventFrame(Event(event_id(7, 1), "news", payload=bytes(payload)), 0, 0))

    longest = MAX_FRAME - len(of(60_000)) + 60_000
    assert len(of(longest)) == MAX_FRAME
    decode(Gossip, of(longest))
    with pytest.raises(Malformed, match="longer"):
        decode(Gossip, of(longest + 1))


@given(st.integers(0, (1 << 64) - 1) | st.sampled_from(EDGES[:-1]))
def test_the_size_of_an_int_is_that_of_msgpack(n: int) -> None:
    assert uint_size(n) == len(msgspec.msgpack.encode(n))


@pytest.mark.parametrize("n", [0, 1, 13, 14, 15, 16, 17, 65_533, 65_534])
def test_a_frame_is_measured_with_its_tag(n: int) -> None:
    fields = [1] * n
    assert measure(fields) == len(msgspec.msgpack.encode([0, *fields]))


# -------------------------------------------------------------------------------------------------------- the checks


def refuses(check: Any, *arguments: Any) -> bool:
    with contextlib.suppress(Malformed):
        check(*arguments)
        return False
    return True


def test_ints_are_ints_within_their_range() -> None:
    assert as_int(0) == 0
    assert as_int((1 << 63) - 1) == (1 << 63) - 1
    assert as_int(-3, -3, 3) == -3
    assert as_int(3, -3, 3) == 3
    for value in (-1, 1 << 63, True, 1.0, "1", None, [1]):
        assert refuses(as_int, value)
    assert refuses(as_int, -4, -3, 3)
    assert refuses(as_int, 4, -3, 3)


def test_numbers_become_floats() -> None:
    assert (as_float(2), type(as_float(2))) == (2.0, float)
    assert as_float(0.5) == 0.5
    for value in (True, "1", None, b"1"):
        assert refuses(as_float, value)


def test_bytes_and_lists_are_checked() -> None:
    assert (as_bytes(b"a"), as_list([1, 2], 2)) == (b"a", [1, 2])
    assert refuses(as_bytes, "a")
    assert refuses(as_list, (1, 2))
    assert refuses(as_list, [1, 2, 3], 2)
    assert len(as_list([0] * 4096)) == 4096
    assert refuses(as_list, [0] * 4097)


def test_fields_are_counted() -> None:
    assert counted([1, 2], 2) == [1, 2]
    assert refuses(counted, [1, 2], 1)
    assert refuses(counted, [1, 2], 3)


def test_the_age_of_the_oldest_event_still_fits() -> None:
    check(Gossip, EventFrame(Event((1 << 63) - 1), 255, FOREVER))
