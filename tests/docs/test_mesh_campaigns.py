"""The campaigns about LoRa meshes ask what their page says."""

from __future__ import annotations

import pytest

from roamcast.lab import campaign, plan
from roamcast.papers import presets
from roamcast.protocols import registry
from roamcast.world.simulate import simulate
from tests.docs.pages import ROOT


@pytest.mark.parametrize("name", ["mesh-city", "mesh-hills"])
def test_all_systems_meet_at_all_rates_and_shares_of_interest(name: str) -> None:
    asked = campaign.load(ROOT / "docs" / "campaigns" / f"{name}.toml")
    runs = plan.runs(asked)
    cells = {run.cell.label: run.cell for run in runs}
    assert {run.cell.protocol for run in runs} == set(registry.BUILT_IN)
    assert {run.cell.given["hops"] for run in runs if run.cell.protocol == "managed"} == {3, 5, 7}
    assert {round(3600 * run.cell.scenario.rate_hz) for run in runs} == {1, 5, 20}
    assert {run.cell.scenario.interested for run in runs} == {0.05, 0.2, 1.0}
    assert len(runs) == 17 * 9 * 8 and len(cells) == 15
    assert all(run.cell.scenario.mac == "lora" for run in runs)


@pytest.mark.parametrize("name", ["mesh-city", "mesh-hills"])
def test_every_system_has_parameters_that_fit_the_medium(name: str) -> None:
    """With the intervals of 802.11, beacons alone would fill the channel."""
    preset = presets.load(name)
    quiet = preset.scenario({"rate_hz": "0.00001", "duration_s": "1200", "publish_until_s": "1200"})
    for system in registry.BUILT_IN:
        counted = simulate(quiet, system, preset.parameters(system, {}), seed=1, possible=False).metrics
        assert counted["airtime_s_per_hour"] < 360.0, system  # less than a tenth of the time


@pytest.mark.parametrize("marker", ["table of mesh-city", "table of mesh-hills", "channel of mesh-city"])
def test_the_page_has_three_hop_limits_and_a_row_for_each_other_system(marker: str) -> None:
    page = (ROOT / "docs" / "explanation" / "lora.md").read_text()
    rows = page.partition(f"<!-- {marker} -->\n\n")[2].partition("\n\n")[0].splitlines()[2:]
    systems = [row.split("`")[1] for row in rows]
    assert set(systems) == set(registry.BUILT_IN)
    assert systems.count("managed") == 3 and len(systems) == len(registry.BUILT_IN) + 2
