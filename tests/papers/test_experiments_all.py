"""What all papers' experiments have in common; the file of each paper has its figures and its time limit."""

from __future__ import annotations

from types import ModuleType

import pytest

from roamcast.lab import plan
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import claims, experiments
from tests.papers import (
    test_experiments_baehni,
    test_experiments_baldoni,
    test_experiments_costa,
    test_experiments_li,
    test_experiments_rezende,
)

EXPECTED: dict[str, ModuleType] = {
    "baldoni": test_experiments_baldoni,
    "baehni": test_experiments_baehni,
    "costa": test_experiments_costa,
    "rezende": test_experiments_rezende,
    "li": test_experiments_li,
}
BY_PAPER = pytest.mark.parametrize("paper", experiments.PAPERS)


@BY_PAPER
def test_every_figure_of_the_evaluation_and_every_claim_exist(paper: str) -> None:
    assert experiments.names([paper]) == EXPECTED[paper].FIGURES
    assert [claim.id for claim in claims.load() if claim.paper == paper] == EXPECTED[paper].IDS


@BY_PAPER
@pytest.mark.parametrize("scale", experiments.SCALES)
def test_every_experiment_is_a_campaign(paper: str, scale: str) -> None:
    figures = EXPECTED[paper].FIGURES
    for name, campaign in zip(figures, campaigns_of(figures, scale), strict=True):
        assert campaign.name == name
        assert campaign.cells


@BY_PAPER
def test_a_quick_campaign_stays_within_its_time_limit(paper: str) -> None:
    campaigns = campaigns_of(EXPECTED[paper].FIGURES, "quick")
    runs = {run.id: run.cost_s for campaign in campaigns for run in plan.runs(campaign)}
    assert len(runs) <= EXPECTED[paper].QUICK_RUNS
    assert sum(runs.values()) <= EXPECTED[paper].QUICK_S
