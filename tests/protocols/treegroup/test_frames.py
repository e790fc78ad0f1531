"""The frames of tree groups."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import decode
from roamcast.protocols.treegroup.protocol import TreeGroup
from roamcast.pubsub.event import Event
from tests.protocols.treegroup.nodes import frames
from tests.support.storm import VALUES, check_encoding


@given(frames)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: Frame) -> None:
    check_encoding(TreeGroup, frame)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(TreeGroup, b"\xc1" + data)
    try:
        frame = decode(TreeGroup, data)
    except Malformed:
        return
    check_encoding(TreeGroup, frame)


@given(st.integers(-1, 9), st.lists(VALUES, max_size=11))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        frame = decode(TreeGroup, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return
    check_encoding(TreeGroup, frame)


@pytest.mark.parametrize(
    "fields",
    [
        [0, 0, 0, 0, -2, 0, True, 1, 0, [], []],  # not a node
        [0, 0, 0, 0, -1, 0, 1, 1, 0, [], []],  # not a bool
        [0, 0, 0, 0, -1, 0, True, 0, 0, [], []],  # a branch without its root
        [0, 0, 0, 0, -1, 0, True, 1, 0, [1, 2], []],  # a child without its versions
        [0, 0, 0, 256, -1, 0, True, 1, 0, [], []],
        [0, 0, 0, 0, -1, 0, True, 1, 0, [], list(range(33))],
        [0, 0, 0, 0, -1, 0, True, 1, 0, [], [1, 1]],  # a neighbour counts once
        [0, 0, 0, 0, -1, 0, True, 1, 0, [], [2, 1]],
        [1],
        [1, -1],
        [2, 0, 0],
        [3, 0, b""],  # version 0 means none
        [3, 1, "text"],
        [4, 1, [[0, 1, 1, True]]],  # no group
        [4, 1, [[1, 1, 1, 1]]],
        [4, 1, [[1, 1, 1, True]] * 33],
        [5, 1, 1, 1, 0, 1, 1, []],
        [6, 1, 1, [-1]],
        [7, 1],
        [8, 3, 0, 0, [], [], Event(1).fields()],
        [8, 0, 0, 0, [0], [], Event(1).fields()],
        [8, 0, 0, 0, [], [], Event(0).fields()],  # would mute all frames that are not events
        [8, 2, 0, 0, [], [1], Event(1).fields()],  # an event that crosses to a group has arrived there
        [9],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(TreeGroup, msgspec.msgpack.encode(fields))
