"""Which of two protocols dominates the other, as the evidence for roam counts it (bench/front)."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.front import data
from bench.front.pareto import Point, beats, beside, curve_at, dominates, front


def point(delivered: float, air_s: float, spread: float = 0.001) -> Point:
    return Point(
        [
            {
                "seed": seed,
                "of_possible": delivered + spread * (seed % 3),
                "airtime_s_per_hour": air_s * (1 + 0.01 * seed),
            }
            for seed in range(8)
        ]
    )


@pytest.mark.parametrize(
    ("delivered", "air_s", "verdict"),
    [
        (0.90, 10.0, ""),
        (0.95, 10.0, "**dominates**"),
        (0.90, 5.0, "**dominates**"),
        (0.80, 10.0, "is dominated"),
        (0.90, 20.0, "is dominated"),
        (0.95, 20.0, ""),
        (0.80, 5.0, ""),
    ],
)
def test_a_protocol_beside_another(delivered: float, air_s: float, verdict: str) -> None:
    usual, other = point(0.9, 10.0), point(delivered, air_s)
    assert beside(usual, other) == verdict
    assert beats(usual, other) == (verdict == "is dominated")
    assert beats(other, usual) == (verdict == "**dominates**")


def test_equal_protocols_dominate_each_other_and_beat_nobody() -> None:
    a, b = point(0.9, 10.0), point(0.903, 10.3)
    assert dominates(a, b) and dominates(b, a)
    assert not beats(a, b) and not beats(b, a)
    assert beside(a, b) == "equal"


def test_a_curve_is_straight_between_its_points_and_level_behind_the_last() -> None:
    curve = [(10.0, 0.9), (1.0, 0.5)]
    assert [curve_at(curve, air) for air in (0.5, 1.0, 5.5, 10.0, 99.0)] == [None, 0.5, pytest.approx(0.7), 0.9, 0.9]


def test_the_front_leaves_out_what_takes_more_air_and_delivers_no_more() -> None:
    efforts = [(3.0, 0.9), (1.0, 0.5), (2.0, 0.8), (2.5, 0.7), (2.0, 0.6), (4.0, 0.9)]
    assert front(efforts) == [(1.0, 0.5), (2.0, 0.8), (3.0, 0.9)]
    assert curve_at(efforts, 2.5) == pytest.approx(0.85), "between the second and the third"
    assert curve_at(efforts, 9.0) == 0.9


def test_points_as_data_have_an_interval_for_each_measure_that_two_runs_have(tmp_path: Path) -> None:
    rows = [
        {
            "seed": seed,
            "nodes": 10,
            "deliveries": seed,
            "of_possible": 0.5,
            "airtime_s_per_hour": 1.0 + seed,
            "frames_sent": 6,
            "bytes_sent": 600,
            "latency_p50_s": 1.0 if seed else None,
            "latency_p95_s": 2.0,
            "energy_j": 1750.0,
            "memory_bytes": 100,
        }
        for seed in range(3)
    ]
    data.write(tmp_path / "points.csv", {"a room": {"roam": Point(rows), "once": Point(rows[:1])}})
    head, *lines = (tmp_path / "points.csv").read_text().splitlines()
    assert head == "world,protocol,measure,runs,mean,low,high"
    assert len(lines) == 8, "of one run there is no interval"
    assert 'a room,roam,"air of a node in an hour, s",3,2,-0.4841,4.484' in lines
    assert "a room,roam,frames a delivery,2,4.5,-14.56,23.56" in lines, "without the run that delivered nothing"
    assert 'a room,roam,"energy of a node, J",3,175,175,175' in lines
