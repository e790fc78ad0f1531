"""Campaign files: which worlds, which protocols, how often.

    name = "how often to beacon"
    preset = "baldoni"                 # the papers' scenarios: `roamcast presets`
    seeds = 10                         # 1 … 10, or a list of seeds
    until = { metric = "delivery", half_width = 0.02, max_seeds = 100 }
    level = "summary"                  # how much of each run's log is kept
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

Everything is checked before anything runs; an error names the file, the line and what would be right. A campaign is a
value: `Campaign.cells` are its distinct experiments, and a run is a cell with a seed.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from math import prod
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from roamcast.errors import InputError, error_text, unknown
from roamcast.log.catalogue import AVERAGED
from roamcast.log.schema import LEVELS
from roamcast.papers import presets
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.world.scenario import Scenario, with_values

MOST_RUNS = 1_000_000
FILES = ("street_map", "trace", "links")
"""Scenario fields that name a file."""


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Repeat each cell until the confidence interval of a metric's mean is this tight."""

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
    preset: str
    protocol: Annotated[list[Chosen], Meta(min_length=1)]
    seeds: int | list[int] = 10
    until: Until | None = None
    level: str = "summary"
    reading: str = ""
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
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the campaign {path}: {error_text(error)}") from None
    return parse(text, path.name)


def parse(text: str, name: str = "campaign") -> Campaign:
    lines = Lines(text)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        where = f"{name}:{line[1]}" if line else name
        what = str(error).partition(" (at line")[0].lower()
        raise InputError(f"{where}: {what}") from None
    try:
        return understood(content)
    except _At as error:
        raise InputError(f"{name}:{lines.of(error.path)}: {error}") from None


def understood(content: dict[str, Any]) -> Campaign:
    """The campaign that a file with this content describes."""
    try:
        written = msgspec.convert(content, Written)
    except msgspec.ValidationError as error:
        message, path = _plainly(str(error))
        raise _At(message, *path) from None
    return _campaign(written)


# ---- meaning


class _At(InputError):
    """Something is wrong at a place in the file."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


def _campaign(written: Written) -> Campaign:
    try:
        preset = presets.load(written.preset)
    except InputError as error:
        raise _At(str(error), "preset") from None
    try:
        preset = presets.load(written.preset, written.reading)
    except InputError as error:
        raise _At(str(error), "reading") from None
    if written.level not in LEVELS:
        raise _At(str(unknown("level", written.level, LEVELS)), "level")
    if not written.name.strip():
        raise _At("name: must not be empty", "name")
    seeds = _seeds(written)
    _check_size(written, len(seeds))
    worlds = _worlds(written, preset)
    cells: list[Cell] = []
    for k, chosen in enumerate(written.protocol):
        for (world, scenario), (given, params) in itertools.product(worlds, _parameters(chosen, k, preset)):
            cells.append(Cell(chosen.name, chosen.label or chosen.name, given, params, world, scenario))
    _distinct(cells)
    return Campaign(written.name, written.preset, seeds, written.until, written.level, cells, written.reading)


def _check_size(written: Written, seeds: int) -> None:
    """Before anything is expanded: a grid can be larger than memory."""
    points = sum(_size(point) for point in written.point) or 1
    seeds = max(seeds, written.until.max_seeds) if written.until else seeds
    runs = seeds * _size(written.world) * points * sum(_size(chosen.set) for chosen in written.protocol)
    if runs > MOST_RUNS:
        most = f", {seeds:,} seeds each (until.max_seeds)" if written.until else ""
        raise _At(f"{runs:,} runs{most}; there must not be over {MOST_RUNS:,}", "protocol")


def _size(fields: dict[str, Any]) -> int:
    return prod(len(value) for value in fields.values() if isinstance(value, list))


def _distinct(cells: list[Cell]) -> None:
    seen: set[bytes] = set()
    for cell in cells:
        key = msgspec.json.encode([cell.protocol, cell.label, cell.params, cell.world], order="deterministic")
        if key in seen:
            raise _At(f"{cell.label}: the same experiment twice (same world, same parameters)", "protocol")
        seen.add(key)


def _seeds(written: Written) -> list[int]:
    if isinstance(written.seeds, int) and written.seeds > MOST_RUNS:
        raise _At(f"seeds: {written.seeds:,} of them; there must not be over {MOST_RUNS:,}", "seeds")
    seeds = list(range(1, written.seeds + 1)) if isinstance(written.seeds, int) else written.seeds
    if not seeds:
        raise _At("seeds: must be a number of at least 1, or a list of seeds", "seeds")
    if not all(0 <= seed < 1 << 63 for seed in seeds):
        raise _At("seeds: must be whole numbers of at least 0 and below 2^63", "seeds")
    if len(set(seeds)) < len(seeds):
        raise _At("seeds: none must stand twice", "seeds")
    until = written.until
    if until is not None:
        if until.metric not in AVERAGED:
            raise _At(str(unknown("metric", until.metric, AVERAGED)), "until", "metric")
        if until.max_seeds < len(seeds):
            least = f"max_seeds={until.max_seeds}: must not be below the number of seeds ({len(seeds)})"
            raise _At(least, "until", "max_seeds")
    return seeds


def _worlds(written: Written, preset: presets.Preset) -> list[tuple[dict[str, Any], Scenario]]:
    worlds: list[tuple[dict[str, Any], Scenario]] = []
    for k, point in enumerate(written.point or [{}]):
        for field in point:
            if field in written.world:
                raise _At(f"{field}: stands in [world] and in a [[point]]", "point", k, field)
        for grid in _grid(written.world, "world"):
            for spread in _grid(point, "point", k):
                world = {**grid, **spread}
                worlds.append((world, _scenario(preset, world, written, k)))
    return worlds


def _scenario(preset: presets.Preset, world: dict[str, Any], written: Written, k: int) -> Scenario:
    try:
        return _with_files(with_values({**preset.values, **world}, {}))
    except InputError as error:
        field = _named(world, str(error))
        path = ("point", k, field) if written.point and field in written.point[k] else ("world", field)
        raise _At(str(error), *path) from None


def _with_files(scenario: Scenario) -> Scenario:
    """Workers are in folders of their own: files are named from the root, and are there."""
    named = {field: Path(getattr(scenario, field)).absolute() for field in FILES if getattr(scenario, field)}
    for field, path in named.items():
        if not path.is_file():
            raise InputError(f"{field}={getattr(scenario, field)}: there is no such file")
    return msgspec.structs.replace(scenario, **{field: str(path) for field, path in named.items()})


def _named(fields: dict[str, Any], message: str) -> str:
    """The field that a message speaks of first."""
    places = {field: re.search(rf"\b{re.escape(field)}\b", message) for field in fields}
    return min((place.start(), field) for field, place in places.items() if place)[1] if any(places.values()) else ""


def _parameters(chosen: Chosen, k: int, preset: presets.Preset) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(what the campaign gives, all that is in effect) of each combination."""
    try:
        protocol = registry.get(chosen.name)
    except InputError as error:
        raise _At(str(error), "protocol", k, "name") from None
    combinations = []
    for given in _grid(chosen.set, "protocol", k, "set"):
        try:
            params = parameters.build(protocol, preset.parameters(chosen.name, given))
        except InputError as error:
            raise _At(str(error), "protocol", k, "set", _named(given, str(error))) from None
        combinations.append((given, _asdict(params)))
    return combinations


