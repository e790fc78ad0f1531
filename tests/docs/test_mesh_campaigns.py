"""The campaigns about LoRa meshes ask what their page says."""

from __future__ import annotations

import pytest

from roamcast.lab import campaign, plan
from roamcast.protocols import registry
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
    assert len(runs) == 16 * 9 * 4 and len(cells) == 14
    assert all(run.cell.scenario.mac == "lora" for run in runs)
