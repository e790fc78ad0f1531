"""City section: streets, speed limits, quickest ways, lights, parking."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import dist
from typing import Any

import pytest
from scipy import stats

from roamcast.world.mobility import build
from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.city import CitySection
from roamcast.world.mobility.legs import end_x, end_y
from roamcast.world.scenario import Scenario
from roamcast.world.streets import Street, StreetGraph, campus, read
from tests.support.data import data
from tests.world.walkers import Walker, crowd, speed

CAMPUS = campus(2)


def city(stops: float = 0.3, stop_s: float = 20.0, parking_s: float = 60.0, graph: StreetGraph = CAMPUS) -> CitySection:
    return CitySection(graph, 1, stops, stop_s, parking_s)


def crossing_at(graph: StreetGraph, x: float, y: float) -> int:
    """The crossing at this place, or -1."""
    near = [k for k, point in enumerate(graph.points) if dist(point, (x, y)) < 1e-6]
    return near[0] if near else -1


def pieces(graph: StreetGraph) -> list[tuple[tuple[float, float], tuple[float, float], float]]:
    return [(a, b, s.speed_mps) for s in graph.streets for a, b in pairwise(s.shape)]


def test_nodes_drive_on_streets_at_the_speed_limit() -> None:
    """Every moving leg lies on a straight piece of a street, runs to its end, at that street's limit."""
    known = pieces(CAMPUS)
    for walker in crowd(city(), 6):
        for leg in walker.legs(60):
            if speed(leg) == 0.0:
                continue
            a, b = (leg.x, leg.y), (end_x(leg), end_y(leg))
            assert any(
                dist(q, b) < 1e-6
                and abs(dist(p, a) + dist(a, b) - dist(p, q)) < 1e-6
                and speed(leg) == pytest.approx(limit)
                for p, q, limit in known
            )


def visits(model: CitySection, legs: list[Leg]) -> list[tuple[int, float]]:
    """Crossings in order, each with the time that the node stood there."""
    visited: list[tuple[int, float]] = []
    for leg in legs:
        here = crossing_at(model.graph, leg.x, leg.y)
        if here >= 0:
            stood = leg.end_s - leg.start_s if speed(leg) == 0.0 else 0.0
            if visited and visited[-1][0] == here:
                visited[-1] = (here, visited[-1][1] + stood)
            else:
                visited.append((here, stood))
    return visited


def test_without_parking_nodes_stop_only_at_lights_and_not_longer_than_given() -> None:
    model = city(stops=0.4, stop_s=10.0, parking_s=0.0)
    stops = 0
    for walker in crowd(model, 10):
        for crossing, stood in visits(model, walker.legs(150))[1:-1]:
            assert stood == 0.0 or model.light[crossing]
            assert stood <= 10.0
            stops += stood > 0.0
    assert stops > 100
    assert 0.25 < sum(model.light) / len(model.light) < 0.55


def test_stops_are_uniform() -> None:
    model = city(stops=1.0, stop_s=10.0, parking_s=0.0)
    stood = [s for w in crowd(model, 10) for _, s in visits(model, w.legs(200))[1:-1] if s > 0.0]
    assert stats.kstest(stood, stats.uniform(0, 10).cdf).pvalue > 1e-3


def test_without_lights_nodes_stand_only_to_park_and_trips_take_the_quickest_way() -> None:
    """Between two parkings, the time on the way is the one that a simple search finds (Bellman and Ford)."""
    model = city(stops=0.0, parking_s=30.0)
    checked = 0
    for walker in crowd(model, 6):
        legs = walker.legs(250)
        parked = [k for k, leg in enumerate(legs) if speed(leg) == 0.0 and k > 0]
        assert all(legs[k].end_s - legs[k].start_s <= 30.0 for k in parked)
        for a, b in pairwise(parked):
            start = crossing_at(model.graph, legs[a].x, legs[a].y)
            goal = crossing_at(model.graph, legs[b].x, legs[b].y)
            took = legs[b].start_s - legs[a].end_s
            assert took == pytest.approx(slow_search(model.graph, start)[goal], abs=1e-6)
            checked += 1
    assert checked > 30


def slow_search(graph: StreetGraph, start: int) -> list[float]:
    seconds = [float("inf")] * len(graph.points)
    seconds[start] = 0.0
    before: list[float] = []
    while before != seconds:
        before = list(seconds)
        for s in graph.streets:
            seconds[s.v] = min(seconds[s.v], seconds[s.u] + s.length_m / s.speed_mps)
    return seconds


def square(weights: tuple[float, float, float, float]) -> StreetGraph:
    """A one-way ring 0 → 1 → 2 → 3 → 0 of 100 m streets at 10 m/s."""
    points = [(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)]
    streets = [Street(k, (k + 1) % 4, [points[k], points[(k + 1) % 4]], 10.0, weights[k]) for k in range(4)]
    return StreetGraph(points, streets)


