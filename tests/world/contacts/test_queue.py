"""The queue of contacts, compared with a sorted list."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.contacts.queue import ContactQueue


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=80))
def test_the_smallest_comes_first(steps: list[tuple[int, int, bool]]) -> None:
    queue = ContactQueue()
    waiting: list[tuple[float, int, float]] = []
    for t, key, take in steps:
        queue.push(float(t), key, t + 10.0 * key)
        waiting.append((float(t), key, t + 10.0 * key))
        if take:
            queue.pop()
            assert (queue.t, queue.key, queue.until) == min(waiting)
            waiting.remove(min(waiting))
    for expected in sorted(waiting):
        assert queue.first() == expected[0]
        queue.pop()
        assert (queue.t, queue.key, queue.until) == expected
    assert queue.first() == inf


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e3, 1e17, 1e300])
def test_the_smallest_comes_first_however_far_apart_entries_are(scale: float) -> None:
    """The horizon adapts, even where times are too large to tell seconds apart."""
    queue = ContactQueue()
    entries = [(scale * (k * 7919 % 1009), k, scale * k) for k in range(500)]
    for t, key, until in entries:
        queue.push(t, key, until)
    for k, expected in enumerate(sorted(entries[:])):
        assert queue.first() == expected[0]
        queue.pop()
        assert (queue.t, queue.key, queue.until) == expected
        assert queue.size + queue.left == 499 - k
