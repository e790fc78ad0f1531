"""From answers to verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from roamcast.lab import judge
from roamcast.papers.claims import Claim, Reading
from tests.lab.test_checks import noise, runs

ROWS = {"fig": runs("a", lambda s: 0.7 + noise(s)) + runs("b", lambda s: 0.9 + noise(s))}


def check(label: str, value: float, experiment: str = "fig") -> dict[str, Any]:
    where = {"label": label}
    return {
        "kind": "value",
        "experiment": experiment,
        "metric": "delivery",
        "where": where,
        "value": value,
        "abs": 0.05,
    }


def claim(*readings: list[dict[str, Any]], caveat: str = "") -> Claim:
    named = [Reading(checks, f"reading {k}") for k, checks in enumerate(readings)]
    return Claim("X1", "000", "§1", "it delivers", "0.70", named, caveat)


def test_a_claim_is_reproduced_if_all_checks_of_the_first_reading_hold() -> None:
    assert judge.judge(claim([check("a", 0.7), check("b", 0.9)]), ROWS).verdict == "reproduced"
    found = judge.judge(claim([check("a", 0.7), check("b", 0.7)]), ROWS)
    assert found.verdict == "not reproduced"
    assert round(found.measured or 0, 1) == 0.9  # the one that decided
    assert found.low is not None and found.low < (found.measured or 0) < (found.high or 0)


def test_another_reading_that_holds_is_named() -> None:
    found = judge.judge(claim([check("a", 0.2)], [check("a", 0.7)]), ROWS)
    assert found.verdict == "reproduced under another reading"
    assert "holds if reading 1" in found.why
    assert [reading.holds for reading in found.readings] == [False, True]


def test_what_was_not_run_or_is_astride_is_not_decidable() -> None:
    assert judge.judge(claim([check("a", 0.7, "other")]), ROWS).why == "other: other was not run"
    assert judge.judge(claim([check("a", 0.75)]), ROWS).verdict == "not decidable"
    assert judge.judge(claim([check("a", 0.75), check("b", 0.1)]), ROWS).verdict == "not reproduced"


def test_more_questions_are_asked_more_carefully() -> None:
    once = judge.judge(claim([check("a", 0.7)]), ROWS).readings[0].answers[0]
    five = judge.judge(claim([check("a", 0.7)] * 5), ROWS).readings[0].answers[0]
    assert once.high is not None and five.high is not None
    assert five.high > once.high


def test_other_readings_share_the_error_that_the_first_one_has_to_itself() -> None:
    alone = judge.judge(claim([check("a", 0.7)], [check("a", 0.7)]), ROWS).readings
    crowded = judge.judge(claim([check("a", 0.7)], *([check("a", 0.7)] for _ in range(5))), ROWS).readings
    assert crowded[0].answers == alone[0].answers == alone[1].answers
    wider, usual = crowded[1].answers[0], alone[1].answers[0]
    assert wider.high is not None and usual.high is not None and wider.high > usual.high


def test_the_scorecard_is_written_the_same_every_time(tmp_path: Path) -> None:
    verdicts = judge.scorecard([claim([check("a", 0.7)], caveat="the map is ours")], ROWS)
    judge.write(verdicts, tmp_path)
    first = [(tmp_path / name).read_bytes() for name in ("scorecard.json", "scorecard.parquet")]
    judge.write(judge.scorecard([claim([check("a", 0.7)], caveat="the map is ours")], ROWS), tmp_path)
    assert [(tmp_path / name).read_bytes() for name in ("scorecard.json", "scorecard.parquet")] == first
    assert json.loads(first[0])[0]["why"] == "the map is ours"
    row = pq.read_table(tmp_path / "scorecard.parquet").to_pylist()[0]
    assert (row["id"], row["verdict"]) == ("X1", "reproduced")
    assert json.loads(row["readings"])[0]["holds"] is True
