"""`roamcast run`: one run, its metrics, and what it says about wrong input."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from roamcast.api.simulation import Simulation
from roamcast.cli import outcome
from roamcast.cli.progress import Progress
from roamcast.papers import joint
from roamcast.world.scenario import Scenario
from tests.cli.conftest import Typed

SMALL = {"nodes": 30, "duration_s": 4, "publish_from_s": 1, "rate_hz": 5, "range_m": 200}
WORDS = ["run", "baldoni", "--protocol", "gossip", *(w for k, v in SMALL.items() for w in ("--world", f"{k}={v}"))]

PROMISED = {
    *("preset", "reading", "protocol", "params", "world", "version", "seed", "nodes", "sim_s", "wall_s", "fingerprint"),
    *("delivery", "of_possible", "overhead", "deliveries", "interested", "frames_sent", "frames_by_kind", "bytes_sent"),
    *("receptions", "losses", "losses_by_reason", "duplicates", "parasites", "latency_p50_s", "latency_p95_s"),
    *("own", "reception", "duplicates_wanted", "warmup_frames", "warmup_bytes", "repeats"),
    *("energy_j", "collisions", "memory_entries", "memory_bytes", "deterministic_hops", "reasons"),
}


def facts(typed: tuple[int, str, str]) -> dict[str, Any]:
    status, out, _ = typed
    assert status == 0
    return json.loads(out)


# ---- what it gives


def test_json_is_exactly_one_object_with_what_was_promised(roamcast: Typed) -> None:
    status, out, err = roamcast(*WORDS, "--set", "p=0.7", "--seed", "3", "--json")
    assert (status, err) == (0, "")
    assert out.count("\n") == 1
    run = json.loads(out)
    assert run.keys() >= PROMISED
    assert (run["preset"], run["protocol"], run["seed"], run["nodes"], run["sim_s"]) == ("baldoni", "gossip", 3, 30, 4)
    assert run["params"]["p"] == 0.7
    assert run["world"] == SMALL
    assert run["deliveries"] > 0


def test_the_same_command_gives_the_same_run(roamcast: Typed) -> None:
    one, two = (facts(roamcast(*WORDS, "--json")) for _ in range(2))
    one.pop("wall_s"), two.pop("wall_s")
    assert one == two


def test_seed_parameter_and_world_each_change_the_run(roamcast: Typed) -> None:
    changes = [[], ["--seed", "2"], ["--set", "p=0.9"], ["--world", "loss=0.2"]]
    prints = {facts(roamcast(*WORDS, *change, "--json"))["fingerprint"] for change in changes}
    assert len(prints) == len(changes)


def test_the_papers_protocol_runs_if_none_is_named(roamcast: Typed) -> None:
    words = [w for w in WORDS if w not in ("--protocol", "gossip")]
    assert facts(roamcast(*words, "--json"))["protocol"] == "proximity"


def test_a_preset_suggests_parameters_and_typed_ones_win(roamcast: Typed) -> None:
    li = "run li --protocol gossip --world nodes=20 --world publishers=5 --world subscribers=20 --world duration_s=2"
    words = [*li.split(), "--world", "publish_from_s=0", "--world", "publish_until_s=2", "--json"]
    assert facts(roamcast(*words))["params"]["ttl"] == 0
    assert facts(roamcast(*words, "--set", "ttl=3"))["params"]["ttl"] == 3


def test_another_reading_of_the_paper_is_another_world_and_is_in_the_command(roamcast: Typed) -> None:
    name = joint.of_preset("baldoni").changes[0].name
    words = [w for w in WORDS if w not in ("--protocol", "gossip")]
    run = facts(roamcast(*words, "--reading", name, "--json"))
    assert run["reading"] == name
    assert run["fingerprint"] != facts(roamcast(*words, "--json"))["fingerprint"]
    assert f"--reading {name}" in roamcast(*words, "--reading", name)[1].splitlines()[-1]
    status, _, err = roamcast(*words, "--reading", "nonsense")
    assert status == 2 and err.startswith("roamcast: unknown reading 'nonsense'")


def test_people_see_metrics_fingerprint_and_the_command_to_repeat_it(roamcast: Typed) -> None:
    status, out, err = roamcast(*WORDS, "--set", "p=0.7")
    assert (status, err) == (0, "")
    for word in ("delivery", "overhead", "frames sent per delivery", "median, ms", "J, all nodes", "frames: event "):
        assert word in out
    command = out.splitlines()[-1]
    again = facts(roamcast(*shlex.split(command)[1:], "--json"))
    assert again["fingerprint"] in out


def test_a_log_is_written_at_the_level_asked_for(roamcast: Typed, tmp_path: Path) -> None:
    plain = facts(roamcast(*WORDS, "--json"))["fingerprint"]
    kinds = {}
    for level in ("deliveries", "frames", "full", ""):
        path = tmp_path / f"{level}.parquet"
        run = facts(roamcast(*WORDS, "--json", "--log", str(path), *(["--level", level] if level else [])))
        assert run["fingerprint"] == plain
        kinds[level] = set(pq.read_table(path)["kind"].to_pylist())
    assert "send" not in kinds["deliveries"]
    assert "send" in kinds["frames"]
    assert "move" not in kinds["frames"]
    assert "move" in kinds["full"]
    assert kinds[""] == kinds["frames"]


def test_a_class_in_the_current_folder_is_a_protocol(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "silent_mod.py").write_text(
        "from roamcast.protocols.kit.interface import Protocol\nclass Silent(Protocol):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    words = [w.replace("gossip", "silent_mod:Silent") for w in WORDS]
    assert facts(roamcast(*words, "--json"))["frames_sent"] == 0


# ---- what it refuses


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "unknown preset 'nowhere'; known: baehni-city, "),
        (["baldoni", "--protocol", "gosip"], "unknown protocol 'gosip'; did you mean 'gossip'?"),
        (["baldoni", "--protocol", "no_such_mod:X"], "protocol 'no_such_mod:X' cannot be loaded: "),
        (["baldoni", "--protocol", "gossip", "--set", "p=1.5"], "p=1.5: must be a number between 0 and 1"),
        (["baldoni", "--protocol", "gossip", "--set", "q=1"], "unknown gossip parameter 'q'; known: "),
        (["baldoni", "--set", "p"], "--set 'p': must be KEY=VALUE"),
        (["baldoni", "--set", "=1"], "--set '=1': must be KEY=VALUE"),
        (["baldoni", "--set", "p="], "--set 'p=': must be KEY=VALUE"),
        (["baldoni", "--set", "p=1", "--set", "p=2"], "--set 'p=2': p is given twice"),
        (["baldoni", "--world", "nodes"], "--world 'nodes': must be KEY=VALUE"),
        (["baldoni", "--world", "nods=5"], "unknown scenario field 'nods'; did you mean 'nodes'?"),
        (["baldoni", "--world", "nodes=0"], "nodes=0: must be a whole number"),
        (["baldoni", "--world", "range_m=inf"], "range_m=inf: must be a number, at least 0.01 and at most 10000000"),
        (["baldoni", "--world", "range_m=nan"], "range_m=nan: must be a number"),
        (["baldoni", "--world", "nodes=5"], "subscribers (10) must not be above nodes (5)"),
        (["baldoni", "--seed", "-1"], "seed=-1: must be a whole number of at least 0"),
        (["baldoni", "--level", "full"], "--level full: must come with --log FILE"),
        (["baldoni", "--log", "x.parquet", "--level", "ful"], "unknown log level 'ful'; did you mean 'full'?"),
        (
            ["baldoni", "--log", "no/such/x.parquet"],
            "cannot write the log no/such/x.parquet: there is no folder no/such",
        ),
        (["baldoni", "--log", "."], "cannot write the log .: it is not a file"),
    ],
)
@pytest.mark.parametrize("json_too", [False, True])
def test_wrong_input_is_one_line_status_2_and_nothing_written(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str, json_too: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = roamcast("run", *words, *(["--json"] if json_too else []))
    assert (status, out) == (2, "")
    assert err.startswith(f"roamcast: {line}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_wrong_input_leaves_an_older_log_alone(roamcast: Typed, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_text("older")
    status, _, _ = roamcast(*WORDS, "--set", "p=7", "--log", str(path))
    assert (status, path.read_text()) == (2, "older")


# ---- how it is shown


@dataclass
class FakeResult:
    metrics: dict[str, Any] = field(default_factory=dict)
    fingerprint: str = "f00d"
    wall_s: float = 0.5
    sim_s: float = 10.0


def nothing_delivered() -> dict[str, Any]:
    zeros = ("deliveries", "interested", "frames_sent", "bytes_sent", "receptions", "losses", "collisions")
    more = ("duplicates", "parasites", "memory_entries", "memory_bytes")
    unknown = {"delivery": math.nan, "of_possible": None, "overhead": math.inf, "latency_p50_s": None}
    return {
        **dict.fromkeys((*zeros, *more), 0),
        **unknown,
        "latency_p95_s": math.nan,
        "energy_j": 1.5,
        "reasons": {},
        "deterministic_hops": 0.25,
    }


def simulation(**world: Any) -> Simulation:
    result: Any = FakeResult(nothing_delivered())
    return Simulation(
        preset="li",
        reading="",
        protocol="my mod:X",
        params={"p": 1.0},
        given={"mode": "a b"},
        world=world,
        scenario=Scenario(nodes=10),
        seed=4,
        result=result,
        _protocol="my mod:X",
        _log=None,
    )


def test_what_is_not_known_is_null_in_json_and_a_dash_for_people() -> None:
    run = json.loads(outcome.as_json(simulation()))
    assert [run[k] for k in ("delivery", "of_possible", "overhead", "latency_p95_s")] == [None] * 4
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    outcome.show(simulation(), console)
    lines = console.export_text().splitlines()
    assert lines[0].split() == ["delivery", "–", "0", "of", "0", "(event,", "interested)", "pairs"]
    assert "25.0 %" in next(line for line in lines if line.startswith("deterministic"))
    assert not any(line.startswith("reception ") for line in lines)


def test_reception_is_shown_where_publishers_subscribe(capsys: pytest.CaptureFixture[str]) -> None:
    shown = simulation()
    shown.result.metrics.update(own=3, reception=0.75)
    outcome.show(shown)
    assert "75.0 %" in next(line for line in capsys.readouterr().out.splitlines() if line.startswith("reception "))


def test_the_command_to_repeat_a_run_is_quoted_for_a_shell() -> None:
    command = simulation(nodes=9, keep_tables=True, range_m=0.1, mac="dcf").command
    assert shlex.split(command) == [
        *("roamcast", "run", "li", "--protocol", "my mod:X", "--set", "mode=a b", "--world", "nodes=9"),
        *("--world", "keep_tables=true", "--world", "range_m=0.1", "--world", "mac=dcf", "--seed", "4"),
    ]


def test_no_bar_where_nobody_watches(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roamcast.cli.progress.QUIET_S", 0.0)
    with Progress("a run") as progress:
        progress.update(0.5)
    assert capsys.readouterr() == ("", "")


def test_a_long_run_shows_a_bar_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roamcast.cli.progress.QUIET_S", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Progress("a run") as progress:
        progress.update(0.5)
    out, err = capsys.readouterr()
    assert out == ""
    assert "a run" in err


# ---- scenario files

FILE = """\
preset = "baldoni"
protocol = "gossip"
seed = 5
set = { p = 0.7 }
[world]
nodes = 30
duration_s = 4
publish_from_s = 1
rate_hz = 5
range_m = 200
"""


def test_a_scenario_file_is_run_as_its_preset_with_its_changes(roamcast: Typed, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(FILE)
    run = facts(roamcast("run", str(file), "--json"))
    assert (run["preset"], run["protocol"], run["seed"], run["params"]["p"]) == (str(file), "gossip", 5, 0.7)
    typed = facts(roamcast(*WORDS, "--set", "p=0.7", "--seed", "5", "--json"))
    assert run["fingerprint"] == typed["fingerprint"]


def test_what_is_typed_wins_over_the_file_and_the_command_shows_the_run_again(roamcast: Typed, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(FILE)
    words = ["run", str(file), "--seed", "1", "--set", "p=0.9", "--world", "nodes=40"]
    out = roamcast(*words)[1]
    again = facts(roamcast(*shlex.split(out.splitlines()[-1])[1:], "--json"))
    assert (again["seed"], again["params"]["p"], again["nodes"]) == (1, 0.9, 40)
    assert again["fingerprint"] in out


def test_a_file_without_a_protocol_needs_a_typed_one(roamcast: Typed, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("[world]\nnodes = 30\nduration_s = 2\n")
    status, out, err = roamcast("run", str(file))
    assert (status, out) == (2, "")
    assert err == f'roamcast: {file} names no protocol: type --protocol NAME, or write protocol = "NAME" into it\n'
    assert facts(roamcast("run", str(file), "--protocol", "gossip", "--json"))["nodes"] == 30


def test_without_preset_and_file_the_scenarios_defaults_are_run(roamcast: Typed) -> None:
    out = roamcast("run", "--protocol", "gossip", "--world", "nodes=20", "--world", "duration_s=2")[1]
    assert out.splitlines()[-1] == "roamcast run --protocol gossip --world nodes=20 --world duration_s=2.0 --seed 1"


def test_a_class_in_the_current_folder_is_a_part_of_the_world(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lanes_mod.py").write_text("from tests.world.outside import Shuttle\nclass Lanes(Shuttle):\n    pass\n")
    monkeypatch.chdir(tmp_path)
    words = [*WORDS, "--world", "mobility=lanes_mod:Lanes"]
    out = roamcast(*words, "--world", "mobility.lanes=2")[1]
    assert "--world mobility=lanes_mod:Lanes --world mobility.lanes=2" in out.splitlines()[-1]
    two = facts(roamcast(*words, "--world", "mobility.lanes=2", "--json"))
    assert two["world"]["mobility.lanes"] == 2
    assert two["fingerprint"] in out
    assert two["fingerprint"] != facts(roamcast(*words, "--json"))["fingerprint"]