def _asdict(params: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(params)


def _grid(fields: dict[str, Any], *path: str | int) -> list[dict[str, Any]]:
    """Every combination of the fields' values, the last one varying fastest."""
    for field, value in fields.items():
        if isinstance(value, list) and not value:
            raise _At(f"{field}: must not be an empty list", *path, field)
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, (list, dict)) for v in value)):
            raise _At(f"{field}: must be a value or a list of values", *path, field)
        if isinstance(value, list) and len({repr(v) for v in value}) < len(value):
            raise _At(f"{field}: no value must stand twice", *path, field)
    choices = [value if isinstance(value, list) else [value] for value in fields.values()]
    return [dict(zip(fields, values, strict=True)) for values in itertools.product(*choices)]


# ---- places in the file


def _plainly(message: str) -> tuple[str, tuple[str | int, ...]]:
    """msgspec's "Expected `int`, got `str` - at `$.protocol[0].name`" as a line of ours, and the path."""
    what, _, where = message.partition(" - at ")
    steps = re.findall(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]", where)
    path: tuple[str | int, ...] = tuple(name or int(number) for name, number in steps if name or number)
    missing = re.search(r"missing required field `(\w+)`", what)
    if missing:
        return f"{missing[1]}: is missing", path
    extra = re.search(r"contains unknown field `(\w+)`", what)
    if extra:
        known = {"until": Until, "protocol": Chosen}.get(str(path[0]) if path else "", Written)
        return str(unknown("field", extra[1], known.__struct_fields__)), (*path, extra[1])
    field = ".".join(str(step) for step in path if isinstance(step, str))
    wanted = what.replace("`", "").replace("Expected ", "must be ").replace(", got ", ", not ")
    return f"{field}: {wanted}" if field else wanted, path


class Lines:
    """Where in a TOML text a key stands, as far as one pass over its lines can tell; what it cannot find is where the
    table begins that should have it."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._at: dict[tuple[str | int, ...], int] = {(): 1}
        table: tuple[str | int, ...] = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(self._lines, 1):
            header = re.match(r"\s*(\[\[?)\s*([\w.\-]+)\s*\]", line)
            if header:
                table = self._table(header[1] == "[[", header[2].split("."), counts)
                self._at.setdefault(table, number)
                self._at.setdefault(table[:1], number)
                continue
            key = re.match(r"""\s*["']?([\w\-]+)["']?\s*(?:\.\s*["']?([\w\-]+)["']?\s*)?=""", line)
            if key:
                self._at.setdefault((*table, key[1]), number)
                if key[2]:
                    self._at.setdefault((*table, key[1], key[2]), number)

    @staticmethod
    def _table(repeated: bool, names: list[str], counts: dict[str, int]) -> tuple[str | int, ...]:
        first, rest = names[0], names[1:]
        if repeated and not rest:
            counts[first] = counts.get(first, -1) + 1
        return (first, counts[first], *rest) if first in counts else (first, *rest)

    def of(self, path: tuple[str | int, ...]) -> int:
        while path not in self._at:
            inside = self._inside(path)
            if inside:
                return inside
            path = path[:-1]
        return self._at[path]

    def _inside(self, path: tuple[str | int, ...]) -> int:
        """The line of a key in a value that is written over several lines, such as an inline table."""
        above = self._at.get(path[:-1], 0)
        if not above or not isinstance(path[-1], str) or not path[-1]:
            return 0
        for number in range(above, len(self._lines) + 1):
            line = self._lines[number - 1]
            if number > above and re.match(r"\s*\[", line):
                return 0
            if re.search(rf"""(?<![\w\-])["']?{re.escape(path[-1])}["']?\s*=""", line):
                return number
        return 0
