"""The experiments and claims of 001: what there must be, and what a quick look at it may cost."""

from __future__ import annotations

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of

FIGURES = [
    *("baehni/fig11", "baehni/fig12", "baehni/fig13", "baehni/fig13-all-roads"),
    *("baehni/fig14", "baehni/fig14-all-roads", "baehni/fig15", "baehni/fig16", "baehni/fig16-all-roads"),
    *("baehni/fig17", "baehni/fig18", "baehni/fig19", "baehni/fig20"),
]
IDS = [
    *("F1", "F2", "F3", "F4", "F5"),
    *("F6a", "F6b", "F6c", "F6d", "F6e"),
    *("F7a", "F7b", "F7c", "F7d", "F7e"),
    "F8",
    *("F9a", "F9b", "F9c", "F9d", "F9e", "F9f"),
    *("F10", "F11", "F12a", "F12b", "F12c", "F13"),
]
QUICK_RUNS = 3000
QUICK_S = 75.0
"""As estimated; measured, such a look took 75 s of processor time."""


def quick() -> list[Campaign]:
    return campaigns_of(FIGURES, "quick")


def test_repetitions_are_the_papers() -> None:
    """§5.2: 30 runs; in the city 30 for each of 15 publishers."""
    repeated = {c.name: len(c.seeds) for c in campaigns_of(FIGURES, "full")}
    assert {repeated[f"baehni/fig{n}"] for n in (11, 12, 17, 18, 19, 20)} == {30}
    assert {repeated[f"baehni/fig{n}"] for n in (13, 14, 15, 16)} == {30 * 15}
    assert {repeated[f"baehni/fig{n}-all-roads"] for n in (13, 14, 16)} == {30 * 15}


def test_figures_share_their_runs() -> None:
    """Figs. 17 to 20 are four views of the same runs, Figs. 14 and 15 two."""
    ids = {c.name: [run.id for run in plan.runs(c)] for c in quick()}
    assert ids["baehni/fig17"] == ids["baehni/fig18"] == ids["baehni/fig19"] == ids["baehni/fig20"]
    assert ids["baehni/fig14"] == ids["baehni/fig15"]
    assert set(ids["baehni/fig11"]) & set(ids["baehni/fig17"])
    assert set(ids["baehni/fig13"]) & set(ids["baehni/fig14"]) & set(ids["baehni/fig16"])


def test_the_defaults_of_5_1_are_in_every_cell() -> None:
    for campaign in quick():
        for cell in campaign.cells:
            assert cell.scenario.payload_bytes == 400
            if cell.protocol == "frugal":
                assert (cell.params["x"], cell.params["hb2bo"], cell.params["hb2ngc"]) == (40.0, 2.0, 2.5)
                assert cell.params["sizes"] == "paper"


def test_rates_and_ranges_go_together() -> None:
    """§5.1, footnote 11."""
    reach_m = {1e6: 442.0, 2e6: 339.0, 6e6: 321.0, 11e6: 273.0}
    for campaign in quick():
        for cell in campaign.cells:
            if campaign.preset == "baehni-waypoint":
                assert cell.scenario.range_m == reach_m[cell.scenario.rate_bps]


def test_in_the_city_every_process_publishes_in_turn() -> None:
    for campaign in quick():
        if campaign.preset == "baehni-city":
            assert {cell.scenario.publishers for cell in campaign.cells} == {15}
            assert len(campaign.seeds) % 15 == 0  # the spread of Fig. 15 is that of 15 publishers
            roads = "all" if campaign.name.endswith("all-roads") else "main"
            assert {cell.scenario.roads for cell in campaign.cells} == {roads}
