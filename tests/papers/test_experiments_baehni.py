"""The experiments and claims of Baehni et al. 2005: which must exist, and how long a quick campaign may take."""

from __future__ import annotations

from roamcast.judging.publisher import publisher
from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.reproduce import campaigns_of
from roamcast.papers import presets

FIGURES = [
    *("baehni/fig11", "baehni/fig12", "baehni/fig13", "baehni/fig14", "baehni/fig15", "baehni/fig16"),
    *("baehni/fig17", "baehni/fig18", "baehni/fig19", "baehni/fig20"),
]
IDS = [
    *("F1", "F2", "F3", "F4", "F5"),
    *("F6a", "F6b", "F6c", "F6d", "F6e"),
    *("F7a", "F7b", "F7c", "F7d", "F7e"),
    "F8",
    *("F9a", "F9b", "F9c", "F9d", "F9e", "F9f"),
    *("F10", "F10b", "F11", "F12a", "F12b", "F12c", "F13", "F13b"),
]
QUICK_RUNS = 3000
QUICK_S = 75.0
"""An estimate; a measured quick campaign took 75 s of processor time."""


def quick() -> list[Campaign]:
    return campaigns_of(FIGURES, "quick")


def test_repetitions_are_those_of_the_paper() -> None:
    """§5.2: 30 runs; in the city 30 for each of 15 publishers."""
    repeated = {c.name: len(c.seeds) for c in campaigns_of(FIGURES, "full")}
    assert {repeated[f"baehni/fig{n}"] for n in (11, 12, 17, 18, 19, 20)} == {30}
    assert {repeated[f"baehni/fig{n}"] for n in (13, 14, 16)} == {30 * 15}


def test_figures_share_their_runs() -> None:
    """Figs. 17 to 20 are four views of the same runs."""
    ids = {c.name: [run.id for run in plan.runs(c)] for c in quick()}
    assert ids["baehni/fig17"] == ids["baehni/fig18"] == ids["baehni/fig19"] == ids["baehni/fig20"]
    assert set(ids["baehni/fig11"]) & set(ids["baehni/fig17"])
    assert set(ids["baehni/fig13"]) & set(ids["baehni/fig14"]) & set(ids["baehni/fig16"])


def test_the_defaults_of_5_1_are_in_every_cell() -> None:
    for campaign in quick():
        for cell in campaign.cells:
            assert cell.scenario.payload_bytes == 400
            assert cell.params["sizes"] == "paper"
            if cell.protocol == "frugal":
                assert (cell.params["x"], cell.params["hb2bo"], cell.params["hb2ngc"]) == (40.0, 2.0, 2.5)


def test_a_run_ends_when_its_event_expires() -> None:
    """Bytes are counted over the time that an event is valid."""
    for campaign in quick():
        if campaign.preset == "baehni-waypoint":
            for cell in campaign.cells:
                assert cell.scenario.duration_s == cell.scenario.publish_from_s + cell.scenario.validity_s


def test_in_the_city_every_process_publishes_in_turn() -> None:
    """§5.2. With this many seeds every process publishes, and the runs of Fig. 15 share the cars' movement."""
    for campaign in campaigns_of(FIGURES, "full"):
        if campaign.preset == "baehni-city":
            whole = campaign.cells[-1]
            about = {"preset": campaign.preset, "reading": "", "campaign": campaign.name}
            world = {name: str(value) for name, value in whole.world.items()}
            publishers = {publisher({**about, "world": world, "seed": seed}) for seed in campaign.seeds}
            assert publishers == {*range(15)}
            assert (whole.scenario.traffic_seed > 0) == (campaign.name == "baehni/fig15")


def test_other_readings_keep_rates_and_ranges_together() -> None:
    """§5.1, footnote 11; carriers are sensed as far as the farthest range."""
    scenario = presets.load("baehni-waypoint", "range-339").scenario()
    assert (scenario.rate_bps, scenario.range_m) == (2e6, 339.0)
    assert abs(scenario.range_m * scenario.carrier_sense_ratio - 442.0) < 0.1
