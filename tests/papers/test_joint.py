"""Joint readings: what a change of one does, and the contents of the data files."""

from __future__ import annotations

import pytest

from roamcast.errors import InputError
from roamcast.papers import claims, experiments, joint, presets
from roamcast.papers.experiments import PAPERS
from roamcast.papers.joint import Change

TEXT = """
paper = "baldoni"
calibration = ["B4"]
chosen = "on one claim"

[[part]]
name = "few-beacon"
says = "few beacon"
reason = "the sum would be too high"
[part.back]
name = "all-beacon"
says = "all beacon"
params = { proximity = { beaconers = "all" } }

[[other]]
name = "slow"
says = "slow nodes"
world = { speed_max_mps = 12.0 }
"""
BY_PAPER = pytest.mark.parametrize("paper", PAPERS)


def test_changes_are_the_undone_parts_and_then_the_other_readings() -> None:
    parsed = joint.parse("x", TEXT)
    assert [change.name for change in parsed.changes] == ["all-beacon", "slow"]
    assert parsed.change("slow").world == {"speed_max_mps": 12.0}
    assert parsed.name == "few-beacon"
    with pytest.raises(InputError, match=r"unknown reading 'slo'.*slow"):
        parsed.change("slo")


def test_a_name_that_occurs_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="few-beacon occurs twice"):
        joint.parse("x", TEXT.replace('"slow"', '"few-beacon"'))


def test_a_wrong_joint_reading_is_an_error_that_names_the_file() -> None:
    with pytest.raises(InputError, match=r"joint reading x\.toml: .*calibrated"):
        joint.parse("x.toml", TEXT.replace("calibration", "calibrated"))


def test_a_change_replaces_values_of_a_preset_and_keeps_the_rest() -> None:
    preset = presets.load("baldoni")
    change = Change("c", "c", world={"nodes": 7}, params={"gossip": {"jitter_ms": 1.0}, "counter": {"copies": 2}})
    changed = preset.under(change)
    assert changed.values == {**preset.values, "nodes": 7}
    assert changed.params["gossip"] == {**preset.params["gossip"], "jitter_ms": 1.0}
    assert changed.params["counter"] == {"copies": 2}
    assert changed.reading == "c" and preset.reading == ""
    assert preset.params["gossip"] != changed.params["gossip"]  # the preset itself has not changed


def test_a_change_for_another_preset_does_not_apply() -> None:
    preset = presets.load("baldoni")
    changed = preset.under(Change("c", "c", world={"nodes": 7}, presets=["costa"]))
    assert (changed.values, changed.params, changed.reading) == (preset.values, preset.params, "c")


def test_a_change_of_metrics_alone_needs_no_runs() -> None:
    assert not Change("c", "c", metrics={"reception": "delivery"}).needs_runs
    assert Change("c", "c", params={"gossip": {"p": 1.0}}).needs_runs
    assert Change("c", "c", world={"nodes": 7}).needs_runs


def test_a_preset_of_no_paper_has_no_other_readings() -> None:
    with pytest.raises(InputError, match="comes from no paper"):
        joint.of_preset("mine")


# ---- the data files


@BY_PAPER
def test_every_part_has_a_reason_and_every_reading_a_description(paper: str) -> None:
    loaded = joint.load(paper)
    assert loaded.paper == paper and loaded.chosen.strip()
    assert all(part.reason.strip() and part.says.strip() for part in loaded.part)
    assert all(change.says.strip() for change in loaded.changes)
    assert all(change.reason.strip() for change in loaded.other)


@BY_PAPER
def test_calibration_names_claims_of_the_paper_and_leaves_most_of_them_out_of_sample(paper: str) -> None:
    own = {claim.id for claim in claims.load() if claim.paper == paper}
    chosen = joint.load(paper).calibration
    assert set(chosen) <= own and len(set(chosen)) == len(chosen)
    assert len(chosen) <= len(own) / 2


@BY_PAPER
def test_changes_apply_to_presets_and_experiments_that_exist(paper: str) -> None:
    own = [name for name in presets.names() if joint.paper_of(name) == paper]
    for change in joint.load(paper).changes:
        assert set(change.presets) <= set(own), change.name
        assert set(change.experiments) <= set(experiments.names([paper])), change.name
        for name in own:
            presets.load(name, change.name).scenario()


@BY_PAPER
def test_every_change_changes_something(paper: str) -> None:
    """The joint reading with a part undone differs: its values are not those of the preset."""
    own = [name for name in presets.names() if joint.paper_of(name) == paper]
    for change in joint.load(paper).changes:
        if not change.needs_runs:
            assert change.metrics, change.name
            continue
        assert any(_differs(presets.load(name), change) for name in own), change.name


def _differs(preset: presets.Preset, change: Change) -> bool:
    changed = preset.under(change)
    return changed.scenario() != preset.scenario() or changed.params != preset.params
