from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.refusal import Refused
from roamcast.net.wire import packet
from roamcast.net.wire.packet import ACK, FRAME, Ack, FramePart, Header

U16 = st.integers(0, 0xFFFF)
U32 = st.integers(0, 0xFFFFFFFF)
NODE = st.integers(0, packet.NODE_MAX)

headers = st.builds(Header, st.sampled_from([FRAME, ACK]), U16, NODE, st.integers(0, (1 << 64) - 1), U32)
bodies = st.binary(min_size=1, max_size=50)
whole = st.builds(FramePart, st.integers(0, 255), st.just(-1), st.just(0), st.just(0), st.just(1), bodies)
addressed = st.builds(FramePart, st.integers(0, 255), NODE, U16, st.just(0), st.just(1), bodies)
fragments = st.integers(2, 255).flatmap(
    lambda parts: st.builds(
        FramePart, st.integers(0, 255), st.just(-1), st.just(0), st.integers(0, parts - 1), st.just(parts), bodies
    )
)


def reason(read: object, data: bytes) -> str:
    with pytest.raises(Refused) as refused:
        read(data)  # type: ignore[operator]
    return refused.value.reason


@given(headers, st.binary(max_size=30))
def test_a_header_is_read_back_unchanged(header: Header, rest: bytes) -> None:
    assert len(header.packed()) == packet.HEADER_BYTES == 20
    assert packet.read_header(header.packed() + rest) == header


@given(st.one_of(whole, addressed, fragments))
def test_a_part_is_read_back_unchanged(part: FramePart) -> None:
    assert packet.read_frame_part(part.packed()) == part


@given(st.builds(Ack, NODE, U16))
def test_an_acknowledgement_is_read_back_unchanged(ack: Ack) -> None:
    assert packet.read_ack(ack.packed()) == ack


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (packet.read_header, packet.read_frame_part, packet.read_ack):
        try:
            message = read(data)
        except Refused:
            continue
        assert data.startswith(message.packed()), "accepted bytes are exactly those that would be written"


@given(headers)
def test_a_header_cut_short_is_refused_at_every_byte(header: Header) -> None:
    for size in range(packet.HEADER_BYTES):
        assert reason(packet.read_header, header.packed()[:size]) == "too short"


@given(st.one_of(whole, addressed, fragments))
def test_a_part_without_a_body_is_malformed(part: FramePart) -> None:
    head = len(part.packed()) - len(part.body)
    for size in range(head + 1):
        assert reason(packet.read_frame_part, part.packed()[:size]) == "malformed"


def test_other_versions_and_kinds_are_distinguished() -> None:
    header = bytearray(Header(FRAME, 1, 2, 3, 4).packed())
    header[1] = 0x30
    assert reason(packet.read_header, bytes(header)) == "newer version"
    assert reason(packet.read_header, bytes(header[:2])) == "newer version", "the length does not matter"
    header[1] = 0x10
    assert reason(packet.read_header, bytes(header)) == "older version"
    header[1] = 0x23
    assert reason(packet.read_header, bytes(header)) == "unknown kind"
    header[0] ^= 1
    assert reason(packet.read_header, bytes(header)) == "not ours"


def test_numbers_above_those_of_nodes_are_refused() -> None:
    header = bytearray(Header(FRAME, 1, packet.NODE_MAX, 3, 4).packed())
    assert packet.read_header(bytes(header)).sender == packet.NODE_MAX
    header[4:8] = (packet.NODE_MAX + 1).to_bytes(4, "big")
    assert reason(packet.read_header, bytes(header)) == "not ours"
    assert reason(packet.read_frame_part, bytes.fromhex("01 07 80000000 0001 ff")) == "malformed"
    assert reason(packet.read_ack, bytes.fromhex("80000000 0001")) == "malformed"


@pytest.mark.parametrize("inner", ["02 07 00 01 ff", "02 07 05 05 ff", "02 07 00 00 ff", "04 07 ff", "80 07 ff"])
def test_impossible_fragments_and_unknown_flags_are_malformed(inner: str) -> None:
    assert reason(packet.read_frame_part, bytes.fromhex(inner)) == "malformed"
