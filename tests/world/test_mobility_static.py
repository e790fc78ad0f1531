"""Nodes that stand."""

from __future__ import annotations

from math import inf

from scipy import stats

from roamcast.world.density import cells, places
from roamcast.world.mobility import build
from roamcast.world.mobility.static import InCells, Placed, Static
from roamcast.world.scenario import Scenario
from tests.world.walkers import Walker, crowd


def test_nodes_stand_uniformly_in_the_rectangle() -> None:
    walkers = crowd(Static(300.0, 100.0), 2000)
    assert all(w.leg.end_s == inf and (w.leg.vx, w.leg.vy) == (0.0, 0.0) for w in walkers)
    assert stats.kstest([w.leg.x for w in walkers], stats.uniform(0, 300).cdf).pvalue > 1e-3
    assert stats.kstest([w.leg.y for w in walkers], stats.uniform(0, 100).cdf).pvalue > 1e-3
    assert abs(stats.pearsonr([w.leg.x for w in walkers], [w.leg.y for w in walkers]).statistic) < 0.08


def test_on_a_grid_each_node_has_a_cell_and_stands_anywhere_in_it() -> None:
    grid = cells(2000, 300.0, 100.0)
    walkers = crowd(InCells(grid), 2000)
    assert all(w.leg.end_s == inf and (w.leg.vx, w.leg.vy) == (0.0, 0.0) for w in walkers)
    across = [
        ((w.leg.x - x) / width, (w.leg.y - y) / height) for w, (x, y, width, height) in zip(walkers, grid, strict=True)
    ]
    assert all(0.0 <= u < 1.0 and 0.0 <= v < 1.0 for u, v in across)
    assert stats.kstest([u for u, _ in across], stats.uniform.cdf).pvalue > 1e-3
    assert stats.kstest([v for _, v in across], stats.uniform.cdf).pvalue > 1e-3
    assert abs(stats.pearsonr([u for u, _ in across], [v for _, v in across]).statistic) < 0.08


def test_the_scenario_decides_how_nodes_are_placed() -> None:
    assert isinstance(build(Scenario(mobility="static"), 1), Static)
    grid = build(Scenario(mobility="static", placement="grid", nodes=12, width_m=400.0, height_m=300.0), 1)
    assert isinstance(grid, InCells) and grid.cells == cells(12, 400.0, 300.0)
    lattice = Scenario(mobility="static", placement="triangle", placement_jitter=0.3, nodes=12)
    model = build(lattice, 1)
    assert isinstance(model, InCells) and model.cells == places(12, 1000.0, 1000.0, "triangle", 0.3)


def test_without_jitter_every_node_stands_in_the_middle_of_its_cell() -> None:
    s = Scenario(mobility="static", placement="grid", placement_jitter=0.0, nodes=12, width_m=80.0, height_m=60.0)
    positions = [w.at(7.0) for w in crowd(build(s, 1), 12)]
    assert positions == [(x, y) for y in (10.0, 30.0, 50.0) for x in (10.0, 30.0, 50.0, 70.0)]


def test_nodes_stand_at_given_positions() -> None:
    assert Walker(Placed([(1.0, 2.0), (-3.0, 4.0)]), 1).at(99.0) == (-3.0, 4.0)
