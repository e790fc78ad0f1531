"""The heap of changes, beside Python's own."""

from __future__ import annotations

import heapq

from hypothesis import given
from hypothesis import strategies as st

from roamcast.protocols.roam.changes import Changes

PUSH = st.tuples(st.integers(0, 9), st.integers(1, 9))


@given(st.lists(st.one_of(PUSH, st.none())))
def test_changes_come_in_the_order_of_time_and_id(steps: list[tuple[int, int] | None]) -> None:
    """A pair is pushed; None takes the first one."""
    changes, twin = Changes(), list[tuple[int, int]]()
    for step in steps:
        if step is not None:
            changes.push(*step)
            heapq.heappush(twin, step)
        elif twin:
            assert changes.is_due(twin[0][0]) and not changes.is_due(twin[0][0] - 1)
            assert changes.take() == heapq.heappop(twin)[1]
        assert len(changes) == len(twin)
    assert [changes.take() for _ in range(len(changes))] == [heapq.heappop(twin)[1] for _ in range(len(twin))]
    assert not changes.is_due(1 << 60)
