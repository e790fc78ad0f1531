"""Random waypoint: the stationary start, compared with known results."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import integrate, stats

from roamcast.world.mobility.stationary import Pauses, Speeds
from roamcast.world.mobility.waypoint import RandomWaypoint
from roamcast.world.streams import Stream
from tests.world.walkers import Walker, crowd, speed

NO_PAUSE = Pauses(0.0, 0.0)
MEAN_DISTANCE_IN_UNIT_SQUARE = 0.521405433164720  # (2 + sqrt(2) + 5 asinh(1)) / 15


def density(law: str, low: float, high: float, v: float) -> float:
    """The density of the speed law, not normalised."""
    return 1.0 if law == "uniform" else exp(-0.5 * ((v - 0.5 * (low + high)) / (0.25 * (high - low))) ** 2)


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_mean_speed_from_the_start_is_the_harmonic_mean(law: str) -> None:
    low, high = 1.0, 19.0
    mass = integrate.quad(lambda v: density(law, low, high, v), low, high)[0]
    inverse = integrate.quad(lambda v: density(law, low, high, v) / v, low, high)[0] / mass
    speeds = Speeds(low, high, law)
    assert speeds.inverse_mean == pytest.approx(inverse, rel=1e-4)
    walkers = crowd(RandomWaypoint(1000.0, 1000.0, speeds, NO_PAUSE), 4000)
    mean = sum(speed(w.leg) for w in walkers) / len(walkers)
    deviation = high / sqrt(len(walkers)) / 2
    assert mean == pytest.approx(1.0 / inverse, abs=3 * deviation)
    assert abs(mean - 0.5 * (low + high)) > 6 * deviation  # the mean that a naive start would have


def test_speeds_of_legs_follow_the_law() -> None:
    stream = Stream(1, 0, "test")
    uniform = [Speeds(2.0, 6.0, "uniform").draw(stream) for _ in range(3000)]
    assert stats.kstest(uniform, stats.uniform(2.0, 4.0).cdf).pvalue > 1e-3
    normal = [Speeds(2.0, 6.0, "normal").draw(stream) for _ in range(3000)]
    assert stats.kstest(normal, stats.truncnorm(-2.0, 2.0, 4.0, 1.0).cdf).pvalue > 1e-3


def test_speeds_underway_have_density_one_over_v() -> None:
    stream = Stream(1, 0, "test")
    speeds = Speeds(1.0, 8.0, "uniform")
    seen = [speeds.draw_underway(stream) for _ in range(3000)]
    assert stats.kstest(seen, lambda v: np.log(v) / log(8.0)).pvalue > 1e-3


def test_a_single_speed_works_like_an_interval() -> None:
    for law in ("uniform", "normal"):
        speeds = Speeds(3.0, 3.0, law)
        assert speeds.inverse_mean == 1 / 3.0
        assert speeds.draw(Stream(1, 0, "test")) == speeds.draw_underway(Stream(1, 0, "test")) == 3.0


def test_share_that_pauses_at_the_start() -> None:
    speeds, pauses = Speeds(2.0, 6.0, "uniform"), Pauses(20.0, 120.0)
    model = RandomWaypoint(1000.0, 1000.0, speeds, pauses)
    walkers = crowd(model, 4000)
    walk_s = 1000.0 * MEAN_DISTANCE_IN_UNIT_SQUARE * log(3.0) / 4.0
    expected = 70.0 / (70.0 + walk_s)
    share = sum(speed(w.leg) == 0.0 for w in walkers) / len(walkers)
    assert share == pytest.approx(expected, abs=3 * sqrt(expected * (1 - expected) / len(walkers)))


@pytest.mark.parametrize(("low", "high"), [(2.0, 6.0), (0.5, 30.0)])
def test_of_nodes_that_keep_their_speeds_the_fast_ones_pause_more_often(low: float, high: float) -> None:
    """The share of time in which a node pauses depends on its own speed."""
    speeds, pause_s = Speeds(low, high, "uniform", per_node=True), 70.0
    walkers = crowd(RandomWaypoint(1000.0, 1000.0, speeds, Pauses(20.0, 120.0)), 4000)
    walk_m = 1000.0 * MEAN_DISTANCE_IN_UNIT_SQUARE

    def pausing(v: float) -> float:
        return pause_s / (pause_s + walk_m / v)

    walking = [speed(w.leg) for w in walkers if speed(w.leg) > 0.0]
    expected = float(integrate.quad(pausing, low, high)[0]) / (high - low)
    assert 1 - len(walking) / 4000 == pytest.approx(expected, abs=3 * sqrt(expected * (1 - expected) / 4000))
    seen = [integrate.quad(lambda v: 1 - pausing(v), low, high * k + low * (1 - k))[0] for k in np.linspace(0, 1, 101)]
    shares = np.array(seen) / seen[-1]
    assert stats.kstest(walking, lambda v: np.interp(v, np.linspace(low, high, 101), shares)).pvalue > 1e-3


def test_nodes_that_start_together_may_keep_their_speeds() -> None:
    model = RandomWaypoint(600.0, 300.0, Speeds(1.5, 4.0, "normal", per_node=True), Pauses(0.0, 9.0), together=True)
    walkers = crowd(model, 2000)
    first = [speed(w.leg) for w in walkers]
    assert stats.kstest(first, stats.truncnorm(-2.0, 2.0, 2.75, 0.625).cdf).pvalue > 1e-3
    assert {round(speed(leg), 6) for leg in walkers[0].legs(21)} == {0.0, round(first[0], 6)}


def test_the_rest_of_a_pause_has_the_equilibrium_distribution() -> None:
    pauses = Pauses(10.0, 30.0)
    stream = Stream(1, 0, "test")
    left = [pauses.draw_rest(stream) for _ in range(4000)]

    def cdf(r: float) -> float:
        """Integral of (1 - F) / E[P]."""
        return r / 20.0 if r <= 10.0 else (10.0 + (r - 10.0) - (r - 10.0) ** 2 / 40.0) / 20.0

    assert stats.kstest(left, np.vectorize(cdf)).pvalue > 1e-3
    assert min(left) > 0.0 and max(left) <= 30.0


def test_density_on_a_line_is_the_known_parabola() -> None:
    """On a very thin rectangle the stationary density is 6 x (1 - x)."""
    walkers = crowd(RandomWaypoint(1000.0, 0.001, Speeds(5.0, 5.0, "uniform"), NO_PAUSE), 3000)
    xs = [w.at(0.0)[0] / 1000.0 for w in walkers]
    assert stats.kstest(xs, lambda x: 3 * x**2 - 2 * x**3).pvalue > 1e-3


def test_nodes_that_pause_are_uniform() -> None:
    walkers = crowd(RandomWaypoint(800.0, 500.0, Speeds(5.0, 5.0, "uniform"), Pauses(500.0, 1000.0)), 3000)
    places = [w.at(0.0) for w in walkers if speed(w.leg) == 0.0]
    assert len(places) > 2000
    assert stats.kstest([x for x, _ in places], stats.uniform(0, 800).cdf).pvalue > 1e-3
    assert stats.kstest([y for _, y in places], stats.uniform(0, 500).cdf).pvalue > 1e-3


def test_walks_and_pauses_alternate() -> None:
    legs = Walker(RandomWaypoint(100.0, 100.0, Speeds(1.0, 2.0, "uniform"), Pauses(3.0, 4.0))).legs(41)
    standing = [speed(leg) == 0.0 for leg in legs]
    assert all(a != b for a, b in pairwise(standing))
    pauses = [leg.end_s - leg.start_s for leg, still in list(zip(legs, standing, strict=True))[1:] if still]
    assert all(3.0 <= p <= 4.0 for p in pauses) and len({round(p, 6) for p in pauses}) > 15


def test_destinations_are_uniform_and_independent_of_the_speed() -> None:
    legs = Walker(RandomWaypoint(100.0, 100.0, Speeds(1.0, 9.0, "uniform"), NO_PAUSE)).legs(2000)[1:]
    assert stats.kstest([leg.x for leg in legs], stats.uniform(0, 100).cdf).pvalue > 1e-3
    assert stats.kstest([speed(leg) for leg in legs], stats.uniform(1, 8).cdf).pvalue > 1e-3


def test_nodes_that_start_together_stand_anywhere_and_walk_at_once() -> None:
    pauses = Pauses(0.0, 600.0)
    walkers = crowd(RandomWaypoint(600.0, 300.0, Speeds(1.5, 4.0, "normal"), pauses, together=True), 3000)
    legs = [w.leg for w in walkers]
    assert {leg.start_s for leg in legs} == {0.0} and min(speed(leg) for leg in legs) >= 1.5
    assert stats.kstest([leg.x for leg in legs], stats.uniform(0.0, 600.0).cdf).pvalue > 1e-3
    assert stats.kstest([leg.y for leg in legs], stats.uniform(0.0, 300.0).cdf).pvalue > 1e-3
    assert stats.kstest([speed(leg) for leg in legs], stats.truncnorm(-2.0, 2.0, 2.75, 0.625).cdf).pvalue > 1e-3
