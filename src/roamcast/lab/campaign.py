"""Campaign files: which worlds, which protocols, how often.

    name = "how often to beacon"
    preset = "baldoni"                 # the papers' scenarios: `roamcast presets`; or a scenario file; or none
    seeds = 10                         # 1 … 10, or a list of seeds
    until = { metric = "delivery", half_width = 0.02, max_seeds = 100 }
    level = "summary"                  # how much of each run's log is kept
    local = true                       # on processes of this machine, without Spark
    limit_s = 60                       # a run that takes longer has failed
    reading = "everybody-beacons"      # another reading of the preset's paper: see `roamcast presets baldoni`

    [world]                            # fields of the scenario; a list is a grid
    speed_max_mps = [10, 20, 40]

    [[point]]                          # fields that vary together; each point is combined with the whole grid
    nodes = 100
    width_m = 1000.0

    [[protocol]]
    name = "proximity"
    label = "proximity, 2 credits"     # what tables call it; by default the name
    set = { credits = 2, beacon_s = [2.0, 4.0] }   # parameters; a list is a grid

Files that it names are relative to the campaign's own. Everything is checked before anything runs; an error names the
file, the line and what would be right. A campaign is a value: `Campaign.cells` are its distinct experiments, and a run
is a cell with a seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from roamcast import toml
from roamcast.errors import InputError, Misplaced, unknown
from roamcast.log.catalogue import AVERAGED
from roamcast.log.schema import LEVELS
from roamcast.papers import presets
from roamcast.papers.presets import Preset
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Protocol
from roamcast.world.parts import flat
from roamcast.world.scenario import Scenario, with_values

MOST_RUNS = 1_000_000
SCENARIO_ONLY = ("title", "set", "seed")
"""Entries that scenario files have (papers/presets.py) and campaign files do not."""
MOST_LIMIT_S = 1e8
"""Three years; timers cannot be set to a hundred times as much."""


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Repeat each cell until a metric's mean is this near to the truth (judging/sequential.py)."""

    metric: str
    half_width: Annotated[float, Meta(gt=0)]
    max_seeds: Annotated[int, Meta(ge=2, le=100_000)] = 100


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A protocol as it stands in the file."""

    name: str
    label: str = ""
    set: dict[str, Any] = {}


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign as it stands in its file."""

    name: str
    protocol: Annotated[list[Chosen], Meta(min_length=1)]
    preset: str = ""
    seeds: int | list[int] = 10
    until: Until | None = None
    level: str = "summary"
    reading: str = ""
    local: bool = False
    limit_s: Annotated[float, Meta(gt=0, le=MOST_LIMIT_S)] | None = None
    world: dict[str, Any] = {}
    point: list[dict[str, Any]] = []


class Cell(msgspec.Struct, frozen=True):
    """Everything that decides a run, except its seed. `given` and `world` are what the campaign chose."""

    protocol: str
    label: str
    given: dict[str, Any]
    params: dict[str, Any]
    world: dict[str, Any]
    scenario: Scenario


class Campaign(msgspec.Struct, frozen=True):
    """`preset` is a paper's, the whole path of a scenario file, or empty."""

    name: str
    preset: str
    seeds: list[int]
    until: Until | None
    level: str
    cells: list[Cell]
    reading: str = ""

    def more_seeds(self, count: int) -> list[int]:
        """The campaign's seeds, continued where more than they are asked for."""
        seeds = self.seeds[:count]
        following = max(self.seeds) + 1
        return [*seeds, *range(following, following + count - len(seeds))]


def load(path: Path) -> Campaign:
    """The campaign in a file, checked; whatever is wrong with it is an InputError that names the line."""
    return toml.load(path, "campaign", partial(understood, folder=path.parent))


def asks_for_local(path: Path) -> bool:
    """Whether the file asks for processes of this machine instead of Spark. That is no part of the campaign, whose
    results are the same wherever its runs are done."""
    return toml.load(path, "campaign", lambda content: toml.convert(content, Written).local)


def limit_of(path: Path) -> float | None:
    """How long a run may take, if the file says it. That is no part of the campaign, either."""
    return toml.load(path, "campaign", lambda content: toml.convert(content, Written).limit_s)


def check_limit(limit_s: float) -> float:
    """How long a run may take, as somebody typed it."""
    if not 0 < limit_s <= MOST_LIMIT_S:
        raise InputError(f"--limit {limit_s:g}: must be above 0 and at most {MOST_LIMIT_S:,.0f} s")
    return limit_s


def parse(text: str, name: str = "campaign") -> Campaign:
    return toml.parse(text, name, understood)


def understood(
    content: dict[str, Any], folder: Path = Path(), classes: Mapping[str, type[Protocol]] | None = None
) -> Campaign:
    """The campaign that a file with this content describes; it names other files relative to the folder.

    A program may have protocols that no file can name: `classes` has them by the name that the content gives them.
    """
    for entry, value in content.items():
        if entry in SCENARIO_ONLY or (entry == "protocol" and isinstance(value, str)):
            hint = 'type roamcast run FILE, or start a campaign from it by preset = "FILE"'
            raise Misplaced(f"{entry}: this is a scenario file; {hint}", entry)
    return _campaign(toml.convert(content, Written), folder, classes or {})


# ---- meaning


