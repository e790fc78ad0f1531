"""Gauss–Markov: memory, speeds, reflection."""

from __future__ import annotations

from itertools import pairwise

import pytest
from scipy import stats

from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.gauss_markov import GaussMarkov
from roamcast.world.mobility.legs import end_x, end_y
from tests.world.walkers import Walker, crowd, speed


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_velocity_of_the_next_step_is_correlated_by_the_memory(memory: float) -> None:
    walker = Walker(GaussMarkov(1e9, 1e9, 0.0, 1e6, memory, 2.0))  # so wide that nothing is reflected or cut
    vx = [leg.vx for leg in walker.legs(4000)]
    assert stats.pearsonr(vx[:-1], vx[1:]).statistic == pytest.approx(memory, abs=0.05)
    assert stats.kstest(vx[::40], stats.norm(0, walker.model.deviation).cdf).pvalue > 1e-3


def test_mean_speed_is_the_middle() -> None:
    walkers = crowd(GaussMarkov(1e6, 1e6, 0.0, 20.0, 0.7, 1.0), 3000)
    assert sum(speed(w.leg) for w in walkers) / 3000 == pytest.approx(10.0, rel=0.05)


def test_speed_is_cut_to_its_interval() -> None:
    speeds = [speed(leg) for leg in Walker(GaussMarkov(500.0, 500.0, 4.0, 6.0, 0.5, 1.0)).legs(500)]
    assert min(speeds) == pytest.approx(4.0) and max(speeds) == pytest.approx(6.0)
    assert any(4.1 < s < 5.9 for s in speeds)


def test_the_border_reflects() -> None:
    legs = Walker(GaussMarkov(100.0, 70.0, 5.0, 9.0, 0.9, 30.0)).legs(400)
    bounces = 0
    for before, after in pairwise(legs):
        if abs(after.start_s - before.start_s) > 29.9:
            continue
        x, y = end_x(before), end_y(before)
        if min(x, 100.0 - x) < 1e-6 and after.vy == before.vy:
            assert after.vx == -before.vx
            bounces += 1
        elif min(y, 70.0 - y) < 1e-6 and after.vx == before.vx:
            assert after.vy == -before.vy
            bounces += 1
    assert bounces > 200


def test_a_step_takes_its_time_across_reflections() -> None:
    legs: list[Leg] = Walker(GaussMarkov(50.0, 50.0, 5.0, 9.0, 0.3, 7.0)).legs(300)
    turns = [b.start_s for a, b in pairwise(legs) if (abs(a.vx), abs(a.vy)) != (abs(b.vx), abs(b.vy))]
    assert len(turns) > 50
    assert all(b - a == pytest.approx(7.0) for a, b in pairwise(turns))


def test_nodes_do_not_step_at_the_same_times() -> None:
    ends = [w.leg.end_s for w in crowd(GaussMarkov(1e6, 1e6, 1.0, 2.0, 0.5, 10.0), 300)]
    assert stats.kstest(ends, stats.uniform(0, 10).cdf).pvalue > 1e-3


def test_full_memory_never_turns() -> None:
    legs = Walker(GaussMarkov(1e9, 1e9, 0.0, 20.0, 1.0, 1.0)).legs(50)
    assert {(leg.vx, leg.vy) for leg in legs} == {(legs[0].vx, legs[0].vy)}
