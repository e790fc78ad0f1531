"""Where nodes stand and how many neighbours they have, compared with counting."""

from __future__ import annotations

from itertools import pairwise
from math import hypot, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.world.density import (
    HEIGHT,
    Cell,
    cells,
    mean_neighbours,
    nearness,
    pair_in_range,
    places,
    side_for,
    triangle,
)
from roamcast.world.streams import Stream


@given(st.integers(1, 500), st.floats(1, 1000), st.floats(1, 1000))
def test_cells_tile_the_area_and_have_equal_sizes(nodes: int, width: float, height: float) -> None:
    tiles = cells(nodes, width, height)
    assert len(tiles) == nodes
    area = width * height / nodes
    for left, bottom, w, h in tiles:
        assert w * h == pytest.approx(area)
        assert left >= 0 and bottom >= 0 and left + w <= width * (1 + 1e-9) and bottom + h <= height * (1 + 1e-9)
    for k, (left, bottom, w, _) in enumerate(tiles):  # each cell begins where the last one ends, or begins a new row
        if k and left:
            assert left == pytest.approx(tiles[k - 1][0] + tiles[k - 1][2]) and bottom == tiles[k - 1][1]
        elif k:
            assert bottom == pytest.approx(tiles[k - 1][1] + tiles[k - 1][3])
        if k + 1 == nodes or not tiles[k + 1][0]:
            assert left + w == pytest.approx(width)
    assert tiles[-1][1] + tiles[-1][3] == pytest.approx(height)


@pytest.mark.parametrize("nodes", [100, 200, 300, 400])
def test_cells_of_a_square_are_nearly_square(nodes: int) -> None:
    assert all(0.85 < w / h < 1.2 for _, _, w, h in cells(nodes, 500.0, 500.0))


@given(st.floats(1, 300), st.floats(1, 300), st.floats(0.01, 1))
def test_nearness_has_a_closed_form_within_the_shorter_side(a: float, b: float, share: float) -> None:
    r = share * min(a, b)
    exact = pi * r**2 / (a * b) - 4 / 3 * r**3 * (a + b) / (a * b) ** 2 + r**4 / (2 * (a * b) ** 2)
    assert nearness(a, b, r) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("a", "b", "r"), [(40, 30, 35), (30, 40, 35), (40, 30, 45), (100, 10, 50), (10, 100, 50)])
def test_nearness_beyond_a_side_agrees_with_counting(a: float, b: float, r: float) -> None:
    stream, n = Stream(1, 0, "test"), 20_000
    near = sum(
        hypot(a * (stream.random() - stream.random()), b * (stream.random() - stream.random())) <= r for _ in range(n)
    )
    assert nearness(a, b, r) == pytest.approx(near / n, abs=0.015)


def test_with_a_range_from_corner_to_corner_all_points_are_near() -> None:
    assert nearness(30.0, 40.0, 50.0) == pytest.approx(1.0, abs=1e-4)
    assert nearness(30.0, 40.0, 49.0) < 1.0


def counted(nodes: int, side: float, placement: str, fields: int, jitter: float = 1.0) -> float:
    stream, total = Stream(3, 0, "test"), 0
    uniform = [(0.0, 0.0, side, side)] * nodes
    where = uniform if placement == "uniform" else places(nodes, side, side, placement, jitter)
    for _ in range(fields):
        points = [(x + w * stream.random(), y + h * stream.random()) for x, y, w, h in where]
        for i, (x, y) in enumerate(points):
            total += 2 * sum(hypot(x - u, y - v) <= 50.0 for u, v in points[:i])
    return total / fields / nodes


@pytest.mark.parametrize("placement", ["uniform", "grid"])
@pytest.mark.parametrize(("nodes", "eta"), [(100, 5.0), (200, 5.0), (100, 15.0)])
def test_an_area_of_the_computed_size_has_the_given_mean_number_of_neighbours(
    placement: str, nodes: int, eta: float
) -> None:
    side = side_for(nodes, eta, 50.0, placement)
    assert mean_neighbours(nodes, side, 50.0, placement) == pytest.approx(eta, abs=1e-3)
    assert counted(nodes, side, placement, 12) == pytest.approx(eta, rel=0.05)


def test_nodes_on_a_grid_have_fewer_neighbours_in_the_same_area() -> None:
    """No two nodes share a cell: almost one neighbour fewer."""
    fewer = mean_neighbours(200, 500.0, 50.0, "uniform") - mean_neighbours(200, 500.0, 50.0, "grid")
    assert 0.9 < fewer < 1.0


def test_sides_are_the_same_on_every_machine() -> None:
    assert [side_for(200, 5.0, 50.0, placement) for placement in ("uniform", "grid")] == [536.95, 489.42]
    assert side_for(10, 8.9, 50.0, "uniform") < 50.0 < side_for(10, 8.0, 50.0, "uniform")


# ---- lattices


def middle(cell: Cell) -> tuple[float, float]:
    left, bottom, width, height = cell
    return left + width / 2, bottom + height / 2