def test_roads_of_more_weight_attract_more_trips() -> None:
    model = city(stops=0.0, parking_s=10.0, graph=square((1.0, 1.0, 6.0, 1.0)))
    walker = Walker(model)
    goals = Counter(crossing_at(model.graph, leg.x, leg.y) for leg in walker.legs(12_000) if speed(leg) == 0.0)
    # No node drives to where it already is, so a crossing of share w is visited in proportion to w (1 - w).
    expected = [w * (1 - w) for w in (1 / 9, 1 / 9, 6 / 9, 1 / 9)]
    total = sum(goals.values())
    for k in range(4):
        assert goals[k] / total == pytest.approx(expected[k] / sum(expected), abs=0.02)


def test_one_way_streets_are_respected() -> None:
    legs = Walker(city(stops=0.0, parking_s=0.0, graph=square((1.0, 1.0, 1.0, 1.0)))).legs(100)
    ways = [(round(leg.vx), round(leg.vy)) for leg in legs]
    assert set(ways) == {(10, 0), (0, 10), (-10, 0), (0, -10)}
    for (ax, ay), (bx, by) in pairwise(ways):
        assert ax * by - ay * bx == 100  # always left


@pytest.mark.parametrize(("stops", "stop_s", "parking_s"), [(0.3, 30.0, 100.0), (1.0, 20.0, 0.0), (0.0, 0.0, 200.0)])
def test_share_that_stands_at_the_start_is_the_long_run_share(stops: float, stop_s: float, parking_s: float) -> None:
    model = city(stops, stop_s, parking_s)
    standing = sum(speed(w.leg) == 0.0 for w in crowd(model, 1500)) / 1500
    walker = Walker(model, 9)
    legs = walker.legs(15_000)
    share = sum(leg.end_s - leg.start_s for leg in legs if speed(leg) == 0.0) / (legs[-1].end_s - legs[0].start_s)
    assert standing == pytest.approx(share, abs=0.04)


def test_the_expected_stops_count_when_a_way_is_chosen() -> None:
    """Two ways from 0 to 3: by 1, where there is a light, and by 2, a little longer and without."""
    points = [(0.0, 0.0), (50.0, 50.0), (50.0, -55.0), (100.0, 0.0)]
    links = [(0, 1), (1, 3), (0, 2), (2, 3), (3, 0)]
    graph = StreetGraph(points, [Street(u, v, [points[u], points[v]], 10.0, 1.0) for u, v in links])
    models = [CitySection(graph, seed, 0.5, 20.0, 0.0) for seed in range(40)]
    ways = {(m.light[1], m.light[2]): graph.streets[m.router.to(3).streets[0]].v for m in models}
    assert ways == {(False, False): 1, (False, True): 1, (True, False): 2, (True, True): 1}


def test_lights_depend_on_the_seed_of_the_run() -> None:
    assert CitySection(CAMPUS, 1, 0.5, 9.0, 9.0).light == CitySection(CAMPUS, 1, 0.5, 1.0, 1.0).light
    assert CitySection(CAMPUS, 1, 0.5, 9.0, 9.0).light != CitySection(CAMPUS, 2, 0.5, 9.0, 9.0).light


def test_the_epfl_map_can_be_driven_on() -> None:
    model = city(graph=read(str(data("epfl_map/epfl_paths.wkt"))))
    for walker in crowd(model, 4):
        for leg in walker.legs(80):
            assert 0.0 <= leg.x <= 1200.0 and 0.0 <= leg.y <= 900.0
            assert speed(leg) == 0.0 or 8.0 - 1e-6 <= speed(leg) <= 13.0 + 1e-6


def test_the_campus_is_made_once_and_runs_leave_it_as_it_is() -> None:
    def graph(seed: int, **values: Any) -> StreetGraph:
        model = build(Scenario(mobility="city", width_m=600.0, height_m=500.0, **values), seed)
        assert isinstance(model, CitySection)
        return model.graph

    first = graph(1)
    crowd(build(Scenario(mobility="city", width_m=600.0, height_m=500.0), 1), 6)
    assert graph(2) is first
    made = campus(1, 600.0, 500.0)
    assert first.points == made.points
    assert [(s.u, s.v, s.shape, s.speed_mps) for s in first.streets] == [
        (s.u, s.v, s.shape, s.speed_mps) for s in made.streets
    ]
    assert (first.leaving, first.entering) == (made.leaving, made.entering)
    main = graph(1, roads="main")
    assert main.points == made.main_roads().points
    assert len(main.points) < len(first.points)
