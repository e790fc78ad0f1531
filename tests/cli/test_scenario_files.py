"""A scenario file can stand wherever a preset can: in every verb, and in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import roamcast as rc
from tests.cli.conftest import Typed

FILE = """\
title = "people who met"
protocol = "gossip"
seed = 5
set = { p = 0.7 }
[world]
nodes = 12
subscribers = 6
duration_s = 30
rate_hz = 0.5
mobility = "contacts"
trace = "met.txt"
"""
MET = "".join(f"{3 * k} {a} {b}\n" for k, (a, b) in enumerate([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A scenario file in a folder that is not the current one, with a trace beside it."""
    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "met.toml").write_text(FILE)
    (tmp_path / "worlds" / "met.txt").write_text(MET)
    monkeypatch.chdir(tmp_path)
    return "worlds/met.toml"


def facts(typed: tuple[int, str, str]) -> dict[str, Any]:
    status, out, err = typed
    assert status == 0, err
    output: dict[str, Any] = json.loads(out)
    return output


def test_run(roamcast: Typed, file: str) -> None:
    run = facts(roamcast("run", file, "--json"))
    assert (run["preset"], run["protocol"], run["seed"], run["params"]["p"]) == (file, "gossip", 5, 0.7)
    typed = [f"--world={line.replace(' ', '')}" for line in FILE.partition("[world]\n")[2].splitlines()]
    words = [word.replace('"', "").replace("met.txt", "worlds/met.txt") for word in typed]
    again = facts(roamcast("run", "--protocol", "gossip", "--set", "p=0.7", "--seed", "5", *words, "--json"))
    assert run["fingerprint"] == again["fingerprint"]


def test_simulate(roamcast: Typed, file: str) -> None:
    run = facts(roamcast("run", file, "--json"))["fingerprint"]
    assert rc.simulate(file).fingerprint == run
    assert rc.simulate(Path(file)).fingerprint == run
    assert rc.simulate(file, "counter", seed=1).params != rc.simulate(file).params


def test_compare(roamcast: Typed, file: str) -> None:
    """Seeds are 1, 2, …; the parameters in the file are those of its protocol."""
    runs = facts(roamcast("compare", file, "gossip", "counter", "--seeds", "2", "--json"))["runs"]
    assert [(row["protocol"], row["seed"]) for row in runs] == [(p, s) for p in ("gossip", "counter") for s in (1, 2)]
    assert runs[0]["fingerprint"] == rc.simulate(file, seed=1).fingerprint
    assert runs[2]["fingerprint"] == rc.simulate(file, "counter", seed=1).fingerprint


def test_sweep(roamcast: Typed, file: str) -> None:
    runs = facts(roamcast("sweep", file, "gossip", "p=0.2,0.7", "--seeds", "1", "--json"))["runs"]
    assert [row["p_p"] for row in runs] == [0.2, 0.7]
    assert runs[1]["fingerprint"] == rc.simulate(file, seed=1).fingerprint


def test_league(roamcast: Typed, file: str) -> None:
    runs = facts(roamcast("league", file, "--seeds", "1", "--world", "duration_s=5", "--json"))["runs"]
    assert {"gossip", "proximity", "frugal", "psamanet", "treegroup"} <= {row["protocol"] for row in runs}
    assert {row["nodes"] for row in runs} == {12}


def test_presets_shows_its_values_and_their_sources(roamcast: Typed, file: str) -> None:
    out = roamcast("presets", file)[1]
    assert out.splitlines()[:2] == ["people who met", "protocol: gossip"]
    assert ["nodes", "12", file] in [line.split() for line in out.splitlines()]
    assert ["gossip.p", "0.7", file] in [line.split() for line in out.splitlines()]
    shown = facts(roamcast("presets", file, "--json"))
    assert (shown["values"]["nodes"], shown["sources"]["gossip.p"], shown["readings"]) == (12, file, {})


def test_a_campaign_on_this_machine_starts_from_it(roamcast: Typed, file: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f'name = "c"\npreset = "{file}"\nseeds = [5]\n[[protocol]]\nname = "gossip"\n')
    status, out, _ = roamcast("campaign", "run", "c.toml", "--local", "--processes", "1")
    assert status == 0
    assert out.startswith("all cells: met.toml, gossip, 1 run each")
    (row,) = rc.open("out/c").rows("metrics")
    assert row["fingerprint"] == rc.simulate(file).fingerprint
    assert row["preset"] == str(tmp_path / file)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{}"),
        ("compare", "{}", "gossip", "counter"),
        ("sweep", "{}", "gossip", "p=0.1,0.2"),
        ("league", "{}"),
        ("presets", "{}"),
    ],
)
def test_a_mistake_in_it_is_one_line_in_every_verb(roamcast: Typed, file: str, words: tuple[str, ...]) -> None:
    Path(file).write_text(FILE.replace("nodes = 12", "nodez = 12"))
    status, out, err = roamcast(*(word.format(file) for word in words))
    assert (status, out) == (2, "")
    assert err.endswith("met.toml:6: unknown scenario field 'nodez'; did you mean 'nodes'?\n")
    assert err.count("\n") == 1
    status, out, err = roamcast(*(word.format("none.toml") for word in words))
    assert (status, out) == (2, "")
    assert err.endswith("none.toml: no such file or directory\n")


def test_a_trace_that_is_missing_is_reported_before_anything_runs(roamcast: Typed, file: str) -> None:
    Path("worlds/met.txt").unlink()
    assert roamcast("run", file) == (2, "", "roamcast: met.toml:11: trace=met.txt: there is no such file\n")


def test_a_typed_file_is_relative_to_the_current_folder(roamcast: Typed, file: str) -> None:
    Path("worlds/met.txt").rename("elsewhere.txt")
    Path(file).write_text(FILE.replace('trace = "met.txt"', 'trace = "../elsewhere.txt"'))
    run = facts(roamcast("run", file, "--json"))
    assert facts(roamcast("run", file, "--world", "trace=elsewhere.txt", "--json"))["fingerprint"] == run["fingerprint"]


def test_a_class_in_the_current_folder_is_found(roamcast: Typed, file: str, tmp_path: Path) -> None:
    (tmp_path / "quay_wall.py").write_text("from roamcast.parts import Radio\nclass Wall(Radio):\n    pass\n")
    Path(file).write_text('protocol = "gossip"\n[world]\nradio = "quay_wall:Wall"\n')
    for words in (["presets", file], ["fields", "radio=quay_wall:Wall"]):
        status, out, err = roamcast(*words)
        assert (status, err) == (0, "")
        assert "quay_wall:Wall" in out