def _campaign(written: Written, folder: Path, classes: Mapping[str, type[Protocol]]) -> Campaign:
    preset = presets.start_from(written.preset, written.reading, folder)
    if written.level not in LEVELS:
        raise Misplaced(str(unknown("level", written.level, LEVELS)), "level")
    if not written.name.strip():
        raise Misplaced("name: must not be empty", "name")
    seeds = _seeds(written)
    _check_size(written, len(seeds))
    worlds = _worlds(written, preset, folder)
    cells: list[Cell] = []
    for k, chosen in enumerate(written.protocol):
        for (world, scenario), (given, params) in itertools.product(worlds, _parameters(chosen, k, preset, classes)):
            cells.append(Cell(chosen.name, chosen.label or chosen.name, given, params, world, scenario))
    _distinct(cells)
    return Campaign(written.name, preset.name, seeds, written.until, written.level, cells, written.reading)


def _check_size(written: Written, seeds: int) -> None:
    """Before anything is expanded: a grid can be larger than memory."""
    points = sum(_size(flat(point)) for point in written.point) or 1
    seeds = max(seeds, written.until.max_seeds) if written.until else seeds
    runs = seeds * _size(flat(written.world)) * points * sum(_size(chosen.set) for chosen in written.protocol)
    if runs > MOST_RUNS:
        most = f", {seeds:,} seeds each (until.max_seeds)" if written.until else ""
        raise Misplaced(f"{runs:,} runs{most}; there must not be over {MOST_RUNS:,}", "protocol")


def _size(fields: dict[str, Any]) -> int:
    return prod(len(value) for value in fields.values() if isinstance(value, list))


def _distinct(cells: list[Cell]) -> None:
    seen: set[bytes] = set()
    for cell in cells:
        key = msgspec.json.encode([cell.protocol, cell.label, cell.params, cell.world], order="deterministic")
        if key in seen:
            raise Misplaced(f"{cell.label}: the same experiment twice (same world, same parameters)", "protocol")
        seen.add(key)


def _seeds(written: Written) -> list[int]:
    if isinstance(written.seeds, int) and written.seeds > MOST_RUNS:
        raise Misplaced(f"seeds: {written.seeds:,} of them; there must not be over {MOST_RUNS:,}", "seeds")
    seeds = list(range(1, written.seeds + 1)) if isinstance(written.seeds, int) else written.seeds
    if not seeds:
        raise Misplaced("seeds: must be a number of at least 1, or a list of seeds", "seeds")
    if not all(0 <= seed < 1 << 63 for seed in seeds):
        raise Misplaced("seeds: must be whole numbers of at least 0 and below 2^63", "seeds")
    if len(set(seeds)) < len(seeds):
        raise Misplaced("seeds: none must stand twice", "seeds")
    until = written.until
    if until is not None:
        if until.metric not in AVERAGED:
            raise Misplaced(str(unknown("metric", until.metric, AVERAGED)), "until", "metric")
        if until.max_seeds < len(seeds):
            least = f"max_seeds={until.max_seeds}: must not be below the number of seeds ({len(seeds)})"
            raise Misplaced(least, "until", "max_seeds")
    return seeds


def _worlds(written: Written, preset: Preset, folder: Path) -> list[tuple[dict[str, Any], Scenario]]:
    worlds: list[tuple[dict[str, Any], Scenario]] = []
    everywhere = flat(written.world)
    for k, point in enumerate(written.point or [{}]):
        for field in flat(point):
            if field in everywhere:
                raise Misplaced(f"{field}: stands in [world] and in a [[point]]", "point", k, field)
        for grid in _grid(everywhere, "world"):
            for spread in _grid(flat(point), "point", k):
                worlds.append(_world(preset, {**grid, **spread}, written, k, folder))
    return worlds


def _world(
    preset: Preset, world: dict[str, Any], written: Written, k: int, folder: Path
) -> tuple[dict[str, Any], Scenario]:
    """The fields that the campaign gives, and the scenario with them."""
    try:
        named = presets.with_files(world, folder)
        return named, with_values(preset.changed(named), {})
    except InputError as error:
        field = toml.named(world, str(error))
        if written.point and field in flat(written.point[k]):
            raise Misplaced(str(error), "point", k, *presets.place(written.point[k], str(error))) from None
        raise Misplaced(str(error), "world", *presets.place(written.world, str(error))) from None


def _parameters(
    chosen: Chosen, k: int, preset: Preset, classes: Mapping[str, type[Protocol]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(what the campaign gives, all that is in effect) of each combination."""
    try:
        protocol = classes.get(chosen.name) or registry.get(chosen.name)
    except InputError as error:
        raise Misplaced(str(error), "protocol", k, "name") from None
    combinations = []
    for given in _grid(chosen.set, "protocol", k, "set"):
        try:
            params = parameters.build(protocol, preset.parameters(chosen.name, given), chosen.name)
        except InputError as error:
            raise Misplaced(str(error), "protocol", k, "set", toml.named(given, str(error))) from None
        combinations.append((given, _asdict(params)))
    return combinations


def _asdict(params: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(params)


def _grid(fields: dict[str, Any], *path: str | int) -> list[dict[str, Any]]:
    """Every combination of the fields' values, the last one varying fastest."""
    for field, value in fields.items():
        if isinstance(value, list) and not value:
            raise Misplaced(f"{field}: must not be an empty list", *path, field)
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, (list, dict)) for v in value)):
            raise Misplaced(f"{field}: must be a value or a list of values", *path, field)
        if isinstance(value, list) and len({repr(v) for v in value}) < len(value):
            raise Misplaced(f"{field}: no value must stand twice", *path, field)
    choices = [value if isinstance(value, list) else [value] for value in fields.values()]
    return [dict(zip(fields, values, strict=True)) for values in itertools.product(*choices)]
