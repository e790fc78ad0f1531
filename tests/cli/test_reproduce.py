"""`roamcast reproduce`, on real Spark with experiments cut down to seconds: scorecard, page, and nothing done twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from roamcast.cli.reproduce import show
from roamcast.judging import kept
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED
from roamcast.lab.tables.folder import Folder
from roamcast.papers import experiments
from roamcast.papers.experiments import PAPERS, Experiment
from tests.cli.conftest import Typed
from tests.show.made_up import verdict

SMALL = {"nodes": 30, "duration_s": 14.0, "publish_from_s": 10.0}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two of the figures of Baldoni et al., with few nodes and two seeds."""
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
    output = json.loads(out)
    assert (output["out"], output["report"], output["scale"]) == ("out/reproduce/quick", "out/report.html", "quick")
    assert output["claims"] == claims


@pytest.fixture
def small_campaign(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same at full scale, with the other readings: one figure, three probabilities."""
    content = Experiment.content

    def cut(self: Experiment, scale: str) -> dict[str, Any]:
        gossip = {"name": "gossip", "label": "gossip", "set": {"p": [0.2, 0.5, 0.9]}}
        return {**content(self, scale), "protocol": [gossip]}

    def cut_under(self: Experiment, reading: str) -> dict[str, Any]:
        return {**self.content("full"), "name": f"{self.name}{experiments.UNDER}{reading}", "reading": reading}

    monkeypatch.setattr(experiments, "names", lambda _=None: ["baldoni/fig11"])
    monkeypatch.setattr(Experiment, "content", cut)
    monkeypatch.setattr(Experiment, "content_under", cut_under)


@pytest.mark.usefixtures("small_campaign", "spark")
def test_a_full_campaign_has_the_same_scorecard_to_the_byte_from_an_empty_folder_and_from_a_resumed_one(
    roamcast: Typed, tmp_path: Path
) -> None:
    def scorecard(out: str) -> tuple[int, bytes, bytes, list[dict[str, Any]]]:
        """How many runs were left to do, and what was found in three files."""
        status, _, err = roamcast("reproduce", "--full", "--out", out, "--keep", f"{out}.json")
        assert status == 0
        left = re.search(r"full: (\d+) of \d+ runs to do", err)
        assert left
        place = tmp_path / out / "full"
        stored = json.loads((tmp_path / f"{out}.json").read_text())
        files = [(place / f"scorecard.{ending}").read_bytes() for ending in ("json", "parquet")]
        return int(left[1]), files[0], files[1], stored["claims"]

    first = scorecard("first")
    second = scorecard("second")
    assert first == second and first[0] > 0

    shared = Folder(tmp_path / "second" / "shared")
    assert len(shared.finished()) > first[0]  # undecided claims got further seeds
    for ended in sorted((tmp_path / "second" / "shared" / "done").iterdir())[::2]:
        ended.unlink()
    resumed = scorecard("second")
    assert 0 < resumed[0] < first[0] and resumed[1:] == first[1:]


def test_options_that_contradict_each_other_are_refused_before_anything_starts(roamcast: Typed, tmp_path: Path) -> None:
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
    assert list(whole["counts"]["papers"]) == list(PAPERS)
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
    show(stored.claims, None, "out/report.html")
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
    show(stored.claims, msgspec.structs.replace(stored, claims=stored.claims[1:]), "out/report.html")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= 80 and lines[0].split()[-2:] == ["quick", "run"]
    assert lines[2].endswith("reproduced") and lines[3].endswith("same")
    assert lines[-1] == "published values, intervals, causes: out/report.html"


def test_a_quick_run_is_shown_beside_the_full_campaign_and_what_it_contradicts_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = [
        verdict("B3", "baldoni", REPRODUCED, calibration=True),
        verdict("B5", "baldoni", REPRODUCED),
        verdict("B6", "baldoni", NOT),
        verdict("B7", "baldoni", REPRODUCED),
    ]
    stored = kept.Kept(kept.Made("0.1.0", "0.1.0+abc", "2026-01-31", 12345, 600.0), kept.counted(before), before)
    now = [
        verdict("B3", "baldoni", REPRODUCED),
        verdict("B5", "baldoni", NOT),
        before[2],
        verdict("B7", "baldoni", OPEN),
    ]
    show(now, stored, "out/report.html")
    lines = capsys.readouterr().out.splitlines()
    assert "4 claims: 3 reproduced, 1 not reproduced, 0 not decidable (full campaign)" in lines
    assert "1 of the 1 claims that joint readings were chosen on hold, 2 of the other 3" in lines
    assert "full campaign of 2026-01-31: 12,345 runs, 10 processor minutes, version 0.1.0" in lines
    assert "this quick run beside it: 2 same, 1 too few runs, 0 decides it, 1 contradicts" in lines
    assert "this quick run contradicts the full campaign: B5" in lines


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
    assert status == 0 and "Costa et al. 2005" in out and "runs" in out
    assert json.loads(roamcast("reproduce", "costa", "--plan", "--json")[1])["papers"][0]["deciding_runs"] == 0


def test_a_file_where_the_results_belong_is_one_line(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("")
    status, out, err = roamcast("reproduce", "costa", "--out", "there")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1] == "roamcast: cannot write to there/quick: not a directory"
