"""Which node publishes first in a run. No table has it: a run's world and seed decide it (world/workload.py)."""

from __future__ import annotations

from functools import cache
from typing import Any

from roamcast.errors import InputError
from roamcast.judging import settings
from roamcast.log.metric import Row
from roamcast.papers import presets
from roamcast.world.scenario import Scenario
from roamcast.world.workload import Workload


def publisher(row: Row) -> int:
    """The node."""
    scenario = _scenario(row["preset"], row["reading"], tuple(sorted(settings.world(row).items())))
    publications = Workload(scenario, row["seed"]).publications
    if not publications:
        raise InputError(f"{row['campaign']}: no node publishes in it")
    return publications[0].node


@cache
def _scenario(preset: str, reading: str, world: tuple[tuple[str, Any], ...]) -> Scenario:
    return presets.load(preset, reading).scenario(dict(world))
