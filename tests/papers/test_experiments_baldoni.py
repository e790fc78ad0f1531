"""The experiments and claims of Baldoni et al. 2005: which must exist, and how long a quick campaign may take."""

from __future__ import annotations

import pytest

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import experiments, joint

FIGURES = [f"baldoni/fig{n}" for n in range(11, 18)]
"""Fig. 9 comes from the model (papers/distance_model.py): there is nothing to simulate."""
IDS = [*(f"B{n}" for n in range(1, 11)), "B10b", "B10c", "B11", "B12", "B12b", "B13", "B14", "B15"]
QUICK_RUNS = 1000
QUICK_S = 125.0
"""An estimate; a measured quick campaign took 60 s of processor time."""


def quick() -> dict[str, Campaign]:
    return {campaign.name: campaign for campaign in campaigns_of(FIGURES, "quick")}


def test_figures_share_their_runs() -> None:
    ids = {name: {run.id for run in plan.runs(campaign)} for name, campaign in quick().items()}
    assert ids["baldoni/fig11"] < ids["baldoni/fig12"]
    assert ids["baldoni/fig12"] & ids["baldoni/fig17"]


def test_experiments_leave_the_joint_reading_to_the_preset() -> None:
    """Otherwise changes of the reading would not apply to them."""
    changes = joint.load("baldoni").changes
    fields = {field for change in changes for field in change.world}
    names = {name for change in changes for params in change.params.values() for name in params}
    for campaign in campaigns_of(FIGURES, "full"):
        for cell in campaign.cells:
            assert not fields & cell.world.keys() and not names & cell.given.keys(), campaign.name


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_fig16_keeps_density_and_the_shares_of_subscribers_and_publishers(scale: str) -> None:
    (campaign,) = campaigns_of(["baldoni/fig16"], scale)
    sizes = {cell.scenario.nodes for cell in campaign.cells}
    assert {100, 300, 500} <= sizes
    for cell in campaign.cells:
        s = cell.scenario
        assert s.nodes / (s.width_m * s.height_m) == pytest.approx(100e-6, rel=1e-3)
        assert (s.subscribers, s.publishers, s.rate_hz) == (s.nodes // 10, s.nodes // 50, 0.5)


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_fig17_adds_subscribers_and_publishers_with_the_nodes(scale: str) -> None:
    for cell in campaigns_of(["baldoni/fig17"], scale)[0].cells:
        s = cell.scenario
        assert (s.width_m, s.height_m) == (1000.0, 1000.0)
        assert (s.subscribers, s.publishers, s.rate_hz) == (s.nodes // 10, s.nodes // 50, 0.5)


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_quick_runs_reach_as_far_as_full_ones(scale: str) -> None:
    by_name = dict(zip(FIGURES, campaigns_of(FIGURES, scale), strict=True))

    def ends(name: str, field: str) -> tuple[float, float]:
        values = [float(getattr(cell.scenario, field)) for cell in by_name[f"baldoni/{name}"].cells]
        return min(values), max(values)

    assert ends("fig13", "subscribers") == (5, 50)
    assert ends("fig14", "rate_hz") == (0.2, 10)
    assert ends("fig15", "speed_max_mps") == ends("fig15", "speed_min_mps") == (2, 40)
    assert ends("fig16", "nodes") == (100, 500)
    assert ends("fig17", "nodes") == (100, 300)
    assert {cell.params["beacon_interval_s"] for cell in by_name["baldoni/fig15"].cells} == {2.0, 4.0, 6.0}
    credits = {c.params["credits"] for c in by_name["baldoni/fig12"].cells if c.protocol == "proximity"}
    assert credits == set(range(6))
    assert {c.params["p"] for c in by_name["baldoni/fig11"].cells} == {n / 10 for n in range(1, 11)}
