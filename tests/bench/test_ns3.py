"""The same world for roamcast and for ns-3: the file that tells it, the table, and, where ns-3 is installed, a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.ns3 import compare, exchange, program, worlds

from roamcast.world.assembly import motion_of
from roamcast.world.mobility import Leg
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.bench.compared import OURS, THEIRS, compared

SEED = 3
PARAMS = {"p": 1.0, "jitter_ms": 10.0, "ttl": 0}
ROW_OF_FIVE = Scenario(
    nodes=5,
    width_m=500.0,
    height_m=0.05,
    mobility="static",
    placement="grid",
    placement_jitter=0.0,
    range_m=150.0,
    publishers=5,
    subscribers=5,
    events=3,
    publish_until_s=2.0,
    duration_s=3.0,
)
MOVING = Scenario(
    nodes=6, subscribers=5, width_m=300.0, height_m=300.0, speed_max_mps=20.0, speed_min_mps=10.0, duration_s=30.0
)


def written(tmp_path: Path, scenario: Scenario, params: dict[str, Any] = PARAMS) -> Path:
    path = tmp_path / "world"
    exchange.write(path, scenario, params, SEED)
    return path


def lines_of(path: Path, kind: str) -> list[list[str]]:
    return [words for words in map(str.split, path.read_text().splitlines()) if words[0] == kind]


# ---- the file


def test_legs_are_where_nodes_are(tmp_path: Path) -> None:
    motion = motion_of(MOVING, SEED, [10.0] * MOVING.nodes)
    legs = [
        (int(node), Leg(*map(float, rest[:5]), 0.0)) for _, node, *rest in lines_of(written(tmp_path, MOVING), "leg")
    ]
    assert len(legs) > 2 * MOVING.nodes
    for k in range(1, 300):
        now = k * 0.1
        motion.advance(now)
        for node in range(MOVING.nodes):
            leg = [leg for i, leg in legs if i == node and leg.start_s <= now][-1]
            x, y = leg.x + leg.vx * (now - leg.start_s), leg.y + leg.vy * (now - leg.start_s)
            assert (x, y) == pytest.approx(motion.position(node, now), abs=1e-6)


def test_publications_have_times_lengths_and_nodes(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path, ROW_OF_FIVE), "publish")
    assert len(lines) == ROW_OF_FIVE.events
    for _, at_us, node, size, count, *interested in lines:
        assert 0 <= int(at_us) <= 2_000_000
        assert int(size) > ROW_OF_FIVE.payload_bytes
        assert int(count) == len(interested) == 4
        assert set(interested) == {str(i) for i in range(5)} - {node}


def test_settings_are_the_scenarios(tmp_path: Path) -> None:
    path = written(tmp_path, ROW_OF_FIVE)
    assert lines_of(path, "range_m") == [["range_m", "150.0"]]
    assert lines_of(path, "jitter_us") == [["jitter_us", "10000.0"]]
    assert lines_of(path, "p") == [["p", "1.0"]]


# ---- worlds and the table


def test_worlds_are_those_of_the_presets() -> None:
    nodes = {name: case.scenario().nodes for name, case in worlds.LONG.items()}
    assert nodes == {"baldoni-disc": 100, "baldoni-two-ray": 100, "rezende": 200, "li": 500, "li-1000": 1000}
    assert {case.scenario().mac for case in worlds.CASES.values()} == {"dcf"}
    small, large = (worlds.CASES[name].scenario() for name in ("li", "li-1000"))
    assert small.nodes / small.width_m**2 == pytest.approx(large.nodes / large.width_m**2)
    assert small.nodes * small.rate_hz == pytest.approx(large.nodes * large.rate_hz)
    assert worlds.CASES["baldoni-two-ray"].params()["p"] == 0.5


def test_every_world_has_a_short_one() -> None:
    assert worlds.names(quick=False) == list(worlds.LONG)
    for long, short in zip(worlds.names(quick=False), worlds.names(quick=True), strict=True):
        assert worlds.CASES[short].scenario().duration_s < worlds.CASES[long].scenario().duration_s


def test_the_ratio_is_that_of_the_costs_of_a_reception() -> None:
    (row,) = compared()
    assert row["ratio"] == pytest.approx((1.5 / 500) / (0.006 / 600))
    assert row["whole_ratio"] == 200.0
    assert row["udp_ratio"] == pytest.approx((1.8 / 500) / (0.006 / 600))
    assert (row["roamcast"]["lost"], row["ns3"]["lost"]) == (0.25, 0.375)


def test_the_best_round_counts() -> None:
    assert compare.least([{**OURS, "run_s": s} for s in (3.0, 1.0, 2.0)])["run_s"] == 1.0


def test_all_three_stand_below_each_other() -> None:
    ours, theirs, through_udp = compare.lines(compared())
    assert len(ours) == len(theirs) == len(through_udp) == len(compare.HEADS)
    assert ours[2:7] == ["roamcast", "100", "600", "25.0%", "90.0%"]
    assert theirs[2:7] == ["ns-3", "101", "500", "37.5%", "80.0%"]
    assert through_udp[2:7] == ["ns-3, UDP", "101", "500", "37.5%", "80.0%"]
    assert [line[-2:] for line in (ours, theirs, through_udp)] == [["", "at least 400"], ["300", ""], ["360", ""]]
    assert THEIRS["hearers"] == 800


def test_without_ns3_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "HEADERS", Path("/nowhere/ns3.h"))
    assert "libns3-dev" in program.missing()
    assert "\n" not in program.missing()


# ---- ns-3 itself


@pytest.fixture(scope="module")
def ns3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if reason := program.missing():
        pytest.skip(reason)
    yield program.build(tmp_path_factory.mktemp("ns3"))


def test_ns3_does_the_same_in_a_quiet_row(ns3: Path, tmp_path: Path) -> None:
    """Three floods along five nodes: nothing collides, so all counts follow from who hears whom."""
    ours = simulate(ROW_OF_FIVE, "gossip", PARAMS, SEED).metrics
    theirs = program.run(ns3, written(tmp_path, ROW_OF_FIVE), "audit")
    assert ours["losses"] == 0
    assert [theirs[name] for name in ("frames", "receptions", "deliveries", "hearers")] == [15, 24, 12, 24]
    assert [ours[name] for name in ("frames_sent", "receptions", "deliveries")] == [15, 24, 12]
    assert theirs["bytes"] == pytest.approx(ours["bytes_sent"], abs=4 * 15)  # ages are encoded in 1 to 5 bytes


def test_frames_through_udp_are_as_many_and_as_long(ns3: Path, tmp_path: Path) -> None:
    """The sockets are another way to the same device: only the processor sees a difference."""
    world = written(tmp_path, ROW_OF_FIVE)
    bare, through_udp = (program.run(ns3, world, "audit", *options) for options in ((), ("udp",)))
    assert through_udp["receptions"] == 24
    for name in ("frames", "bytes", "receptions", "deliveries", "hearers"):
        assert through_udp[name] == bare[name], name


def test_hidden_senders_lose_both_frames_in_ns3(ns3: Path, tmp_path: Path) -> None:
    """However little they overlap: whether a frame survives is roamcast's rule, not a rate of bit errors."""
    world = written(tmp_path, ROW_OF_FIVE, {**PARAMS, "p": 0.0})
    lasts_us = 192 + 8 * (500 + 1 + 36)
    for later_us, received in ((0, 2), (100, 2), (lasts_us - 200, 2), (lasts_us + 200, 4)):
        assert program.run(ns3, clash(world, later_us))["receptions"] == received, later_us


