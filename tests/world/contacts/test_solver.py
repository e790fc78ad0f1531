"""The solver of contacts: known cases, and distances at the times that it returns."""

from __future__ import annotations

from math import hypot, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.contacts.solver import together, together_all

NEVER = (inf, inf)
PLACE = st.integers(-300, 300).map(float)
SPEED = st.integers(-20, 20).map(float)


@pytest.mark.parametrize(
    ("p", "w", "interval"),
    [
        ((3.0, 4.0), (0.0, 0.0), (0.0, inf)),  # exactly in range, and staying there
        ((3.0, 4.1), (0.0, 0.0), NEVER),
        ((-9.0, 3.0), (1.0, 0.0), (5.0, 13.0)),
        ((-9.0, 3.0), (-1.0, 0.0), NEVER),  # out of range, and moving away
        ((-9.0, 5.0), (1.0, 0.0), NEVER),  # they will only touch
        ((0.0, 3.0), (2.0, 0.0), (0.0, 2.0)),
        ((4.0, 3.0), (2.0, 0.0), (0.0, 0.0)),  # at the edge, on its way out
        ((-4.0, 3.0), (2.0, 0.0), (0.0, 4.0)),  # at the edge, on its way in
    ],
)
def test_known_cases(p: tuple[float, float], w: tuple[float, float], interval: tuple[float, float]) -> None:
    assert together(*p, *w, 25.0) == interval


@given(PLACE, PLACE, SPEED, SPEED)
def test_nodes_are_in_range_within_the_interval_and_nowhere_else(px: float, py: float, wx: float, wy: float) -> None:
    begin, end = together(px, py, wx, wy, 10_000.5)  # no place is exactly on the circle
    for s in (0.0, 0.3, 1.7, 5.0, 9.0, 20.0, 77.0):
        assert (hypot(px + wx * s, py + wy * s) ** 2 <= 10_000.5) == (begin <= s <= end)


@given(st.lists(st.tuples(PLACE, PLACE, SPEED, SPEED), max_size=8))
def test_many_pairs_are_solved_like_each_pair_alone(pairs: list[tuple[float, float, float, float]]) -> None:
    packed = np.array(pairs, dtype="<f8").tobytes()
    intervals = np.frombuffer(together_all(packed, 10_000.0), "<f8").reshape(-1, 2)
    assert [tuple(interval) for interval in intervals.tolist()] == [together(*pair, 10_000.0) for pair in pairs]
