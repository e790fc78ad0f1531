"""compare, sweep and league: typed as people type them, against the same runs from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import roamcast as rc
from roamcast.judging import settings
from roamcast.papers import experiments
from tests.cli.conftest import OneLine, Typed

SHORT = ["--world", "duration_s=20", "--world", "nodes=40"]
WORLD = {"duration_s": 20, "nodes": 40}


def test_protocols_are_compared_seed_by_seed(roamcast: Typed) -> None:
    status, out, err = roamcast("compare", "baldoni", "gossip", "gossip,p=0.9", *SHORT, "--seeds", "3")
    assert (status, err) == (0, "")
    study = rc.compare("baldoni", ["gossip", ("gossip", {"p": 0.9})], seeds=3, world=WORLD)
    (row,) = study.compared("delivery")
    assert f"{row['difference']:.3f} ± {row['half_width']:.3f}" in out
    assert "gossip, p=0.9 − gossip" in out
    assert max(map(len, out.splitlines())) <= 100


def test_json_has_every_run(roamcast: Typed) -> None:
    status, out, err = roamcast("compare", "baldoni", "gossip", "managed", *SHORT, "--seeds", "2", "--json")
    facts = json.loads(out)
    assert (status, err) == (0, "")
    assert [(row["label"], row["seed"]) for row in facts["runs"]] == [
        *[("gossip", 1), ("gossip", 2), ("managed", 1), ("managed", 2)]
    ]
    assert {row["metric"] for row in facts["differences"]} == {"delivery"} and facts["summary"]


def test_a_sweep_takes_parameters_and_fields(roamcast: Typed) -> None:
    words = ["sweep", "baldoni", "gossip", "p=0.2,1.0", "nodes=30,40", "--world", "duration_s=20", "--seeds", "1"]
    status, out, _ = roamcast(*words, "--json")
    facts = json.loads(out)
    assert status == 0
    assert [(row["p_p"], row["w_nodes"]) for row in facts["runs"]] == [*[(0.2, 30), (1.0, 30), (0.2, 40), (1.0, 40)]]


def test_a_figure_and_tables_are_kept_where_they_are_wanted(roamcast: Typed, tmp_path: Path) -> None:
    figure, out = tmp_path / "new" / "figure.svg", tmp_path / "study"
    words = [
        "sweep",
        "baldoni",
        "gossip",
        "p=0.2,1.0",
        *SHORT,
        "--seeds",
        "2",
        "--plot",
        str(figure),
        "--out",
        str(out),
    ]
    status, shown, _ = roamcast(*words)
    assert status == 0 and f"tables are in {out}; roamcast report {out} draws them" in shown
    assert figure.read_text().lstrip().startswith("<?xml") and "<svg" in figure.read_text()
    assert rc.open(out).arrow("metrics").num_rows == 4


def test_a_figure_that_cannot_be_written_is_one_line(roamcast: Typed, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "figure.svg"
    status, _, err = roamcast("compare", "baldoni", "gossip", *SHORT, "--seeds", "1", "--plot", str(place))
    assert status == 2 and err.startswith(f"roamcast: --plot {place}: cannot be written (") and err.count("\n") == 1


def test_one_seed_has_no_interval(roamcast: Typed) -> None:
    status, out, _ = roamcast("compare", "baldoni", "gossip", "managed", *SHORT, "--seeds", "1")
    assert status == 0 and "±" not in out


def test_a_league_has_every_protocol_with_the_parameters_of_its_paper(roamcast: Typed) -> None:
    left = [word for name in _slow() for word in ("--without", name)]
    status, out, _ = roamcast("league", "baldoni", *left, "--with", "gossip,p=0.9", *SHORT, "--seeds", "1", "--json")
    runs = json.loads(out)["runs"]
    assert status == 0
    assert [row["label"] for row in runs] == ["gossip", "proximity", "gossip,p=0.9"]
    entered = {entrant.name: entrant.set for entrant in experiments.entrants()}
    (gossip,) = [row for row in runs if row["label"] == "gossip"]
    assert settings.params(gossip) == entered["gossip"]


def _slow() -> list[str]:
    return [entrant.name for entrant in experiments.entrants() if entrant.name not in ("proximity", "gossip")]


def test_a_protocol_of_this_folder_takes_part(roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_compared.py").write_text("from tests.api.test_simulation import Echo as Mine\n")
    status, out, _ = roamcast("compare", "baldoni", "managed", "mine_compared:Mine", *SHORT, "--seeds", "2")
    assert status == 0 and "Mine − managed" in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["compare", "baldoni"], "Missing argument 'PROTOCOL'."),
        (["compare", "baldony", "gossip"], "unknown preset 'baldony'; did you mean 'baldoni'?"),
        (["compare", "baldoni", "gosip"], "unknown protocol 'gosip'; did you mean 'gossip'?"),
        (["compare", "baldoni", "gossip,q=1"], "unknown gossip parameter 'q'; known: "),
        (["compare", "baldoni", "gossip,p"], "protocol 'gossip,p': parameter 'p': must be KEY=VALUE"),
        (["compare", "baldoni", "gossip", "--metric", "delivry"], "unknown metric 'delivry'; did you mean 'delivery'?"),
        (["compare", "baldoni", "gossip", "--plot", "x.doc"], "--plot x.doc: must end with .svg, .png, .pdf"),
        (["compare", "baldoni", "gossip", "--seeds", "0"], "--seeds: must be at least 1"),
        (["compare", "baldoni", "gossip", "--world", "nodez=1"], "unknown scenario field 'nodez'"),
        (["sweep", "baldoni", "gossip", "p"], "setting 'p': must be KEY=VALUE"),
        (["sweep", "baldoni", "gossip", "p=0.1,2"], "p=2: must be a number between 0 and 1"),
        (["sweep", "baldoni", "gossip", "pp=1,2"], "unknown parameter or scenario field 'pp'; did you mean 'p'?"),
        (["league", "baldoni", "--without", "gosip"], "unknown protocol of the league 'gosip'"),
        (["league", "none.toml"], "cannot read the scenario "),
    ],
)
def test_mistakes_are_one_line(one_line: OneLine, words: list[str], line: str) -> None:
    one_line(words, line)
