"""Where nodes stand and how many neighbours that gives, against counting."""

from __future__ import annotations

from math import hypot, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.density import cells, mean_neighbours, nearness, side_for
from roamcast.world.streams import Stream


@given(st.integers(1, 500), st.floats(1, 1000), st.floats(1, 1000))
def test_cells_tile_the_field_and_have_equal_areas(nodes: int, width: float, height: float) -> None:
    found = cells(nodes, width, height)
    assert len(found) == nodes
    area = width * height / nodes
    for left, bottom, w, h in found:
        assert w * h == pytest.approx(area)
        assert left >= 0 and bottom >= 0 and left + w <= width * (1 + 1e-9) and bottom + h <= height * (1 + 1e-9)
    for k, (left, bottom, w, _) in enumerate(found):  # each begins where the last one ends, or a new row does
        if k and left:
            assert left == pytest.approx(found[k - 1][0] + found[k - 1][2]) and bottom == found[k - 1][1]
        elif k:
            assert bottom == pytest.approx(found[k - 1][1] + found[k - 1][3])
        if k + 1 == nodes or not found[k + 1][0]:
            assert left + w == pytest.approx(width)
    assert found[-1][1] + found[-1][3] == pytest.approx(height)


@pytest.mark.parametrize("nodes", [100, 200, 300, 400])
def test_cells_of_a_square_are_nearly_square(nodes: int) -> None:
    assert all(0.85 < w / h < 1.2 for _, _, w, h in cells(nodes, 500.0, 500.0))


@given(st.floats(1, 300), st.floats(1, 300), st.floats(0.01, 1))
def test_nearness_has_a_closed_form_within_the_shorter_side(a: float, b: float, share: float) -> None:
    r = share * min(a, b)
    exact = pi * r**2 / (a * b) - 4 / 3 * r**3 * (a + b) / (a * b) ** 2 + r**4 / (2 * (a * b) ** 2)
    assert nearness(a, b, r) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("a", "b", "r"), [(40, 30, 35), (30, 40, 35), (40, 30, 45), (100, 10, 50), (10, 100, 50)])
def test_nearness_beyond_a_side_is_what_one_counts(a: float, b: float, r: float) -> None:
    stream, n = Stream(1, 0, "test"), 20_000
    near = sum(
        hypot(a * (stream.random() - stream.random()), b * (stream.random() - stream.random())) <= r for _ in range(n)
    )
    assert nearness(a, b, r) == pytest.approx(near / n, abs=0.015)


def test_everything_is_near_from_corner_to_corner() -> None:
    assert nearness(30.0, 40.0, 50.0) == pytest.approx(1.0, abs=1e-4)
    assert nearness(30.0, 40.0, 49.0) < 1.0


def counted(nodes: int, side: float, placement: str, fields: int) -> float:
    stream, total = Stream(3, 0, "test"), 0
    for _ in range(fields):
        where = [(0.0, 0.0, side, side)] * nodes if placement == "uniform" else cells(nodes, side, side)
        points = [(x + w * stream.random(), y + h * stream.random()) for x, y, w, h in where]
        for i, (x, y) in enumerate(points):
            total += 2 * sum(hypot(x - u, y - v) <= 50.0 for u, v in points[:i])
    return total / fields / nodes


@pytest.mark.parametrize("placement", ["uniform", "grid"])
@pytest.mark.parametrize(("nodes", "eta"), [(100, 5.0), (200, 5.0), (100, 15.0)])
def test_a_field_of_that_size_has_so_many_neighbours_borders_counted(placement: str, nodes: int, eta: float) -> None:
    side = side_for(nodes, eta, 50.0, placement)
    assert mean_neighbours(nodes, side, 50.0, placement) == pytest.approx(eta, abs=1e-3)
    assert counted(nodes, side, placement, 12) == pytest.approx(eta, rel=0.05)


def test_the_same_field_has_fewer_neighbours_on_a_grid() -> None:
    """Nobody shares a cell: almost one fewer."""
    fewer = mean_neighbours(200, 500.0, 50.0, "uniform") - mean_neighbours(200, 500.0, 50.0, "grid")
    assert 0.9 < fewer < 1.0


def test_sides_are_the_same_on_every_machine() -> None:
    assert [side_for(200, 5.0, 50.0, placement) for placement in ("uniform", "grid")] == [536.95, 489.42]
    assert side_for(10, 8.9, 50.0, "uniform") < 50.0 < side_for(10, 8.0, 50.0, "uniform")
