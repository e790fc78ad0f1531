"""The experiments and claims of 003: what there must be, and what a quick look at it may cost."""

from __future__ import annotations

import msgspec
import pytest

from roamcast.lab import plan
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import experiments
from roamcast.pubsub.filters import Range
from roamcast.world.workload import NUMBERS, Workload

FIGURES = [
    *("rezende/fig1", "rezende/fig2", "rezende/fig3", "rezende/fig4"),
    *("rezende/table4", "rezende/table4-range", "rezende/table4-start"),
]
IDS = [f"R{n}{part}" for n in range(1, 9) for part in "ab"] + ["R9", "R10", "R11", "R12"]
TABLE_3 = {
    "I": (200, 10, 0.1),
    "II": (200, 10, 0.4),
    "III": (200, 10, 0.9),
    "IV": (300, 25, 0.2),
    "V": (300, 25, 0.4),
    "VI": (500, 50, 0.2),
    "VII": (500, 50, 0.4),
}
QUICK_RUNS = 200
QUICK_S = 170.0
"""As estimated; measured, such a look took 150 s of processor time."""


def test_figures_share_their_runs() -> None:
    ids = {c.name: {run.id for run in plan.runs(c)} for c in campaigns_of(FIGURES, "quick")}
    for one, other in (("fig1", "fig2"), ("fig2", "table4"), ("fig3", "table4"), ("fig4", "table4")):
        assert ids[f"rezende/{one}"] & ids[f"rezende/{other}"], (one, other)


def test_the_papers_own_scale_repeats_as_often_as_the_paper() -> None:
    """§4.1: ten instances; §4.2: 33 executions."""
    seeds = [len(campaign.seeds) for campaign in campaigns_of(FIGURES, "full")]
    assert seeds == [10, 10, 10, 33, 33, 33, 33]


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_table_4_has_the_configurations_of_table_3_under_every_reading(scale: str) -> None:
    table, narrow, together = campaigns_of(FIGURES[4:], scale)
    for campaign, readings in (
        (table, [(False, "ever"), (True, "ever"), (False, "buffer")]),
        (narrow, [(False, "ever")]),
        (together, [(False, "ever"), (True, "ever")]),
    ):
        found = {}
        for cell in campaign.cells:
            if cell.protocol == "psamanet":
                p = cell.params
                assert p["s_ttl_s"] == 60.0
                key = (cell.label.partition(",")[0], p["own_subscriptions"], p["duplicates"])
                found[key] = (p["pb_size"], p["pb_max"], p["s_prob"])
        assert {cell.scenario.start for cell in campaign.cells} == {"moving" if campaign is together else "stationary"}
        assert found == {(name, *reading): TABLE_3[name] for name in TABLE_3 for reading in readings}


@pytest.mark.parametrize(("experiment", "parts"), [("rezende/table4", 8.5), ("rezende/table4-range", 400.0)])
def test_r1_ranges_are_as_wide_as_each_reading_says(experiment: str, parts: float) -> None:
    """20 % of the nodes, with two ranges each, take ranges of R/8.5; R/400 is what §4 prints."""
    (campaign,) = campaigns_of([experiment], "quick")
    (scenario,) = {msgspec.json.encode(cell.scenario): cell.scenario for cell in campaign.cells}.values()
    for subscription in Workload(scenario, 1).subscriptions:
        wanted = subscription.filter
        assert isinstance(wanted, Range)
        assert NUMBERS / (wanted.high - wanted.low) == pytest.approx(parts, rel=0.01)
