"""First in, first out: a queue of frames does what a list with `pop(0)` does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import BROADCAST, Frame
from roamcast.world.frame_queue import FrameQueue

ITEM = st.tuples(st.integers(0, 3), st.sampled_from([BROADCAST, 7]))
STEPS = st.lists(st.one_of(st.just("take"), ITEM), max_size=60)
"""An item is appended: the id of a frame, and its addressee."""


def taken(queue: FrameQueue) -> tuple[int, int]:
    frame, to = queue.take()
    return frame.id, to


@given(STEPS)
def test_frames_go_in_the_order_they_came(steps: list[str | tuple[int, int]]) -> None:
    queue = FrameQueue()
    twin: list[tuple[int, int]] = []
    for step in steps:
        if isinstance(step, tuple):
            queue.append(Frame("event", step[0], 1), step[1])
            twin.append(step)
        elif twin:
            assert taken(queue) == twin.pop(0)
        assert (len(queue), bool(queue)) == (len(twin), bool(twin))
    assert [taken(queue) for _ in twin] == twin


@given(STEPS, ITEM)
def test_the_first_frame_with_an_id_and_an_addressee_can_be_removed(
    steps: list[str | tuple[int, int]], unwanted: tuple[int, int]
) -> None:
    queue = FrameQueue()
    twin: list[tuple[int, int]] = []
    for step in steps:
        if isinstance(step, tuple):
            queue.append(Frame("event", step[0], 1), step[1])
            twin.append(step)
        elif twin:
            assert taken(queue) == twin.pop(0)
        if len(twin) > 3:
            assert queue.remove(*unwanted) == (unwanted in twin)
            if unwanted in twin:
                twin.remove(unwanted)
    assert [taken(queue) for _ in twin] == twin


def test_nothing_can_be_taken_from_an_empty_one() -> None:
    with pytest.raises(IndexError):
        FrameQueue().take()