@given(st.integers(1, 400), st.floats(1, 1000), st.floats(1, 1000))
def test_a_triangular_lattice_lies_in_the_area_and_its_cells_do_not_overlap(
    n: int, width: float, height: float
) -> None:
    tiles = triangle(n, width, height)
    assert len(tiles) == n
    _, _, w, h = tiles[0]
    assert {(a, b) for _, _, a, b in tiles} == {(w, h)} and h == pytest.approx(HEIGHT * w)
    slack = 1e-9 * max(width, height)
    assert all(-slack <= x and x + w <= width + slack for x, _, _, _ in tiles)
    assert all(-slack <= y and y + h <= height + slack for _, y, _, _ in tiles)
    for (x, y, _, _), (u, v, _, _) in pairwise(tiles):
        assert (v == y and u == pytest.approx(x + w)) or v == pytest.approx(y + h)


@pytest.mark.parametrize("nodes", [100, 200, 400])
def test_away_from_the_border_the_six_nearest_points_are_equally_far(nodes: int) -> None:
    points = [middle(cell) for cell in triangle(nodes, 500.0, 500.0)]
    spacing = triangle(nodes, 500.0, 500.0)[0][2]
    sixes = 0
    for x, y in points:
        others = sorted(hypot(x - u, y - v) for u, v in points if (u, v) != (x, y))
        assert others[0] == pytest.approx(spacing)
        around = sum(d < 1.001 * spacing for d in others)
        assert around <= 6 and (around == 6 or others[around] == pytest.approx(spacing * 3**0.5))
        sixes += around == 6
    assert sixes > 0.6 * nodes


@pytest.mark.parametrize("nodes", [100, 200, 300, 400, 1000])
def test_a_triangular_lattice_fills_most_of_a_square(nodes: int) -> None:
    _, _, w, h = triangle(nodes, 1.0, 1.0)[0]
    assert nodes * w * h > 0.8


@given(st.integers(1, 200), st.sampled_from(["grid", "triangle"]), st.floats(0, 1))
def test_jitter_is_a_share_of_the_cell_around_its_middle(nodes: int, placement: str, jitter: float) -> None:
    whole, part = (places(nodes, 300.0, 200.0, placement, share) for share in (1.0, jitter))
    for cell, inner in zip(whole, part, strict=True):
        assert middle(inner) == pytest.approx(middle(cell))
        assert inner[2:] == pytest.approx((jitter * cell[2], jitter * cell[3]))


@given(
    st.tuples(st.floats(-60, 60), st.floats(-60, 60)),
    st.tuples(st.floats(0.1, 40), st.floats(0.1, 40)),
    st.tuples(st.floats(0.1, 40), st.floats(0.1, 40)),
)
def test_the_probability_for_two_rectangles_agrees_with_counting(
    offset: tuple[float, float], one: tuple[float, float], two: tuple[float, float]
) -> None:
    """Compared with all pairs of points of a raster in each rectangle."""
    n = 24
    across = [
        [
            offset[k] + two[k] * ((j + 0.5) / n - 0.5) - one[k] * ((i + 0.5) / n - 0.5)
            for i in range(n)
            for j in range(n)
        ]
        for k in (0, 1)
    ]
    x, y = np.array(across[0]), np.array(across[1])
    share = float(np.mean(x[:, None] ** 2 + y[None, :] ** 2 <= 2500.0))
    assert pair_in_range((*offset, *one, *two), 50.0) == pytest.approx(share, abs=0.03)


def test_the_probability_for_a_rectangle_and_itself_is_its_nearness() -> None:
    assert pair_in_range((0.0, 0.0, 40.0, 30.0, 40.0, 30.0), 20.0) == pytest.approx(
        nearness(40.0, 30.0, 20.0), abs=2e-4
    )


@pytest.mark.parametrize("placement", ["grid", "triangle"])
@pytest.mark.parametrize("jitter", [0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize(("nodes", "eta"), [(100, 5.0), (200, 10.0)])
def test_lattices_with_jitter_have_the_given_mean_number_of_neighbours(
    placement: str, jitter: float, nodes: int, eta: float
) -> None:
    side = side_for(nodes, eta, 50.0, placement, jitter)
    assert mean_neighbours(nodes, side, 50.0, placement, jitter) == pytest.approx(eta, abs=0.01)
    assert counted(nodes, side, placement, 12, jitter) == pytest.approx(eta, rel=0.02)


def test_pairs_of_cells_add_up_to_the_shortcut_for_whole_cells() -> None:
    almost = mean_neighbours(200, 489.42, 50.0, "grid", 1.0 - 1e-9)
    assert almost == pytest.approx(mean_neighbours(200, 489.42, 50.0, "grid"), abs=0.005)


def test_without_jitter_the_mean_has_steps_and_the_area_is_in_the_middle_of_one() -> None:
    """100 nodes in ten rows of ten, with up to four neighbours each."""
    side = side_for(100, 3.6, 50.0, "grid", 0.0)
    assert counted(100, side, "grid", 1, 0.0) == mean_neighbours(100, side, 50.0, "grid", 0.0) == 3.6
    assert side / 10 == pytest.approx((50.0 + 50.0 / 2**0.5) / 2, abs=0.01)
    lattice = side_for(200, 5.44, 50.0, "triangle", 0.0)
    assert counted(200, lattice, "triangle", 1, 0.0) == pytest.approx(5.44, abs=0.01)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ("grid", "neighbours=5: must be at most 3.60 or at least 6.84 with placement=grid, placement_jitter=0"),
        ("triangle", "neighbours=5: must be at least 5.20 with placement=triangle, placement_jitter=0 and nodes=100"),
    ],
)
def test_a_mean_between_two_steps_is_refused(placement: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        side_for(100, 5.0, 50.0, placement, 0.0)
    assert str(error.value).startswith(message)
