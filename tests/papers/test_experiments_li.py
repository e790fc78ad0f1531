"""The experiments and claims of Li et al. 2013: which must exist, and how long a quick campaign may take."""

from __future__ import annotations

import pytest

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import claims, experiments

FIGURES = [f"li/fig{n}" for n in range(2, 7)]
IDS = ["L1", "L2", "L3", "L4", "L5a", "L5b", "L5c", "L5d"]
QUICK_RUNS = 250
QUICK_S = 70.0
"""An estimate; a measured quick campaign took 105 s of processor time, because SubTree advertises filters
everywhere."""


def quick() -> list[Campaign]:
    return campaigns_of(FIGURES, "quick")


def test_figures_share_their_runs() -> None:
    ids = {c.name: [run.id for run in plan.runs(c)] for c in quick()}
    assert ids["li/fig2"] == ids["li/fig3"]
    assert set(ids["li/fig2"]) & set(ids["li/fig4"])


def test_the_routing_state_is_that_of_the_runs_for_latency() -> None:
    for scale in experiments.SCALES:
        ids = {c.name: {run.id for run in plan.runs(c)} for c in campaigns_of(FIGURES, scale)}
        assert ids["li/fig5"] < ids["li/fig6"]


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_every_node_publishes_and_subscribes(scale: str) -> None:
    for campaign in campaigns_of(FIGURES, scale):
        for cell in campaign.cells:
            assert cell.scenario.publishers == cell.scenario.subscribers == cell.scenario.nodes
            assert cell.scenario.rate_hz == 0.05  # Table 1


def test_three_to_one_is_a_quarter_local() -> None:
    (latency,) = (campaign for campaign in quick() if campaign.name == "li/fig6")
    assert {cell.scenario.local_share for cell in latency.cells} == {0.25, 0.75}
    assert {cell.scenario.local_of for cell in latency.cells} == {"notifications"}


def test_nothing_is_claimed_about_delivery_at_rest() -> None:
    """§4.2 is about very dynamic networks; the figure has a point at rest, but no check uses it."""
    (delivery,) = (claim for claim in claims.load() if claim.id == "L1")
    for check in delivery.check:
        for side in ("above", "below", "of", "to"):
            assert "0" not in check.get(side, {}).get("speed_max_mps", ["0"] if side in check else [])
    assert 0.0 in {cell.scenario.speed_max_mps for cell in campaigns_of(["li/fig2"], "full")[0].cells}
