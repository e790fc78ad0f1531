"""The runs of a campaign: their ids, what they will cost, and in which order and partitions they are best done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from math import pi
from pathlib import Path
from typing import Any

import msgspec

from roamcast.errors import InputError, error_text
from roamcast.lab import code
from roamcast.lab.campaign import Campaign, Cell
from roamcast.lab.outside import digest
from roamcast.papers import presets
from roamcast.protocols import registry
from roamcast.world import streets
from roamcast.world.parts import PARTS
from roamcast.world.scenario import FILES, Scenario
from roamcast.world.traces import bonnmotion
from roamcast.world.traces.files import located

# Fitted to 5,790 runs, compiled, of all protocols in all papers' worlds, with 5 ms more for what their own clocks leave
# out (building the world, writing the file). Estimate over truth: 0.9 to 1.6 for half of them, 0.5 to 3.7 for nine of
# ten, 0.96 for all together. Ten times too low: many filters sent to all neighbours, events sent again and again.
SECONDS_PER_RUN = 0.005
SECONDS_PER_NODE_SECOND = 1.0e-6
SECONDS_PER_RECEPTION = 8.0e-8
SECONDS_PER_RECEPTION_BY_BEACONING = 5.0e-7  # by nodes that keep tables of their neighbours
SECONDS_PER_ROW = 4.0e-7  # of a log with frames, to write it: 0.3 to 0.6 in four papers' worlds
SECONDS_PER_MEASURED_ROW = 2.0e-6  # by Spark
WITH_FRAMES = ("frames", "full")
"""Levels whose logs have all that metrics need."""
HELLOS = ("heartbeat_s", "beacon_s", "beacon_interval_s", "hb_upper_s")
"""Parameters that say how often a node lets its neighbours know of it."""
LEAST_LIMIT_S = 600.0
LONGEST = 200.0
"""How many times its estimate a run may take: those are up to ten times too low, and machines differ."""
PURE = 40.0
"""How much longer a run takes that is not compiled, at most."""
TASKS_AT_A_TIME = 3
"""A partition holds at most this share (one over it, per core) of the work that is left."""
LEAST_S = 0.5
"""Of a partition, where there is so much: a task costs Spark some ten milliseconds."""


class Run(msgspec.Struct, frozen=True):
    """A cell with a seed. `id` is a digest of all that decides it; `place` is the cell's place in its campaign.

    `world` is a digest of what decides it except its protocol: runs with the same one have the same nodes, which meet
    at the same times.
    """

    id: str
    campaign: Campaign
    place: int
    seed: int
    cost_s: float
    world: str = ""

    @property
    def cell(self) -> Cell:
        return self.campaign.cells[self.place]

    def command(self) -> str:
        """What to type to see this run again."""
        cell, campaign = self.cell, self.campaign
        return presets.command(campaign.preset, cell.protocol, cell.given, cell.world, self.seed, campaign.reading)


def runs(campaign: Campaign, seeds: dict[int, list[int]] | None = None) -> list[Run]:
    """All runs, or those of each cell (by its place) with the seeds given; in the order of the file."""
    planned: list[Run] = []
    for k, cell in enumerate(campaign.cells):
        facts = _facts(cell)
        decides = _decides(cell, facts)
        world = _decides_world(cell, facts)
        cost_s = estimate_s(cell, campaign.level)
        for seed in campaign.seeds if seeds is None else seeds.get(k, []):
            id = _hex(f"{decides} {seed} {campaign.level}".encode())
            planned.append(Run(id, campaign, k, seed, cost_s, _hex(f"{world} {seed}".encode())))
    return planned


# ---- their ids


def _decides(cell: Cell, facts: dict[str, Any]) -> str:
    """Everything except the seed; code and files by their contents."""
    return _hex(msgspec.json.encode([cell_version(cell), facts, cell.protocol, cell.params], order="sorted"))


def _decides_world(cell: Cell, facts: dict[str, Any]) -> str:
    """The same without the protocol."""
    return _hex(msgspec.json.encode([code_version("", **_outside(cell)), facts], order="sorted"))


def _facts(cell: Cell) -> dict[str, Any]:
    """Of the scenario; what decides is in a file, not its name."""
    facts = cell.scenario.facts()
    for field in FILES:
        if facts.get(field):  # what only concerns other worlds is left out
            facts[field] = contents(field, facts[field])
    return facts


def contents(field: str, path: str) -> list[Any]:
    """What is in all the files that a run reads for a field of its scenario which names one."""
    if field == "street_map" and path.endswith(".csv"):
        return [file_digest(str(file)) for file in streets.csv_pair(Path(path))]
    return [file_digest(path), bonnmotion.parameters(path) if field == "trace" else {}]


def file_digest(path: str) -> str:
    try:
        return hashlib.blake2b(located(path).read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error_text(error)}") from None


def cell_version(cell: Cell) -> str:
    """Of the program that decides what a run of this cell gives: ours, and what comes from outside."""
    return code_version(cell.protocol, **_outside(cell))


def _outside(cell: Cell) -> dict[str, str]:
    """The parts of its world that are none of ours."""
    names = {part: getattr(cell.scenario, part) for part in PARTS}
    return {part: name for part, name in names.items() if PARTS[part].outside(name)}


@cache
def code_version(protocol: str, **parts: str) -> str:
    """Of a protocol, if one is named, and of those parts of the world that are none of ours."""
    outside = [] if not protocol or protocol in registry.BUILT_IN else [registry.get(protocol)]
    outside += [PARTS[part].get(name) for part, name in parts.items()]
    return "+".join([code.version(), *map(digest, outside)])


def _hex(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


# ---- what they will cost


def estimate_s(cell: Cell, level: str = "summary") -> float:
    """Seconds of processor time of the compiled program, roughly: as if every event were flooded once, and every node
    sent its beacons as often as the parameters of the protocol say; and a log had a row for each reception.

    It serves to begin with the longest runs and to say whether a campaign takes minutes or days.
    """
    s = cell.scenario
    each_s = SECONDS_PER_RECEPTION_BY_BEACONING if _hellos_per_s(cell.params) else SECONDS_PER_RECEPTION
    each_s += SECONDS_PER_ROW if level in WITH_FRAMES else 0.0
    return SECONDS_PER_RUN + SECONDS_PER_NODE_SECOND * s.nodes * s.duration_s + each_s * _receptions(cell)


def measuring_s(cell: Cell, level: str) -> float:
    """Seconds of processor time that Spark takes to measure the log of a run, roughly."""
    return SECONDS_PER_MEASURED_ROW * _receptions(cell) if level in WITH_FRAMES else 0.0


def _receptions(cell: Cell) -> float:
    s = cell.scenario
    events = s.events or s.publishers * s.rate_hz * ((s.publish_until_s or s.duration_s) - s.publish_from_s)
    return s.nodes * _neighbours(s) * (events + _hellos_per_s(cell.params) * s.duration_s)


def _hellos_per_s(params: dict[str, Any]) -> float:
    every_s = [params[name] for name in HELLOS if name in params]
    return sum(1.0 / float(s) for s in every_s if isinstance(s, int | float) and s > 0)  # others' may mean anything


def _neighbours(s: Scenario) -> float:
    reach_m = (s.range_m + max(s.range_m, s.range_max_m)) / 2
    return min(s.nodes - 1.0, s.nodes * pi * reach_m**2 / (s.width_m * s.height_m))


def limits(limit_s: float | None) -> Callable[[Run], float]:
    """How long a run may take: as asked for, or so long that only a run which never ends takes longer."""
    if limit_s is not None:
        return lambda _: limit_s
    times = LONGEST if simulator_is_compiled() else LONGEST * PURE
    return lambda run: LEAST_LIMIT_S + times * run.cost_s


def simulator_is_compiled() -> bool:
    from roamcast.world import kernel

    return not (kernel.__file__ or "").endswith(".py")


# ---- in which partitions


def partitions(planned: list[Run], cores: int) -> list[list[Run]]:
    """Longest first, in partitions that get smaller: the first ones save overhead, the last ones even out the end.

    Each takes what a core would do in a third of the time that is left, one run at least, and none is too small. Of
    runs that cost the same, those in the same world are next to each other: they share some work (world/shared.py).
    """
    ordered = sorted(planned, key=lambda run: (-run.cost_s, run.world, run.id))
    left_s = sum(run.cost_s for run in ordered)
    least_s = min(LEAST_S, left_s / (TASKS_AT_A_TIME * cores))
    parts: list[list[Run]] = []
    held_s = share_s = 0.0
    for run in ordered:
        if not parts or held_s + run.cost_s > share_s:
            share_s = max(least_s, left_s / (TASKS_AT_A_TIME * cores))
            parts.append([])
            held_s = 0.0
        parts[-1].append(run)
        held_s += run.cost_s
        left_s -= run.cost_s
    return parts
