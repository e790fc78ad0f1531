"""Runs: an id for each, by what decides it; the longest first, in partitions that get smaller."""

from __future__ import annotations

import gzip
import json
import math
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from roamcast.cli.main import app
from roamcast.lab import plan
from roamcast.lab.campaign import Campaign, parse
from roamcast.lab.plan import Run, partitions, runs
from roamcast.protocols import registry
from roamcast.world.simulate import simulate

TEXT = """\
name = "x"
preset = "baldoni"
seeds = 2
[world]
duration_s = 20.0
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.5, 0.7] }
"""


def campaign(*changes: tuple[str, str]) -> Campaign:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text)


def ids(*changes: tuple[str, str]) -> list[str]:
    return [run.id for run in runs(campaign(*changes))]


def test_runs_are_cells_with_seeds_and_all_have_ids_of_their_own() -> None:
    all_runs = runs(campaign())
    assert [(run.cell.given["p"], run.seed) for run in all_runs] == [(0.5, 1), (0.5, 2), (0.7, 1), (0.7, 2)]
    assert len({run.id for run in all_runs}) == 4


def test_an_id_depends_on_all_that_decides_a_run_and_on_nothing_else() -> None:
    same = ids(('name = "x"', 'name = "y"'), ("[[protocol]]", '[[protocol]]\nlabel = "G"'))
    assert same == ids()
    assert ids(("p = [0.5, 0.7]", "p = 0.7")) == ids()[2:]
    assert ids(("set = { p = [0.5, 0.7] }", ""))[0] == ids()[0]  # 0.5 is the preset's own value
    assert not set(ids(("20.0", "21.0"))) & set(ids())
    assert not set(ids(("seeds = 2", 'seeds = 2\nlevel = "frames"'))) & set(ids())  # it decides what the file holds


