"""The experiments and claims of 000: what there must be, and what a quick look at it may cost."""

from __future__ import annotations

import pytest

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import experiments

FIGURES = [f"baldoni/fig{n}" for n in range(11, 18)]
"""Fig. 9 is the model's (papers/distance_model.py): there is nothing to simulate."""
IDS = [f"B{n}" for n in range(1, 15)]
QUICK_RUNS = 1000
QUICK_S = 125.0
"""As estimated; measured, such a look took 60 s of processor time."""


def quick() -> dict[str, Campaign]:
    return {campaign.name: campaign for campaign in campaigns_of(FIGURES, "quick")}


def test_figures_share_their_runs() -> None:
    ids = {name: {run.id for run in plan.runs(campaign)} for name, campaign in quick().items()}
    assert ids["baldoni/fig11"] < ids["baldoni/fig12"]
    assert ids["baldoni/fig12"] & ids["baldoni/fig17"]


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_whoever_beacons_proximity_runs_in_the_same_worlds(scale: str) -> None:
    """R6: both readings, so that claims can be judged under each."""
    for campaign in campaigns_of([name for name in FIGURES if name != "baldoni/fig11"], scale):
        worlds = {
            who: [
                ({**cell.params, "beaconers": ""}, cell.world)
                for cell in campaign.cells
                if cell.protocol == "proximity" and cell.params["beaconers"] == who
            ]
            for who in ("all", "subscribers")
        }
        assert worlds["all"]
        assert all(one in worlds["subscribers"] for one in worlds["all"])
        assert len(worlds["all"]) == len(worlds["subscribers"])


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
def test_axes_reach_as_far_as_the_paper_does(scale: str) -> None:
    by_name = dict(zip(FIGURES, campaigns_of(FIGURES, scale), strict=True))

    def ends(name: str, field: str) -> tuple[float, float]:
        values = [float(getattr(cell.scenario, field)) for cell in by_name[f"baldoni/{name}"].cells]
        return min(values), max(values)

    assert ends("fig13", "subscribers") == (5, 50)
    assert ends("fig14", "rate_hz") == (0.5, 10)
    assert ends("fig15", "speed_max_mps") == ends("fig15", "speed_min_mps") == (2, 40)
    assert ends("fig16", "nodes") == (100, 500)
    assert ends("fig17", "nodes") == (50, 300)
    assert {cell.params["beacon_interval_s"] for cell in by_name["baldoni/fig15"].cells} == {2.0, 4.0, 6.0}
    credits = {c.params["credits"] for c in by_name["baldoni/fig12"].cells if c.protocol == "proximity"}
    assert credits == set(range(6))
    assert {c.params["p"] for c in by_name["baldoni/fig11"].cells} == {n / 10 for n in range(1, 11)}
