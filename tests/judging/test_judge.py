"""From answers to verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from roamcast.judging import judge, verdicts
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, Verdict
from roamcast.papers.claims import Claim
from roamcast.papers.joint import Change, Joint, Part
from tests.judging.test_checks import noise, runs

FIG = "baldoni/fig11"
RUNS = {FIG: runs("a", lambda s: 0.7 + noise(s)) + runs("b", lambda s: 0.9 + noise(s))}
BACK = Change("all-beacon", "all beacon", params={"proximity": {"beaconers": "all"}})
COUNTED = Change("publisher-out", "the publisher does not count", metrics={"delivery": "overhead"})
JOINT = Joint("baldoni", ["X1"], "on one claim", [Part("few-beacon", "few beacon", "the sum", BACK)], [COUNTED])


def check(label: str, value: float, experiment: str = FIG) -> dict[str, Any]:
    where = {"label": label}
    return {
        "kind": "value",
        "experiment": experiment,
        "metric": "delivery",
        "where": where,
        "value": value,
        "abs": 0.05,
    }


def claim(*checks: dict[str, Any], **known: Any) -> Claim:
    return Claim("X1", "baldoni", "§1", "it delivers", "0.70", list(checks), **known)


def judged(*checks: dict[str, Any], measured: judge.Runs = RUNS, **known: Any) -> Verdict:
    return judge.judge(claim(*checks, **known), measured, JOINT)


def test_a_claim_is_reproduced_if_all_its_checks_hold() -> None:
    assert judged(check("a", 0.7), check("b", 0.9)).verdict == REPRODUCED
    verdict = judged(check("a", 0.7), check("b", 0.7))
    assert verdict.verdict == NOT
    assert round(verdict.measured or 0, 1) == 0.9  # the answer that decided
    assert verdict.low is not None and verdict.low < (verdict.measured or 0) < (verdict.high or 0)
    assert verdict.seeds == 10


def test_a_check_that_was_not_run_or_crosses_a_limit_is_not_decidable() -> None:
    assert judged(check("a", 0.7, "other")).why == "other: other was not run"
    assert judged(check("a", 0.75)).verdict == OPEN
    assert judged(check("a", 0.75), check("b", 0.1)).verdict == NOT


def test_an_undecided_claim_states_how_many_seeds_would_decide() -> None:
    verdict = judged(check("a", 0.747))
    assert verdict.verdict == OPEN
    (answer,) = verdict.answers
    assert answer.needs is not None and answer.needs > answer.seeds
    assert f"about {answer.needs} seeds would tell" in verdict.why


def test_more_questions_need_more_confidence_for_each() -> None:
    once = judged(check("a", 0.7)).answers[0]
    five = judged(*[check("a", 0.7)] * 5).answers[0]
    assert once.high is not None and five.high is not None
    assert five.high > once.high


def test_a_cause_is_given_only_for_a_claim_that_fails() -> None:
    assert judged(check("a", 0.7), cause="the map", caveat="ours").cause == ""
    verdict = judged(check("a", 0.1), cause="the map", caveat="ours")
    assert (verdict.cause, verdict.caveat) == ("the map", "ours")
    assert verdict.evidence == [FIG]
    assert judged(check("a", 0.1), evidence=["fig9"]).evidence == ["fig9"]


def test_a_verdict_records_whether_its_reading_was_chosen_on_it() -> None:
    assert judged(check("a", 0.7)).calibration
    assert judged(check("a", 0.7)).reading == "few-beacon"
    elsewhere = Claim("X2", "baldoni", "§1", "it delivers", "0.70", [check("a", 0.7)])
    assert not judge.judge(elsewhere, RUNS, JOINT).calibration


def test_other_readings_do_not_change_the_verdict_and_are_listed() -> None:
    both = {**RUNS, f"{FIG}@all-beacon": runs("a", lambda s: 0.2 + noise(s))}
    verdict = judged(check("a", 0.7), measured=both)
    assert verdict.verdict == REPRODUCED
    by_name = {other.reading: other for other in verdict.others}
    assert by_name["all-beacon"].verdict == NOT
    assert by_name["all-beacon"].part == "few-beacon"
    assert verdict.agreeing == 0
    other_way = judged(check("a", 0.2), measured=both)
    assert (other_way.verdict, other_way.agreeing) == (NOT, 1)


def test_a_reading_that_changes_nothing_for_a_claim_is_not_judged() -> None:
    verdict = judged(check("a", 0.7), measured={**RUNS, "elsewhere@all-beacon": []})
    assert [other.reading for other in verdict.others] == ["publisher-out"]


def test_a_reading_may_use_other_metrics_without_new_runs() -> None:
    counted = [{**run, "overhead": 0.3 + noise(run["seed"])} for run in RUNS[FIG]]
    verdict = judged(check("a", 0.7), measured={FIG: counted})
    assert [(other.reading, other.verdict, other.part) for other in verdict.others] == [("publisher-out", NOT, "")]


def under(change: Change, measured: judge.Runs, *checks: dict[str, Any]) -> list[str]:
    """The readings that a claim is judged under, if this is the only other one."""
    whole = Joint("baldoni", [], "on no claim", [], [change])
    return [other.reading for other in judge.judge(claim(*checks), measured, whole).others]


def test_a_reading_for_another_preset_changes_no_metrics_here() -> None:
    elsewhere = Change("c", "c", metrics={"delivery": "overhead"}, presets=["costa"])
    assert under(elsewhere, RUNS, check("a", 0.7)) == []
    assert under(Change("c", "c", metrics={"delivery": "overhead"}, presets=["baldoni"]), RUNS, check("a", 0.7)) == [
        "c"
    ]


def test_a_reading_that_needs_runs_is_not_judged_by_its_metrics_alone() -> None:
    both = Change("c", "c", world={"nodes": 50}, metrics={"delivery": "overhead"})
    assert under(both, RUNS, check("a", 0.7)) == []
    assert under(both, {**RUNS, f"{FIG}@c": RUNS[FIG]}, check("a", 0.7)) == ["c"]


def test_a_claim_is_not_judged_in_a_mixture_of_worlds() -> None:
    other = "baldoni/fig12"
    measured = {**RUNS, other: RUNS[FIG], f"{FIG}@c": RUNS[FIG]}
    part = Change("c", "c", world={"nodes": 50}, experiments=[FIG])
    assert under(part, measured, check("a", 0.7)) == ["c"]
    assert under(part, measured, check("a", 0.7), check("a", 0.7, other)) == []


def test_the_scorecard_is_written_the_same_every_time(tmp_path: Path) -> None:
    def write() -> list[bytes]:
        verdicts.write([judged(check("a", 0.7), caveat="the map is ours")], "quick", tmp_path)
        return [(tmp_path / name).read_bytes() for name in ("scorecard.json", "scorecard.parquet")]

    first = write()
    assert write() == first
    whole = json.loads(first[0])
    assert whole["scale"] == "quick"
    assert whole["claims"][0]["caveat"] == "the map is ours"
    row = pq.read_table(tmp_path / "scorecard.parquet").to_pylist()[0]
    assert (row["id"], row["verdict"], row["calibration"], row["evidence"]) == ("X1", REPRODUCED, True, [FIG])
    assert json.loads(row["answers"])[0]["holds"] is True
