"""A frame that ends at all its hearers at once has the same effects as one that ends at one hearer after the other; and
what air works out in advance, or leaves out, makes no difference."""

from __future__ import annotations

from typing import Any

import pytest
from librt.vecs import vec

from roamcast.log.writer import LogSink
from roamcast.world import mac
from roamcast.world.air.medium import UNSENSED
from roamcast.world.assembly import build, heard_ranges, radio_of, spec_of
from roamcast.world.scenario import Scenario, with_values
from roamcast.world.simulate import simulate
from tests.support.sinks import MemorySink
from tests.world.stage import Stage

WORLD: dict[str, Any] = {"nodes": 30, "width_m": 450.0, "height_m": 450.0, "duration_s": 5.0, "speed_max_mps": 15.0}
RADIOS: dict[str, dict[str, Any]] = {
    "disc": {},
    "disc that senses farther": {"carrier_sense_ratio": 2.0},
    "ranges of frames": {"radio": "two-ray", "range_m": 80.0, "range_max_m": 160.0, "range_per": "frame"},
    "free space": {"radio": "free-space", "carrier_sense_ratio": 1.5},
}
FAULTS: dict[str, dict[str, Any]] = {
    "none": {},
    "sleep": {"awake_s": 1.5, "asleep_s": 0.3},
    "crash": {"crash_mean_s": 3.0, "repair_mean_s": 1.0},
}


# broadcasts, unicasts, frames of several events, and one that reads its battery
@pytest.mark.parametrize("protocol", ["gossip", "subtree", "frugal", "treegroup"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("access", ["dcf", "ideal"])
@pytest.mark.parametrize("radio", RADIOS)
def test_both_ways_of_ending_frames_give_the_same_run(radio: str, access: str, fault: str, protocol: str) -> None:
    traffic = {"mac": access, "publishers": 6, "workload": "topics", "validity_s": 3.0}
    scenario = with_values(WORLD | RADIOS[radio] | FAULTS[fault] | traffic, {})
    at_once = simulate(scenario, protocol)
    one_by_one = simulate(scenario, protocol, level="frames", sink=MemorySink())
    assert at_once.fingerprint == one_by_one.fingerprint
    joules = [result.metrics.pop("energy_j") for result in (at_once, one_by_one)]
    assert joules[0] == pytest.approx(joules[1], rel=1e-12)
    assert at_once.metrics == one_by_one.metrics
    assert at_once.metrics["receptions"] > 0


def test_frames_end_all_at_once_unless_rows_are_written_or_frames_are_lost_by_chance() -> None:
    for values, level, expected in (({}, "deliveries", True), ({}, "frames", False), ({"loss": 0.1}, "summary", False)):
        world = build(Scenario(nodes=3, subscribers=2, radio="two-ray", **values), 1, level, LogSink())  # type: ignore[arg-type]
        assert world.air.at_once is expected


# ---- strengths


def strengths(stage: Stage, node: int) -> vec[float]:
    medium = stage.world.medium
    return medium.strengths(node, medium.hearers.row(node, 0), 0)


def test_strengths_of_nodes_that_stand_are_worked_out_once_and_each_frame_gets_a_copy() -> None:
    stage = Stage([(0.0, 0.0), (100.0, 0.0), (0.0, 50.0)], law="two-ray")
    first = strengths(stage, 0)
    known = list(first)
    first[0] = UNSENSED
    assert list(strengths(stage, 0)) == known and len(stage.world.medium.known) == 1


def test_ranges_of_frames_differ_even_where_no_node_moves() -> None:
    stage = Stage([(0.0, 0.0), (50.0, 0.0)], law="two-ray", range_m=100.0, range_max_m=200.0, per_frame=True)
    assert strengths(stage, 0)[0] != strengths(stage, 0)[0]


def test_strengths_are_worked_out_for_each_frame_where_a_wall_comes_and_goes() -> None:
    area: dict[str, Any] = {"mobility": "static", "width_m": 150.0, "height_m": 100.0}
    scenario = Scenario(nodes=9, subscribers=2, radio="two-ray", partition_until_s=5.0, **area)
    medium = build(scenario, 1, "summary", LogSink()).medium
    rows = [medium.hearers.row(0, t) for t in (0, 5_000_000)]
    assert len(rows[0]) < len(rows[1])
    assert [len(medium.strengths(0, row, 0)) for row in rows] == [len(row) for row in rows]


# ---- who is visited


def ranges(**values: Any) -> list[float]:
    scenario = Scenario(nodes=2, subscribers=1, **values)
    return heard_ranges(radio_of(scenario, 1), mac.build(spec_of(scenario).mac), 2)


def test_only_stations_that_may_decode_a_frame_are_visited_where_none_disturbs_another() -> None:
    far: dict[str, Any] = {"radio": "free-space", "range_m": 100.0, "carrier_sense_ratio": 2.0}
    assert ranges(**far) == pytest.approx([200.0, 200.0])
    assert ranges(**far, mac="ideal") == pytest.approx([100.0, 100.0])
    assert min(ranges(**far, mac="ideal")) > 100.0, "a margin for rounding errors of contacts"
    assert ranges(range_m=100.0, mac="ideal") == [100.0, 100.0], "no strength decides on a plain disc"


@pytest.mark.parametrize("radio", ["disc", "two-ray", "free-space", "log-distance"])
def test_how_far_frames_are_sensed_makes_no_difference_where_none_disturbs_another(radio: str) -> None:
    prints = [
        simulate(with_values(WORLD | {"mac": "ideal", "radio": radio, "carrier_sense_ratio": ratio}, {}), "gossip")
        for ratio in (1.2, 3.0)
    ]
    assert prints[0].fingerprint == prints[1].fingerprint
