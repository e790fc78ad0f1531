"""The experiments and claims of 004: what there must be, and what a quick look at it may cost."""

from __future__ import annotations

import pytest

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import experiments

FIGURES = [f"li/fig{n}" for n in range(2, 7)]
IDS = ["L1", "L2", "L3", "L4", "L5a", "L5b"]
QUICK_RUNS = 250
QUICK_S = 70.0
"""As estimated; measured, such a look took 105 s of processor time: SubTree tells its filters all around."""


def quick() -> list[Campaign]:
    return campaigns_of(FIGURES, "quick")


def test_figures_share_their_runs() -> None:
    ids = {c.name: [run.id for run in plan.runs(c)] for c in quick()}
    assert ids["li/fig2"] == ids["li/fig3"]
    assert set(ids["li/fig2"]) & set(ids["li/fig4"])


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_everybody_publishes_and_subscribes_at_both_rates(scale: str) -> None:
    for campaign in campaigns_of(FIGURES, scale):
        assert {cell.scenario.rate_bps for cell in campaign.cells} == {1e6, 11e6}
        for cell in campaign.cells:
            assert cell.scenario.publishers == cell.scenario.subscribers == cell.scenario.nodes
            assert cell.scenario.rate_hz == 0.05  # Table 1


def test_three_to_one_is_a_quarter_local() -> None:
    (latency,) = (campaign for campaign in quick() if campaign.name == "li/fig6")
    assert {cell.scenario.local_share for cell in latency.cells} == {0.25, 0.75}
