"""Random direction: from border to border."""

from __future__ import annotations

from math import atan2, pi

from scipy import stats

from roamcast.world.mobility.area import heading, inwards, time_to_border, within
from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.direction import RandomDirection
from roamcast.world.mobility.legs import end_x, end_y
from roamcast.world.mobility.stationary import Pauses, Speeds
from roamcast.world.streams import Stream
from tests.world.walkers import Walker, crowd, speed

WIDTH, HEIGHT = 300.0, 200.0


def model(pause: float = 0.0) -> RandomDirection:
    return RandomDirection(WIDTH, HEIGHT, Speeds(1.0, 3.0, "uniform"), Pauses(0.0, pause))


def at_border(x: float, y: float) -> bool:
    return min(x, WIDTH - x, y, HEIGHT - y) < 1e-6


def test_every_walk_ends_at_the_border() -> None:
    for leg in Walker(model()).legs(300):
        assert at_border(end_x(leg), end_y(leg)) and speed(leg) > 0.0


def test_nodes_pause_at_the_border_only() -> None:
    legs = Walker(model(pause=10.0)).legs(300)[1:]
    assert all(at_border(leg.x, leg.y) for leg in legs if speed(leg) == 0.0)
    assert 140 <= sum(speed(leg) == 0.0 for leg in legs) <= 160


def test_the_new_direction_is_uniform_over_the_inner_half_circle() -> None:
    legs: list[Leg] = Walker(model()).legs(4000)[1:]
    south = [atan2(leg.vy, leg.vx) for leg in legs if leg.y < 1e-6 and 1.0 < leg.x < WIDTH - 1.0]
    east = [atan2(leg.vy, -leg.vx) for leg in legs if leg.x > WIDTH - 1e-6 and 1.0 < leg.y < HEIGHT - 1.0]
    assert len(south) > 500 and len(east) > 500
    assert stats.kstest(south, stats.uniform(0, pi).cdf).pvalue > 1e-3
    assert stats.kstest(east, stats.uniform(-pi / 2, pi).cdf).pvalue > 1e-3


def test_at_the_start_nodes_are_within_the_area_and_pausing_ones_at_its_border() -> None:
    walkers = crowd(model(pause=100.0), 600)
    assert sum(speed(w.leg) == 0.0 for w in walkers) > 100
    assert all(at_border(w.leg.x, w.leg.y) == (speed(w.leg) == 0.0) for w in walkers)


def test_a_heading_is_uniform_and_of_length_one() -> None:
    stream = Stream(1, 0, "test")
    headings = [heading(stream) for _ in range(4000)]
    assert all(abs(x * x + y * y - 1.0) < 1e-12 for x, y in headings)
    assert stats.kstest([atan2(y, x) for x, y in headings], stats.uniform(-pi, 2 * pi).cdf).pvalue > 1e-3
    folded = [atan2(*sorted((abs(x), abs(y)))) for x, y in headings]  # where the corners of a square would show
    assert stats.kstest(folded, stats.uniform(0, pi / 4).cdf).pvalue > 1e-3


def test_the_border() -> None:
    assert [inwards(at, 10.0, c) for at, c in ((0.0, -1.0), (10.0, 1.0), (5.0, -1.0))] == [1.0, -1.0, -1.0]
    assert [time_to_border(4.0, 10.0, v) for v in (2.0, -2.0, 0.0)] == [3.0, 2.0, float("inf")]
    assert [within(v, 10.0) for v in (-1.0, 3.0, 11.0)] == [0.0, 3.0, 10.0]
