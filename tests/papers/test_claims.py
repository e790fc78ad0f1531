"""The experiments can answer the checks of every claim, at both scales.

Runs are invented here, one for each cell and a few seeds, so that every check can be made without simulating.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.judging import checks, settings
from roamcast.judging.checks import SELECTIONS
from roamcast.judging.runs import coordinate, number, samples, selected
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of, sensitivity_of
from roamcast.log.catalogue import AVERAGED
from roamcast.papers import claims, experiments
from roamcast.papers.experiments import PAPERS, SCALES, UNDER

FEW = 3
SHARES = ("delivery", "of_possible", "reception")
COUNTS = ("frames_by_kind", "losses_by_reason", "reasons")
OVER_AN_AXIS = ("trend", "steeper", "crossing", "bounds", "peak", "like", "jump", "no_best", "cheaper")
UNDECIDED = ("the interval reaches", "one run has no interval", "some seeds never", "never has this", "never is")

BY_PAPER = pytest.mark.parametrize("paper", PAPERS)


@cache
def campaign(experiment: str, scale: str) -> Campaign:
    return campaigns_of([experiment], scale)[0]


@cache
def runs(experiment: str, scale: str, seeds: int = FEW) -> list[dict[str, Any]]:
    return made_up(experiment, campaign(experiment, scale), seeds)


def made_up(experiment: str, chosen: Campaign, seeds: int = FEW) -> list[dict[str, Any]]:
    """A row of the metrics table for each cell and some seeds, with invented numbers that differ."""
    rows = []
    for place, cell in enumerate(chosen.cells):
        for seed in chosen.seeds[:seeds]:
            number = 1000 + 10 * place + seed % 10
            rows.append(
                {
                    **{name: number / (2000 if name in SHARES else 1) for name in AVERAGED},
                    **{name: {"event": number // 2, "beacon": 10} for name in COUNTS},
                    "warmup_frames": 0,
                    "warmup_bytes": 0,
                    "campaign": experiment,
                    "preset": chosen.preset,
                    "reading": chosen.reading,
                    "cell": place,
                    "protocol": cell.protocol,
                    "label": cell.label,
                    **settings.columns(cell.given, cell.world),
                    "seed": seed,
                    "nodes": cell.scenario.nodes,
                }
            )
    return rows


def checks_of(paper: str) -> list[tuple[str, dict[str, Any]]]:
    return [(claim.id, check) for claim in claims.load() if claim.paper == paper for check in claim.check]


@BY_PAPER
@pytest.mark.parametrize("scale", SCALES)
def test_every_experiment_is_a_campaign(paper: str, scale: str) -> None:
    names = experiments.names([paper])
    assert names
    for name in names:
        assert campaign(name, scale).cells
        experiment = experiments.load(name)
        assert experiment.paper == paper
        assert experiment.figure.startswith(("Fig. ", "Table "))
        assert experiment.plot


@BY_PAPER
def test_plots_show_what_the_runs_have(paper: str) -> None:
    for name in experiments.names([paper]):
        for plot in experiments.load(name).plot:
            for scale in SCALES:
                shown = selected(runs(name, scale), plot.where)
                samples(shown, plot.y)
                assert any(coordinate(row, plot.x) is not None for row in shown), (name, plot.x)
                assert any(coordinate(row, plot.series) is not None for row in shown), (name, plot.series)


@BY_PAPER
def test_quick_has_only_experiments_and_seeds_that_full_has(paper: str) -> None:
    """Quick has less than full: never an experiment or a seed that full does not have."""
    for name in experiments.names([paper]):
        quick, full = campaign(name, "quick"), campaign(name, "full")
        assert len(quick.seeds) <= len(full.seeds)
        assert len(quick.cells) <= len(full.cells)
        assert {cell.label for cell in quick.cells} <= {cell.label for cell in full.cells}


@BY_PAPER
def test_claims_name_their_place_and_have_checks(paper: str) -> None:
    own = [claim for claim in claims.load() if claim.paper == paper]
    assert own
    for claim in own:
        assert claim.says and claim.published and claim.where, claim.id
        assert claim.check, claim.id
        assert set(claim.evidence) <= set(experiments.names([paper])), claim.id
        assert claim.most_seeds >= 0, claim.id


@BY_PAPER
def test_every_check_finds_its_runs_under_every_other_reading(paper: str) -> None:
    experiments = dict.fromkeys(name for claim in claims.load() if claim.paper == paper for name in claim.experiments())
    rows = {under.name: made_up(under.name, under) for under in sensitivity_of(list(experiments))}
    for claim in (claim for claim in claims.load() if claim.paper == paper):
        for check in claim.check:
            for name, chosen in rows.items():
                if name.partition(UNDER)[0] == check.get("experiment"):
                    for selection in (part for part in SELECTIONS if part in check):
                        assert selected(chosen, check[selection]), (claim.id, name)


@BY_PAPER
def test_every_check_finds_its_runs(paper: str) -> None:
    for id, check in checks_of(paper):
        assert check["kind"] in checks.KINDS, id
        if "experiment" not in check:
            assert check["kind"] == "model", id
            continue
        assert check["experiment"] in experiments.names([paper]), (id, check["experiment"])
        rows = runs(check["experiment"], "full")
        for selection in SELECTIONS:
            if selection in check:
                chosen = selected(rows, check[selection])
                if check["kind"] in OVER_AN_AXIS:
                    axis = check.get("to_x", check["x"]) if selection == "to" else check["x"]
                    assert len({number(row, axis) for row in chosen}) > 1, (id, check)


@BY_PAPER
def test_every_check_can_be_answered(paper: str) -> None:
    """Nothing is missing for an answer, except that runs may be too few, or a curve may not reach a value."""
    for id, check in checks_of(paper):
        if check["kind"] == "model":
            continue  # exact, the same at every scale: tests/papers/test_models.py
        seeds = 1000 if check["kind"] == "spread" else FEW  # a spread between seeds needs many of them
        for answer in checks.answers(check, runs(check["experiment"], "full", seeds)):
            undecided = any(some in answer.why for some in UNDECIDED)
            assert answer.holds is not None or undecided, (id, answer.asks, answer.why)


@BY_PAPER
def test_a_quick_run_can_answer_most_claims(paper: str) -> None:
    """It may leave out points, and with them a question, but few of a paper's claims."""
    own = [claim for claim in claims.load() if claim.paper == paper]
    answered = [claim for claim in own if any(_answered_quickly(check) for check in claim.check)]
    assert len(answered) >= 0.7 * len(own)


def _answered_quickly(check: dict[str, Any]) -> bool:
    if "experiment" not in check:
        return True
    seeds = 1000 if check["kind"] == "spread" else FEW
    answers = checks.answers(check, runs(check["experiment"], "quick", seeds))
    return any(answer.measured is not None for answer in answers)


def test_claims_are_in_the_order_of_the_papers() -> None:
    papers = [claim.paper for claim in claims.load()]
    assert list(dict.fromkeys(papers)) == list(PAPERS)
    assert papers == sorted(papers, key=list(PAPERS).index)


def test_split_claims_name_the_original_claim() -> None:
    known = {claim.id: claim for claim in claims.load()}
    for claim in known.values():
        assert not claim.part_of or not (known[claim.part_of].part_of or known[claim.part_of].added), claim.id
        assert not (claim.part_of and claim.added), claim.id
    assert sum(not claim.part_of and not claim.added for claim in known.values()) == 82


def test_a_claim_that_occurs_twice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    once = claims.load()
    monkeypatch.setattr(claims, "parse", lambda *_: list(once[:1]))
    with pytest.raises(InputError, match=f"{once[0].id} occurs twice"):
        claims.load.__wrapped__()
