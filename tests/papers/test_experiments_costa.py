"""The experiments and claims of Costa et al. 2005: which must exist, and how long a quick campaign may take."""

from __future__ import annotations

import pytest

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import experiments

FIGURES = ["costa/fig3", "costa/fig3-neighbours", *(f"costa/fig{n}" for n in range(4, 9))]
IDS = ["C1", "C2a", "C2b", "C3a", "C3c", "C3b", "C4a", "C4b", "C4c", "C5", "C6", "C7a", "C7b", "C8", "C9", "C10"]
QUICK_RUNS = 550
QUICK_S = 30.0
"""An estimate; a measured quick campaign took 35 s of processor time."""


def quick() -> list[Campaign]:
    return campaigns_of(FIGURES, "quick")


def test_figures_share_their_runs() -> None:
    ids = {c.name: [run.id for run in plan.runs(c)] for c in quick()}
    assert ids["costa/fig3"] == ids["costa/fig4"]
    assert set(ids["costa/fig3"]) & set(ids["costa/fig5"]) & set(ids["costa/fig6"])
    assert set(ids["costa/fig6"]) & set(ids["costa/fig7"]) & set(ids["costa/fig8"])


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_load_and_receivers_follow_the_number_of_nodes(scale: str) -> None:
    """§IV: 1 event/s for 100 nodes, 10 % receivers; with other shares of receivers 2 events/s in all (Table I)."""
    for campaign in campaigns_of(FIGURES, scale):
        for cell in campaign.cells:
            s = cell.scenario
            assert s.publishers * s.rate_hz == pytest.approx(s.nodes / 100, rel=1e-6)
            assert s.publishers + s.subscribers == s.nodes
            if campaign.name != "costa/fig5":
                assert s.subscribers == s.nodes / 10
