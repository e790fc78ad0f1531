"""Specifications: frozen, complete, and with the defaults of a scenario."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from roamcast.log.writer import LogSink
from roamcast.world import air
from roamcast.world.assembly import build, spec_of
from roamcast.world.scenario import Scenario
from roamcast.world.specs import FaultSpec, MacSpec, PowerSpec, RadioSpec, WorldSpec


@pytest.mark.parametrize("spec", [MacSpec(), RadioSpec(), FaultSpec(), PowerSpec(), WorldSpec()])
def test_a_specification_cannot_be_changed(spec: object) -> None:
    for field in fields(spec):  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(spec, field.name, 1)


def test_defaults_are_those_of_a_scenario() -> None:
    scenario = Scenario()
    wall = replace(FaultSpec(), wall_m=scenario.width_m / 2)
    assert spec_of(scenario) == WorldSpec(faults=wall)


QUIET: dict[str, object] = {"nodes": 3, "subscribers": 2}


@pytest.mark.parametrize(
    ("values", "level", "metered", "kind"),
    [
        ({}, "summary", False, "SteadyAir"),
        ({}, "summary", True, "MeteredAir"),
        ({}, "deliveries", False, "SteadyAir"),
        ({}, "frames", False, "PlainAir"),
        ({"loss": 0.1}, "summary", False, "PlainAir"),
        ({"crash_mean_s": 5.0}, "summary", False, "PlainAir"),
        ({"crash_mean_s": 5.0}, "summary", True, "PlainAir"),
        ({"awake_s": 1.0, "asleep_s": 1.0}, "summary", False, "PlainAir"),
        ({"mac": "tinyos"}, "summary", False, "SteadyAir"),
        ({"mac": "ideal"}, "summary", False, "IdealAir"),
        ({"mac": "ideal", "radio": "two-ray"}, "summary", False, "IdealAir"),
        ({"radio": "two-ray"}, "summary", False, "GradedAir"),
        ({"carrier_sense_ratio": 2.0}, "summary", False, "GradedAir"),
    ],
)
def test_a_world_has_the_fastest_air_that_is_right_for_it(
    values: dict[str, object], level: str, metered: bool, kind: str
) -> None:
    world = build(Scenario(**(QUIET | values)), 1, level, LogSink())  # type: ignore[arg-type]
    assert type(air.build(world.medium, metered)).__name__ == kind
