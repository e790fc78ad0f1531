"""`roamcast reproduce`, on real Spark with experiments cut down to seconds: scorecard, page, and nothing done twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from roamcast.cli.reproduce import show
from roamcast.judging import kept
from roamcast.papers import experiments
from roamcast.papers.experiments import Experiment
from tests.cli.conftest import Typed

SMALL = {"nodes": 30, "duration_s": 14.0, "publish_from_s": 10.0}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two of the figures of 000, with few nodes and two seeds."""
    names, content = ["baldoni/fig11", "baldoni/fig12"], Experiment.content

    def cut(self: Experiment, scale: str) -> dict[str, Any]:
        whole = content(self, scale)
        return {**whole, "seeds": 2, "world": {**whole.get("world", {}), **SMALL}}

    monkeypatch.setattr(experiments, "names", lambda _=None: names)
    monkeypatch.setattr(Experiment, "content", cut)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("small", "spark")
def test_a_reproduction_leaves_a_scorecard_and_a_page_and_is_not_done_twice(roamcast: Typed, tmp_path: Path) -> None:
    status, out, err = roamcast("reproduce", "baldoni")
    assert status == 0
    assert "reproduce baldoni, quick: 32 of 32 runs to do" in err.splitlines()
    words = " ".join(out.split())
    assert "18 claims:" in words and "report: out/report.html" in words
    place = tmp_path / "out" / "reproduce" / "quick"
    first = (place / "scorecard.json").read_bytes()
    claims = json.loads(first)["claims"]
    assert [row["id"] for row in claims] == pq.read_table(place / "scorecard.parquet")["id"].to_pylist()
    by_id = {row["id"]: row for row in claims}
    assert by_id["B13"]["verdict"] == "not decidable"  # of a figure that was not run
    assert by_id["B4"]["measured"] is not None
    assert (place / "figures" / "baldoni-fig12-1.svg").exists() and (place / "figures" / "baldoni-fig12-1.png").exists()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "32 simulations" in page and "Scorecard" in page

    status, out, err = roamcast("reproduce", "baldoni", "--json")
    assert status == 0
    assert "reproduce baldoni, quick: 0 of 32 runs to do" in err.splitlines()
    assert (place / "scorecard.json").read_bytes() == first
    told = json.loads(out)
    assert (told["out"], told["report"], told["scale"]) == ("out/reproduce/quick", "out/report.html", "quick")
    assert told["claims"] == claims


def test_what_makes_no_sense_is_said_before_anything_starts(roamcast: Typed, tmp_path: Path) -> None:
    status, _, err = roamcast("reproduce", "--quick", "--full", "--out", str(tmp_path / "out"))
    assert (status, err) == (2, "roamcast: --quick and --full: must not be given together\n")
    status, _, err = roamcast("reproduce", "baldony", "--out", str(tmp_path / "out"))
    assert status == 2 and "unknown paper 'baldony'" in err and "baldoni" in err
    status, _, err = roamcast("reproduce", "--kept", "--full")
    assert status == 2 and "must not be given with --quick or --full" in err
    for words in ([], ["--full", "baldoni"]):
        status, _, err = roamcast("reproduce", *words, "--keep", "x.json")
        assert status == 2 and "only a full campaign is kept" in err
    assert not (tmp_path / "out").exists()


def test_the_kept_scorecard_is_one_object(roamcast: Typed) -> None:
    status, out, _ = roamcast("reproduce", "--kept", "--json")
    whole = json.loads(out)
    assert status == 0
    assert set(whole) == {"made", "counts", "claims"}
    assert {"version", "date", "runs"} <= set(whole["made"])
    needed = {"id", "paper", "verdict", "measured", "low", "high", "published", "calibration", "reading"}
    assert all(needed <= set(claim) for claim in whole["claims"])
    assert sum(whole["counts"]["all"].values()) == len(whole["claims"]) >= 82


def test_the_scorecard_fits_eighty_columns_and_says_where_the_rest_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stored = kept.load()
    assert stored is not None
    show(stored.claims, {}, "out/report.html")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= 80
    (first,) = [line for line in lines if line.startswith("B1 ")]
    assert first.split()[-2:] == ["0.556", "reproduced"] and "…" in first
    assert any(line.strip() == "Li et al. 2013" for line in lines)
    assert lines[-1] == "published values, intervals, causes: out/report.html"


def test_a_quick_run_stands_beside_the_kept_verdicts_in_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stored = kept.load()
    assert stored is not None
    show(stored.claims, {claim.id: claim for claim in stored.claims[1:]}, "out/report.html")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= 80 and lines[0].split()[-2:] == ["quick", "run"]
    assert lines[2].endswith("reproduced") and lines[3].endswith("same")
    assert lines[-1] == "published values, intervals, causes: out/report.html"


def test_the_kept_scorecard_of_one_paper(roamcast: Typed) -> None:
    status, out, _ = roamcast("reproduce", "rezende", "--kept")
    assert status == 0
    assert "R8a" in out and "B1 " not in out and "full campaign of" in out


def test_a_plan_says_what_a_reproduction_takes(roamcast: Typed) -> None:
    status, out, _ = roamcast("reproduce", "costa", "--full", "--plan", "--json")
    (costa,) = json.loads(out)["papers"]
    assert status == 0
    assert costa["paper"] == "costa" and costa["runs"] > 100 and costa["other_runs"] > 0 and costa["deciding_runs"] > 0
    status, out, _ = roamcast("reproduce", "costa", "--plan")
    assert status == 0 and "costa" in out and "runs" in out
    assert json.loads(roamcast("reproduce", "costa", "--plan", "--json")[1])["papers"][0]["deciding_runs"] == 0