def test_an_id_depends_on_what_is_in_a_file_not_on_its_name(tmp_path: Path) -> None:
    def trace(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return ids(("duration_s", f'radio = "disc"\nmobility = "contacts"\ntrace = "{tmp_path / name}"\nduration_s'))[0]

    assert trace("a", "20 0 1\n") == trace("b", "20 0 1\n")
    assert trace("a", "20 0 1\n") != trace("c", "40 0 1\n")


def test_an_id_depends_on_files_that_are_read_beside_those_named(tmp_path: Path) -> None:
    def moving(parameters: str) -> str:
        (tmp_path / "walk.params").write_text(parameters)
        path = tmp_path / "walk.movements.gz"
        path.write_bytes(gzip.compress(b"0 0 0 10 5 5\n", mtime=0))
        return ids(("duration_s", f'mobility = "trace"\ntrace = "{path}"\nduration_s'))[0]

    def walking(streets: str) -> str:
        (tmp_path / "points.csv").write_text("id,x_m,y_m\n0,0,0\n1,100,0\n")
        (tmp_path / "streets.csv").write_text(f"u,v,speed_mps\n{streets}\n")
        return ids(("duration_s", f'mobility = "city"\nstreet_map = "{tmp_path / "points.csv"}"\nduration_s'))[0]

    assert moving("duration=20\n") == moving("duration=20\n") != moving("duration=30\n")
    assert walking("0,1,10") == walking("0,1,10") != walking("0,1,20")


def test_an_id_depends_on_the_source_of_somebody_elses_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    source = "from roamcast.protocols.gossip import Gossip\nclass Mine(Gossip):\n    pass\n"
    (tmp_path / "mine_a.py").write_text(source)
    (tmp_path / "mine_b.py").write_text(source + "# changed\n")
    assert plan.code_version("mine_a:Mine") != plan.code_version("mine_b:Mine")
    assert plan.code_version("mine_a:Mine") != plan.code_version("gossip")


@pytest.mark.parametrize(("part", "base"), [("mobility", "Mobility"), ("radio", "Radio"), ("mac", "Mac")])
def test_an_id_depends_on_the_source_of_somebody_elses_part_of_the_world(
    part: str, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"from roamcast.parts import {base}\nclass Mine({base}):\n    pass\n"
    (tmp_path / f"{part}_a.py").write_text(source)
    (tmp_path / f"{part}_b.py").write_text(source + "# changed\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    cells = [campaign(("[world]", f'[world]\n{part} = "{part}_{k}:Mine"')).cells[0] for k in "ab"]
    assert plan.cell_version(cells[0]) != plan.cell_version(cells[1])
    assert plan.cell_version(campaign().cells[0]) == plan.code_version("gossip")


def test_runs_are_in_the_same_world_if_only_their_protocols_differ() -> None:
    def worlds(*changes: tuple[str, str]) -> list[str]:
        return [run.world for run in runs(campaign(*changes))]

    first, second, *again = worlds()
    assert first != second  # another seed
    assert again == [first, second]
    assert worlds(('"gossip"', '"counter"'), ("set = { p = [0.5, 0.7] }", "")) == [first, second]
    assert not set(worlds(("20.0", "21.0"))) & {first, second}


@pytest.mark.parametrize(
    "line",
    [
        "nodes = 99",
        "range_m = 151.0",
        "width_m = 999.0",
        "speed_max_mps = 21.0",
        "subscribers = 11",
        "rate_hz = 0.6",
        "validity_s = 7.0",
        "traffic_seed = 5",
        "crash_mean_s = 50.0",
        "partition_until_s = 15.0",
    ],
)
def test_whatever_differs_in_a_scenario_makes_another_world(line: str) -> None:
    world, changed = (runs(campaign(("[world]", f"[world]\n{more}")))[0].world for more in ("", line))
    assert world != changed


def test_a_world_depends_on_what_is_in_a_file(tmp_path: Path) -> None:
    def world(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        line = f'radio = "disc"\nmobility = "contacts"\ntrace = "{tmp_path / name}"\nduration_s'
        return runs(campaign(("duration_s", line)))[0].world

    assert world("a", "20 0 1\n") == world("b", "20 0 1\n")
    assert world("a", "20 0 1\n") != world("c", "40 0 1\n")


def test_the_command_shows_the_very_run() -> None:
    keeping = campaign(("[world]", "[world]\nkeep_tables = true"))
    run = runs(keeping)[3]
    words = shlex.split(run.command())
    assert words[0] == "roamcast"
    shown = json.loads(CliRunner().invoke(app, [*words[1:], "--json"]).stdout)
    result = simulate(run.cell.scenario, run.cell.protocol, run.cell.params, run.seed)
    assert shown["fingerprint"] == result.fingerprint


def test_more_nodes_longer_runs_and_more_events_cost_more() -> None:
    def cost_s(*changes: tuple[str, str]) -> float:
        return runs(campaign(*changes))[0].cost_s

    assert cost_s(("20.0", "40.0")) > cost_s()
    assert cost_s(("20.0", "20.0\nnodes = 300")) > cost_s()
    assert cost_s(("20.0", "20.0\nrate_hz = 9.0")) > cost_s()


def test_who_beacons_costs_more_and_the_more_the_oftener() -> None:
    def cost_s(protocol: str, settings: str) -> float:
        return runs(campaign(("gossip", protocol), ("p = [0.5, 0.7]", settings)))[0].cost_s

    assert cost_s("proximity", "beacon_interval_s = 5.0") > cost_s("gossip", "p = 0.5")
    rarely, often = (cost_s("proximity", f"beacon_interval_s = {s}") for s in (5.0, 1.0))
    node_seconds, neighbours = 100 * 20, 100 * math.pi * 150**2 / 1000**2
    more = node_seconds * neighbours * (1 - 1 / 5)
    assert often - rarely == pytest.approx(plan.SECONDS_PER_RECEPTION_BY_BEACONING * more)


def test_it_is_known_of_every_protocol_of_our_own_whether_it_beacons() -> None:
    params = {name: [f.name for f in fields(registry.get(name).params_class)] for name in registry.BUILT_IN}
    beaconing = {name for name, has in params.items() if set(has) & set(plan.HELLOS)}
    assert beaconing == {"flooding-neighbors", "proximity", "frugal", "semiprob-links", "treegroup", "subtree"}


def planned(costs: list[float]) -> list[Run]:
    small = campaign()
    return [Run(f"{k:016x}", small, 0, k, cost_s) for k, cost_s in enumerate(costs)]


@given(st.lists(st.floats(0.01, 1000.0), min_size=1, max_size=300), st.integers(1, 16))
def test_every_run_is_in_one_partition_longest_first_and_none_is_too_large(costs: list[float], cores: int) -> None:
    parts = partitions(planned(costs), cores)
    flat = [run for part in parts for run in part]
    assert sorted(run.id for run in flat) == sorted(run.id for run in planned(costs))
    assert [run.cost_s for run in flat] == sorted(costs, reverse=True)
    assert all(parts)
    left_s = sum(costs)
    least_s = min(plan.LEAST_S, left_s / (plan.TASKS_AT_A_TIME * cores))
    for part in parts:
        total_s = sum(run.cost_s for run in part)
        share_s = max(least_s, left_s / (plan.TASKS_AT_A_TIME * cores))
        assert len(part) == 1 or total_s <= share_s * (1 + 1e-9)
        left_s -= total_s


def test_many_short_runs_make_few_partitions_that_get_smaller_but_not_too_small() -> None:
    sizes = [len(part) for part in partitions(planned([0.125] * 400), 2)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 50
    assert set(sizes[-4:-1]) == {4}  # half a second
    assert len(sizes) < 25


def test_runs_in_one_world_are_next_to_each_other_if_they_cost_the_same() -> None:
    all_runs = runs(campaign(("seeds = 2", "seeds = 20")))
    (part, *_) = partitions(all_runs, 1)
    worlds = [run.world for run in part]
    assert len(set(worlds)) > 1
    assert all(worlds[k] == worlds[k + 1] for k in range(0, len(worlds) - 1, 2))


def test_few_short_runs_are_spread_over_the_cores() -> None:
    assert [len(part) for part in partitions(planned([0.1] * 4), 2)] == [1, 1, 1, 1]


def test_a_run_costs_more_where_its_log_has_frames_and_is_measured() -> None:
    cell = parse('name = "x"\npreset = "baldoni"\n[[protocol]]\nname = "gossip"\n').cells[0]
    costs_s = {level: plan.estimate_s(cell, level) for level in ("summary", "deliveries", "frames", "full")}
    assert costs_s["summary"] == costs_s["deliveries"] == plan.estimate_s(cell)
    assert costs_s["frames"] == costs_s["full"] > 1.5 * costs_s["summary"]
    assert plan.measuring_s(cell, "summary") == 0.0 < plan.measuring_s(cell, "frames")


def test_a_run_may_take_as_long_as_asked_for_or_very_long() -> None:
    (run,) = plan.runs(parse('name = "x"\npreset = "baldoni"\nseeds = 1\n[[protocol]]\nname = "gossip"\n'))
    assert plan.limits(2.5)(run) == 2.5
    assert plan.limits(None)(run) > 600.0 + 100 * run.cost_s