def clash(world: Path, later_us: int) -> Path:
    """The world in which only nodes 1 and 3 publish. Nodes 0 and 4 hear one of them each, node 2 hears both."""
    lines = [line for line in world.read_text().splitlines() if not line.startswith("publish")]
    lines += [f"publish {1_000_000 + later} {node} 500 0" for later, node in ((0, 1), (later_us, 3))]
    world.write_text("\n".join(lines) + "\n")
    return world


@pytest.mark.parametrize("radio", ["two-ray", "free-space"])
def test_graded_radios_of_ns3_reach_as_far(ns3: Path, tmp_path: Path, radio: str) -> None:
    """Nodes 100 m apart: those in range decode every frame, and those that only sense one do not."""
    silent = {**PARAMS, "p": 0.0}
    for range_m, sensed in ((99.0, 1.0), (100.1, 1.0), (199.0, 2.0), (200.1, 1.0)):
        changed = {"radio": radio, "range_m": range_m, "carrier_sense_ratio": sensed}
        scenario = Scenario(**{**fields(ROW_OF_FIVE), **changed})
        figures = program.run(ns3, written(tmp_path, scenario, silent), "audit")
        ours = simulate(scenario, "gossip", silent, SEED).metrics
        assert figures["receptions"] == figures["hearers"] == ours["receptions"], range_m
        assert (ours["receptions"] == 0) == (range_m < 100.0)


@pytest.mark.parametrize("radio", ["two-ray", "free-space"])
def test_graded_radios_of_ns3_sense_as_far(ns3: Path, tmp_path: Path, radio: str) -> None:
    """Nodes 1 and 3 cannot decode each other. If one senses the other it waits, and node 2 gets both frames."""
    for sensed, received in ((1.99, 2), (2.002, 4)):
        scenario = Scenario(**{**fields(ROW_OF_FIVE), "radio": radio, "range_m": 100.1, "carrier_sense_ratio": sensed})
        world = clash(written(tmp_path, scenario, {**PARAMS, "p": 0.0}), 500)
        assert program.run(ns3, world)["receptions"] == received, sensed


def fields(scenario: Scenario) -> dict[str, Any]:
    return {name: getattr(scenario, name) for name in scenario.__struct_fields__}


def test_ns3_draws_a_range_for_every_frame_if_the_world_says_so(ns3: Path, tmp_path: Path) -> None:
    scenario = Scenario(
        **{
            **fields(ROW_OF_FIVE),
            "radio": "two-ray",
            "range_m": 90.0,
            "range_max_m": 110.0,
            "range_per": "frame",
            "events": 400,
            "publish_until_s": 200.0,
            "duration_s": 201.0,
        }
    )
    figures = program.run(ns3, written(tmp_path, scenario, {**PARAMS, "p": 0.0}), "audit")
    assert figures["receptions"] == pytest.approx(0.5 * 400 * 8 / 5, rel=0.15)
    assert figures["receptions"] == figures["hearers"]


def test_a_program_that_ends_with_an_error_says_so(ns3: Path, tmp_path: Path) -> None:
    with pytest.raises(program.Failed, match="gossip failed"):
        program.run(ns3, tmp_path / "missing")
