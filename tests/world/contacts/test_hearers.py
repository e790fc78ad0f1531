"""Rows of hearers, compared with distances at the same instant."""

from __future__ import annotations

from math import hypot

from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.contacts.hearers import Hearers, PartedHearers
from tests.world.contacts.test_kinetic import Routes, contacts

ROUTE = st.tuples(*[st.integers(0, 400)] * 4)


@given(
    st.lists(ROUTE, min_size=2, max_size=6),
    st.lists(st.sampled_from([20.5, 100.5, 300.5]), min_size=6, max_size=6),
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5)), min_size=1, max_size=20),
)
def test_a_row_has_the_nodes_in_range_at_any_time(
    routes: list[tuple[int, int, int, int]], reaches: list[float], queries: list[tuple[int, int]]
) -> None:
    """Every node goes from one place to another in ten seconds; meanwhile links come and go, also one-way links."""
    n = len(routes)
    motion = contacts(Routes([[(0.0, x, y), (10.0, to_x, to_y)] for x, y, to_x, to_y in routes]), reaches[:n])
    hearers = Hearers(motion)
    for hundredths, number in sorted(queries):
        now, i = hundredths / 100, number % n
        row = hearers.row(i, hundredths * 10_000)
        here = motion.position(i, now)
        in_range = [j for j in range(n) if j != i and hypot(*_from(here, motion.position(j, now))) <= reaches[i]]
        assert list(row) == in_range


def _from(here: tuple[float, float], there: tuple[float, float]) -> tuple[float, float]:
    return there[0] - here[0], there[1] - here[1]


def test_a_row_that_was_returned_does_not_change() -> None:
    motion = contacts(Routes([[(0.0, 0.0, 0.0)], [(0.0, 10.0, 0.0), (10.0, 510.0, 0.0)]]), [100.0] * 2)
    hearers = Hearers(motion)
    before = hearers.row(0, 0)
    assert list(hearers.row(0, 5_000_000)) == []
    assert list(before) == [1]


def test_no_frame_crosses_the_wall_while_there_is_one() -> None:
    places = [[(0.0, 20.0 * i, 0.0)] for i in range(4)]
    hearers = PartedHearers(contacts(Routes(places), [100.0] * 4), 2_000_000, 4_000_000, 30.0)
    rows = [list(hearers.row(1, t)) for t in (1_999_999, 2_000_000, 3_999_999, 4_000_000)]
    assert rows == [[0, 2, 3], [0], [0], [0, 2, 3]]
