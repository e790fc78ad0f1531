"""Rows of stations, compared with distances at the same instant."""

from __future__ import annotations

from math import hypot

from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.contacts.hearers import Hearers
from tests.world.contacts.test_kinetic import Routes, contacts
from tests.world.stage import Stage

ROUTE = st.tuples(*[st.integers(0, 400)] * 4)


@given(
    st.lists(ROUTE, min_size=2, max_size=6),
    st.lists(st.sampled_from([20.5, 100.5, 300.5]), min_size=6, max_size=6),
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5)), min_size=1, max_size=20),
)
def test_a_row_has_the_stations_in_range_at_any_time(
    routes: list[tuple[int, int, int, int]], reaches: list[float], queries: list[tuple[int, int]]
) -> None:
    """Every node goes from one place to another in ten seconds; meanwhile links come and go, also one-way links."""
    n = len(routes)
    stations = Stage([(0.0, 0.0)] * n).stations
    motion = contacts(Routes([[(0.0, x, y), (10.0, to_x, to_y)] for x, y, to_x, to_y in routes]), reaches[:n])
    hearers = Hearers(stations, motion)
    for hundredths, number in sorted(queries):
        now, i = hundredths / 100, number % n
        row = hearers.row(stations[i], hundredths * 10_000)
        here = motion.position(i, now)
        in_range = [j for j in range(n) if j != i and hypot(*_from(here, motion.position(j, now))) <= reaches[i]]
        assert [other.id for other in row] == in_range


def _from(here: tuple[float, float], there: tuple[float, float]) -> tuple[float, float]:
    return there[0] - here[0], there[1] - here[1]


def test_a_row_that_was_returned_does_not_change() -> None:
    stations = Stage([(0.0, 0.0)] * 2).stations
    motion = contacts(Routes([[(0.0, 0.0, 0.0)], [(0.0, 10.0, 0.0), (10.0, 510.0, 0.0)]]), [100.0] * 2)
    hearers = Hearers(stations, motion)
    before = hearers.row(stations[0], 0)
    assert hearers.row(stations[0], 1_000_000) is before
    assert hearers.row(stations[0], 5_000_000) == ()
    assert before == (stations[1],)
