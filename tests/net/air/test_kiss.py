"""Frames on a serial line: any content comes through, and noise costs no more than the frame that it hits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.net.air.kiss import FEND, FESC, TX_DELAY, Deframer, ax25_header, framed, without_ax25

LONGEST = 300
contents = st.binary(min_size=1, max_size=LONGEST) | st.lists(
    st.sampled_from([FEND, FESC, 0xDC, 0xDD]), min_size=1, max_size=50
).map(bytes)


def test_frames_are_those_of_the_specification() -> None:
    assert framed(b"TEST").hex() == "c00054455354c0"
    assert framed(bytes([FEND, FESC])).hex() == "c000dbdcdbddc0"
    assert framed(b"Hello", port=5).hex() == "c05048656c6c6fc0"
    assert framed(bytes([30]), TX_DELAY).hex() == "c0011ec0"
    assert framed(b"x", port=12)[1:3] == bytes([FESC, 0xDC]), "the command would be a FEND"


@given(st.lists(contents, max_size=5), st.integers(1, 50), st.sampled_from([0, 12, 15]))
def test_any_contents_come_through_in_pieces_of_any_size(sent: list[bytes], piece: int, port: int) -> None:
    line = b"".join(framed(content, port=port) for content in sent)
    deframer = Deframer(LONGEST)
    assert [c for at in range(0, len(line), piece) for c in deframer.feed(line[at : at + piece])] == sent


@given(st.binary(max_size=100))
def test_a_line_that_begins_with_noise_recovers_at_the_next_frame(noise: bytes) -> None:
    deframer = Deframer(LONGEST)
    deframer.feed(noise + bytes([FEND]))
    assert deframer.feed(framed(b"after")) == [b"after"]


@pytest.mark.parametrize(
    "line",
    [
        bytes([FEND, 0, 1, FESC, 1, 2, FEND]),  # an escape of nothing
        bytes([FEND, 0, 1, FESC, FEND]),  # cut off
        bytes([FEND, 6, 1, 2, FEND]),  # a command of the modem
        bytes([FEND, 0, FEND]),  # nothing
        bytes([FEND, 0]) + bytes(LONGEST + 1) + bytes([FEND]),  # too long
    ],
)
def test_what_is_not_a_frame_of_content_is_skipped(line: bytes) -> None:
    assert Deframer(LONGEST).feed(line + framed(b"after")) == [b"after"]


def test_endless_noise_takes_no_memory() -> None:
    deframer = Deframer(LONGEST)
    deframer.feed(bytes([FEND]) + bytes(100_000))
    assert len(deframer._frame) <= LONGEST + 1


def test_the_header_of_ax25_has_callsigns_and_can_be_removed() -> None:
    header = ax25_header("oe3xyz-7")
    assert header[7:13] == bytes(ord(letter) << 1 for letter in "OE3XYZ")
    assert (header[13] >> 1 & 15, header[13] & 1, header[6] & 1) == (7, 1, 0)
    assert header[14:] == b"\x03\xf0"
    assert without_ax25(header + b"content") == b"content"
    assert without_ax25(ax25_header("A") + b"x") == b"x"


@pytest.mark.parametrize("frame", [b"", b"short", ax25_header("OE3XYZ"), b"\xff" * 40])
def test_frames_of_other_stations_are_not_ours(frame: bytes) -> None:
    assert without_ax25(frame) is None


@pytest.mark.parametrize("callsign", ["", "TOOLONG7", "OE3XYZ-16", "OE3 YZ", "Ä1"])
def test_a_wrong_callsign_gets_one_line(callsign: str) -> None:
    with pytest.raises(InputError, match="callsign"):
        ax25_header(callsign)
