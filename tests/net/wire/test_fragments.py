from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.limits import Limits
from roamcast.net.refusal import Refused, Tally
from roamcast.net.wire.fragments import Reassembly, split
from roamcast.net.wire.packet import FramePart
from roamcast.protocols.kit.wire import MAX_FRAME

S = 1_000_000


def table(**limits: Any) -> Reassembly:
    return Reassembly(Limits(**limits), Tally())


def parts(body: bytes, room: int) -> list[FramePart]:
    pieces = split(body, room)
    return [FramePart(0, -1, 0, i, len(pieces), piece) for i, piece in enumerate(pieces)]


def put(reassembly: Reassembly, part: FramePart, sender: int = 1, first: int = 100, now_us: int = 0) -> bytes | None:
    return reassembly.add(sender, 5, first + part.part, part, now_us)


@given(st.binary(min_size=2, max_size=400), st.integers(1, 50), st.randoms(use_true_random=False))
def test_a_frame_is_assembled_once_from_fragments_in_any_order(body: bytes, room: int, dice: random.Random) -> None:
    if len(body) <= room:
        body = body * (room + 1)
    reassembly, pieces = table(), parts(body, room)
    if len(pieces) > 255:
        return
    dice.shuffle(pieces)
    came = [put(reassembly, piece) for piece in pieces]
    assert came == [None] * (len(pieces) - 1) + [body]
    assert (len(reassembly), reassembly.bytes) == (0, 0)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 3)), max_size=40))
def test_reassembly_agrees_with_a_dictionary_of_all_fragments(came: list[tuple[int, int, int]]) -> None:
    """Senders 1 to 3 have frames 0 to 2 of four parts each, whose fragments come in any order, some twice."""
    reassembly, everything = table(sender_partial_frames=3), dict[tuple[int, int], set[int]]()
    for sender, frame, index in came:
        part = FramePart(0, -1, 0, index, 4, bytes([sender, frame, index]))
        heard = everything.setdefault((sender, frame), set())
        if index in heard:
            with pytest.raises(Refused):
                put(reassembly, part, sender, 10 * frame)
            continue
        heard.add(index)
        whole = put(reassembly, part, sender, 10 * frame)
        if len(heard) == 4:
            assert whole == b"".join(bytes([sender, frame, i]) for i in range(4))
            del everything[sender, frame]
        else:
            assert whole is None
    assert len(reassembly) == len(everything)


def test_fragments_that_do_not_fit_are_refused_and_do_no_harm() -> None:
    reassembly = table()
    one, two, three = parts(b"abcdef", 2)
    put(reassembly, one)
    for bad in (two._replace(parts=4), one):
        with pytest.raises(Refused, match="bad fragment"):
            put(reassembly, bad)
    with pytest.raises(Refused, match="bad fragment"):
        reassembly.add(1, 5, 1, three, 0)
    assert put(reassembly, two) is None
    assert put(reassembly, three) == b"abcdef"


def test_fragments_of_different_senders_boots_and_frames_are_kept_apart() -> None:
    reassembly = table()
    one, two = parts(b"abcd", 2)
    put(reassembly, one)
    assert put(reassembly, two, sender=2) is None
    assert put(reassembly, two, first=300) is None
    assert reassembly.add(1, 6, 101, two, 0) is None
    assert put(reassembly, two) == b"abcd"


def test_more_bytes_than_a_frame_can_have_are_never_kept() -> None:
    reassembly = table()
    big = [FramePart(0, -1, 0, i, 255, bytes(1300)) for i in range(255)]
    with pytest.raises(Refused, match="bad fragment"):
        for part in big:
            put(reassembly, part)
    assert (len(reassembly), reassembly.bytes) == (0, 0)


def test_the_largest_frame_passes_and_no_larger_one() -> None:
    reassembly = table()
    body = bytes(MAX_FRAME)
    assert [put(reassembly, part) for part in parts(body, 1300)][-1] == body
    *most, last = parts(body + b"x", 1300)
    for part in most:
        put(reassembly, part)
    with pytest.raises(Refused, match="bad fragment"):
        put(reassembly, last)


def test_unfinished_frames_are_dropped_after_a_while() -> None:
    reassembly = table(partial_s=5.0)
    one, two = parts(b"abcd", 2)
    put(reassembly, one, now_us=0)
    put(reassembly, one, sender=2, now_us=3 * S)
    assert put(reassembly, two, now_us=5 * S + 1) is None
    assert reassembly._tally.drops() == {"incomplete": 1}
    assert len(reassembly) == 2


def test_a_sender_has_room_for_a_limited_number_of_frames() -> None:
    reassembly = table(sender_partial_frames=3)
    one, two = parts(b"abcd", 2)
    for first in range(0, 1000, 10):
        put(reassembly, one, first=first)
    put(reassembly, one, sender=2, first=0)
    assert len(reassembly) == 4
    assert reassembly._tally.drops() == {"fragment budget": 97}
    assert put(reassembly, two, first=990) == b"abcd"
    assert put(reassembly, two, sender=2, first=0) == b"abcd"


def test_when_memory_is_used_up_the_sender_that_uses_most_loses_a_frame() -> None:
    reassembly = table(partial_bytes=100_000)
    mine, last = parts(b"a" * 2000, 1000)
    put(reassembly, mine, sender=1)
    for sender in range(2, 6):
        for first in (0, 1000, 2000, 3000):
            for i in range(40):
                try:
                    put(reassembly, FramePart(0, -1, 0, i, 60, bytes(1000)), sender=sender, first=first)
                except Refused:
                    continue
                assert reassembly.bytes <= 100_000
    assert put(reassembly, last, sender=1) == b"a" * 2000


def test_nothing_is_left_of_a_forgotten_sender() -> None:
    reassembly = table()
    one, _ = parts(b"abcd", 2)
    for first in (0, 10, 20):
        put(reassembly, one, first=first)
    put(reassembly, one, sender=2)
    reassembly.forget_sender(1)
    reassembly.forget_sender(3)
    assert len(reassembly) == 1
    reassembly.forget_sender(2)
    assert (reassembly.bytes, reassembly._bytes_of, reassembly._of_sender) == (0, {}, {})
