"""The experiments and claims of Rezende et al. 2008: which must exist, and how long a quick campaign may take."""

from __future__ import annotations

import pytest

from roamcast.lab import plan
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import experiments, presets
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.pubsub.filters import Range
from roamcast.world.workload import NUMBERS, Workload

FIGURES = ["rezende/fig1", "rezende/fig2", "rezende/fig3", "rezende/fig4", "rezende/table4"]
IDS = [f"R{n}{part}" for n in range(1, 9) for part in "ab"] + ["R9", "R10", "R11", "R12", "R13a", "R13b"]
TABLE_3 = {
    "I": (200, 10, 0.1),
    "II": (200, 10, 0.4),
    "III": (200, 10, 0.9),
    "IV": (300, 25, 0.2),
    "V": (300, 25, 0.4),
    "VI": (500, 50, 0.2),
    "VII": (500, 50, 0.4),
}
QUICK_RUNS = 60
QUICK_S = 45.0
"""An estimate; a measured quick campaign took 60 s of processor time."""


def test_figures_share_their_runs() -> None:
    ids = {c.name: {run.id for run in plan.runs(c)} for c in campaigns_of(FIGURES, "full")}
    for one, other in (("fig2", "table4"), ("fig3", "table4"), ("fig4", "table4")):
        assert ids[f"rezende/{one}"] & ids[f"rezende/{other}"], (one, other)


def test_the_full_scale_has_as_many_repetitions_as_the_paper() -> None:
    """§4.1: ten instances; §4.2: 33 executions."""
    seeds = [len(campaign.seeds) for campaign in campaigns_of(FIGURES, "full")]
    assert seeds == [10, 10, 10, 33, 33]


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_table_4_has_the_configurations_of_table_3(scale: str) -> None:
    (table,) = campaigns_of(["rezende/table4"], scale)
    configurations = {cell.label: cell.params for cell in table.cells if cell.protocol == "psamanet"}
    assert {name: (p["pb_size"], p["pb_max"], p["s_prob"]) for name, p in configurations.items()} == TABLE_3
    assert {p["s_ttl_s"] for p in configurations.values()} == {60.0}


@pytest.mark.parametrize(("reading", "parts"), [("", 8.97), ("ranges-from-below", 8.5), ("narrow-ranges", 400.0)])
def test_r1_ranges_are_as_wide_as_in_each_reading(reading: str, parts: float) -> None:
    """For 20 % of the nodes with two ranges each, ranges must be about R/9 wide; §4 prints R/400."""
    for subscription in Workload(presets.load("rezende", reading).scenario(), 1).subscriptions:
        wanted = subscription.filter
        assert isinstance(wanted, Range)
        assert NUMBERS / (wanted.high - wanted.low) == pytest.approx(parts, rel=0.01)


def test_r11_answers_are_delayed_at_random_where_they_could_collide() -> None:
    preset = presets.load("rezende", "spread-answers")
    assert (preset.scenario().mac, preset.scenario().queue) == ("dcf", 500)
    for protocol in ("psamanet", "gossip"):
        assert parameters.build(registry.get(protocol), preset.parameters(protocol, {})).jitter_ms == 500.0
