"""Manhattan: streets, turns, and traffic that is the same everywhere."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from scipy import stats

from roamcast.errors import InputError
from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.manhattan import Manhattan
from roamcast.world.mobility.stationary import Pauses, Speeds
from tests.world.walkers import Walker, crowd, speed

BLOCK = 100.0


def model(turn: float = 0.5, pause: float = 0.0, width: float = 430.0, height: float = 300.0) -> Manhattan:
    return Manhattan(width, height, BLOCK, turn, Speeds(5.0, 15.0, "uniform"), Pauses(0.0, pause))


def way(leg: Leg) -> tuple[int, int]:
    return round(leg.vx / speed(leg)), round(leg.vy / speed(leg))


def crossing(leg: Leg) -> tuple[int, int]:
    return round(leg.x / BLOCK), round(leg.y / BLOCK)


def test_nodes_walk_on_streets_from_crossing_to_crossing() -> None:
    for walker in crowd(model(), 20):
        for leg in walker.legs(100)[1:]:
            c, r = crossing(leg)
            assert leg.x == pytest.approx(c * BLOCK) and leg.y == pytest.approx(r * BLOCK)
            assert (leg.end_s - leg.start_s) * speed(leg) == pytest.approx(BLOCK)
            assert abs(leg.vx) < 1e-9 or abs(leg.vy) < 1e-9
            assert 0 <= c <= 4 and 0 <= r <= 3


@pytest.mark.parametrize("turn", [0.0, 0.3, 1.0])
def test_turns_where_all_ways_exist(turn: float) -> None:
    legs = Walker(model(turn, width=1000.0, height=1000.0)).legs(4000)
    kinds: Counter[str] = Counter()
    for before, after in pairwise(legs):
        if all(0 < k < 10 for k in crossing(after)):
            (ax, ay), (bx, by) = way(before), way(after)
            across = ax * by - ay * bx
            kinds["left" if across > 0 else "right" if across < 0 else "on" if (ax, ay) == (bx, by) else "back"] += 1
    total = sum(kinds.values())
    assert kinds["back"] == 0
    assert kinds["on"] / total == pytest.approx(1 - turn, abs=0.03)
    assert kinds["left"] / total == pytest.approx(turn / 2, abs=0.03)


def test_at_the_border_the_remaining_directions_are_equally_likely_and_no_node_turns_back() -> None:
    legs = Walker(model(0.1, width=300.0, height=300.0)).legs(12_000)
    seen: Counter[tuple[tuple[int, int], tuple[int, int]]] = Counter()
    for before, after in pairwise(legs):
        assert way(before) != tuple(-k for k in way(after))
        if crossing(after) == (1, 0):
            seen[way(before), way(after)] += 1
    for came in ((1, 0), (-1, 0), (0, -1)):
        counts = [n for (a, _), n in seen.items() if a == came]
        assert len(counts) == 2 and stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("t", [0.0, 60.0])
def test_all_streets_are_equally_busy_in_both_directions(t: float) -> None:
    walkers = [w.to(t) for w in crowd(model(0.2), 4000)]
    busy = Counter((way(w.leg), *(int(v // BLOCK) for v in w.at(t))) for w in walkers)
    streets = Counter[tuple[bool, int, int]]()
    for w in walkers:
        x, y = w.at(t)
        along_x = abs(w.leg.vx) > 1e-9
        streets[
            along_x, int(x // BLOCK) if along_x else round(x / BLOCK), round(y / BLOCK) if along_x else int(y // BLOCK)
        ] += 1
    assert len(streets) == 4 * 4 + 3 * 5
    assert stats.chisquare(list(streets.values())).pvalue > 1e-3
    ways = Counter(w for w, *_ in busy.elements())
    assert stats.chisquare([ways[1, 0], ways[-1, 0]]).pvalue > 1e-3
    assert stats.chisquare([ways[0, 1], ways[0, -1]]).pvalue > 1e-3


def test_pauses_are_at_crossings_and_keep_the_way() -> None:
    legs = Walker(model(turn=0.0, pause=5.0, width=5000.0, height=5000.0)).legs(60)
    walks = [leg for leg in legs if speed(leg) > 0.0]
    assert len(legs) - len(walks) >= 28
    assert len({way(leg) for leg in walks[:5]}) == 1


def test_nodes_turn_back_at_the_ends_of_a_single_street() -> None:
    legs = Walker(model(width=300.0, height=50.0)).legs(100)
    assert {crossing(leg)[0] for leg in legs} == {0, 1, 2, 3} and {leg.y for leg in legs} == {0.0}


def test_an_area_smaller_than_a_block_is_refused() -> None:
    with pytest.raises(InputError, match="block_m"):
        model(width=99.0, height=99.0)
