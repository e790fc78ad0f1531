"""The papers' scenarios as data: `presets/NAME.toml` has every value with its source.

A preset is the world of its paper under the joint reading (joint.py), which also names the other readings of it.

A source is a place in the paper ("Fig. 10"), a numbered reading of it ("reading R7", see the protocol's module), or
"ours: why" where the paper is silent. Fields that a preset leaves out have the scenario's defaults.

People write scenario files of their own, which may start from a preset; `load` takes both:

    title = "Half of them asleep"      # all entries are optional
    preset = "baldoni"                 # what to start from; otherwise the scenario's defaults
    reading = "everybody-beacons"      # another reading of the preset's paper
    protocol = "gossip"                # otherwise the preset's
    seed = 7
    set = { p = 0.8 }                  # parameters of that protocol, over the preset's
    [world]                            # fields of the scenario, over the preset's
    awake_s = 3
    asleep_s = 1
    street_map = "town.wkt"            # files are relative to this one
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from roamcast import toml
from roamcast.errors import InputError, Misplaced, unknown
from roamcast.papers import joint
from roamcast.papers.joint import Change
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.world.parts import changed, flat, named
from roamcast.world.scenario import FILES, Scenario, with_values


class Sourced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value and where it comes from. A share of the nodes follows their number."""

    value: Any
    source: str
    share_of: Literal["", "nodes"] = ""


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a preset's file."""

    title: str
    paper: str
    protocol: str
    scenario: dict[str, Sourced]
    params: dict[str, dict[str, Sourced]] = {}


class ScenarioFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a scenario file. The descriptions are for the reference page."""

    title: Annotated[str, Meta(description="what people call the scenario")] = ""
    preset: Annotated[
        str, Meta(description="the paper's scenario to start from; without one, every field has its default")
    ] = ""
    reading: Annotated[str, Meta(description="another reading of the preset's paper")] = ""
    protocol: Annotated[str, Meta(description="a protocol, or `module:Class`; without one, the preset's")] = ""
    seed: Annotated[
        int, Meta(ge=0, le=(1 << 63) - 1, description="the seed of a single run, unless another one is given there")
    ] = 1
    set: Annotated[dict[str, Any], Meta(description="parameters of that protocol, over the preset's")] = {}
    world: Annotated[dict[str, Any], Meta(description="fields of the scenario, over the preset's")] = {}


class Preset(msgspec.Struct, frozen=True):
    """`values` are scenario fields; `params` are parameters by protocol; `sources` has both, as `field` and
    `protocol.parameter`. `protocol` is the paper's own. `shares` are fields that follow the number of nodes.
    `reading` names the change that was applied, if any.

    Of a scenario file, `name` is the path, `protocol` may be empty, and `seed` is the default seed."""

    name: str
    title: str
    paper: str
    values: dict[str, Any]
    sources: dict[str, str]
    protocol: str
    params: dict[str, dict[str, Any]]
    shares: tuple[str, ...] = ()
    reading: str = ""
    seed: int = 1

    def scenario(self, changes: Mapping[str, Any] | None = None) -> Scenario:
        """The scenario, with typed values (`--world KEY=VALUE`) over those of the preset."""
        changes = dict(changes or {})
        return with_values(self.values | self._shares_of(changes.get("nodes")), changes)

    def changed(self, world: Mapping[str, Any]) -> dict[str, Any]:
        """The values with these over them."""
        return changed(self.values | self._shares_of(world.get("nodes")), world)

    def _shares_of(self, nodes: Any) -> dict[str, int]:
        """The fields that follow from this number of nodes; a wrong number is refused where numbers are checked."""
        try:
            scale = int(nodes) / self.values["nodes"]
        except (TypeError, ValueError, KeyError):
            return {}
        return {field: round(self.values[field] * scale) for field in self.shares}

    def parameters(self, protocol: str, given: dict[str, Any]) -> dict[str, Any]:
        """The given parameters, over those that the paper sets for this protocol in this scenario."""
        return {**self.params.get(protocol, {}), **given}

    def under(self, change: Change) -> Preset:
        """The same preset under another reading of its paper."""
        if not change.applies_to(self.name):
            return msgspec.structs.replace(self, reading=change.name)
        params = dict(self.params)
        for protocol, values in change.params.items():
            params[protocol] = {**params.get(protocol, {}), **values}
        return msgspec.structs.replace(self, reading=change.name, values={**self.values, **change.world}, params=params)


def names() -> list[str]:
    paths = files("roamcast.papers").joinpath("presets").iterdir()
    return sorted(path.name.removesuffix(".toml") for path in paths if path.name.endswith(".toml"))


def of_papers() -> list[str]:
    """Those that are a paper's world."""
    return [name for name in names() if joint.paper_of(name)]


def load(name: str, reading: str = "") -> Preset:
    """The preset of this name, or that of a scenario file; checked. `reading` is another reading of its paper."""
    if is_file(name):
        path = Path(name)
        return toml.load(path, "scenario", partial(_of_file, name=name, folder=path.parent, reading=reading))
    if not name:
        return DEFAULTS
    if name not in names():
        if Path(f"{name}.toml").is_file():
            raise InputError(f"unknown preset {name!r}; did you mean the file {name}.toml?")
        raise unknown("preset", name, names())
    text = files("roamcast.papers").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    preset = parse(name, text)
    return preset.under(joint.of_preset(name).change(reading)) if reading else preset


def is_file(name: str) -> bool:
    """Whether this is the path of a scenario file and not the name of a preset."""
    return name.endswith(".toml") or "/" in name or "\\" in name


def parse(name: str, text: str) -> Preset:
    try:
        written = msgspec.convert(tomllib.loads(text), Written)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"preset {name}: {error}") from None
    sources = {field: entry.source for field, entry in written.scenario.items()}
    for protocol, entries in written.params.items():
        sources |= {f"{protocol}.{parameter}": entry.source for parameter, entry in entries.items()}
    for field, source in sources.items():
        if not source.strip():
            raise InputError(f"preset {name}: {field} has no source")
    preset = Preset(
        name=name,
        title=written.title,
        paper=written.paper,
        values={field: entry.value for field, entry in written.scenario.items()},
        sources=sources,
        protocol=written.protocol,
        params={p: {k: entry.value for k, entry in entries.items()} for p, entries in written.params.items()},
        shares=tuple(field for field, entry in written.scenario.items() if entry.share_of),
    )
    try:
        preset.scenario()
    except InputError as error:
        raise InputError(f"preset {name}: {error}") from None
    return preset


DEFAULTS = Preset(name="", title="", paper="", values={}, sources={}, protocol="", params={})
"""Used where no preset is given: the scenario's own defaults."""


# ---- scenario files

CAMPAIGN_ONLY = ("seeds", "until", "point")
"""Entries that campaign files have (lab/campaign.py) and scenario files do not."""


def start_from(preset: str, reading: str, folder: Path) -> Preset:
    """The preset that the entries `preset` and `reading` of a file in this folder name; both may be empty."""
    name = str((folder / preset).absolute()) if is_file(preset) else preset
    if reading and not name:
        raise Misplaced(f"reading={reading}: must come with a preset", "reading")
    try:
        base = load(name)
    except InputError as error:
        raise Misplaced(str(error), "preset") from None
    try:
        return load(name, reading) if reading else base
    except InputError as error:
        raise Misplaced(str(error), "reading") from None


def with_files(world: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Fields of a scenario from a file in this folder, with absolute paths of other files (a run may take place in any
    folder), and with the names of classes."""
    complete = {field: named(field, value) for field, value in world.items()}
    for field in FILES:
        if isinstance(world.get(field), str) and world[field] and "://" not in world[field]:
            complete[field] = str((folder / Path(world[field]).expanduser()).absolute())
            if not Path(complete[field]).exists():
                raise InputError(f"{field}={world[field]}: there is no such file")
    return complete


def _of_file(content: dict[str, Any], name: str, folder: Path, reading: str) -> Preset:
    for entry, value in content.items():
        if entry in CAMPAIGN_ONLY or (entry == "protocol" and isinstance(value, list)):
            raise Misplaced(f"{entry}: this is a campaign; type roamcast campaign run {name}", entry)
    written = toml.convert(content, ScenarioFile)
    if is_file(written.preset):
        raise Misplaced(f"preset={written.preset}: must be one of {', '.join(names())}, and no file", "preset")
    base = start_from(written.preset, reading or written.reading, folder)
    protocol = written.protocol or base.protocol
    own = [*written.world, *(f"{protocol}.{parameter}" for parameter in written.set)]
    preset = msgspec.structs.replace(
        base,
        name=name,
        title=written.title or base.title,
        values=base.changed(_world_of(written, base, folder)),
        sources={**base.sources, **dict.fromkeys(own, name)},
        protocol=protocol,
        params={**base.params, protocol: base.parameters(protocol, written.set)},
        shares=tuple(field for field in base.shares if field not in written.world),
        seed=written.seed,
    )
    _check_protocol(written, preset)
    return preset


def _world_of(written: ScenarioFile, base: Preset, folder: Path) -> dict[str, Any]:
    try:
        world = with_files(written.world, folder)
        with_values(base.changed(world), {})
    except InputError as error:
        raise Misplaced(str(error), "world", *place(written.world, str(error))) from None
    return world


def place(world: dict[str, Any], message: str) -> tuple[str, ...]:
    """The path, in a table of scenario fields, of the field that a message names first. `mobility.KEY` may be in the
    table `mobility_set`."""
    field = toml.named(flat(world), message)
    part, dot, key = field.partition(".")
    return (f"{part}_set", key) if dot and field not in world else (field,)


def _check_protocol(written: ScenarioFile, preset: Preset) -> None:
    """Check the protocol and the parameters that a file names."""
    if not preset.protocol:
        if written.set:
            raise Misplaced("set: must come with a protocol, or with a preset", "set")
        return
    try:
        protocol = registry.get(preset.protocol)
    except InputError as error:
        raise Misplaced(str(error), "protocol") from None
    try:
        parameters.build(protocol, written.set, preset.protocol)
    except InputError as error:
        raise Misplaced(str(error), "set", toml.named(written.set, str(error))) from None


# ---- commands


def command(
    preset: str, protocol: str, given: dict[str, Any], world: dict[str, Any], seed: int, reading: str = ""
) -> str:
    """The command that shows a run: `given` are parameters of the protocol, `world` fields of the scenario."""
    words = ["roamcast", "run", *([preset] if preset else []), "--protocol", protocol]
    words += ["--reading", reading] if reading else []
    for name, value in given.items():
        words += ["--set", f"{name}={_plain(value)}"]
    for name, value in flat(world).items():
        words += ["--world", f"{name}={_plain(value)}"]
    return shlex.join([*words, "--seed", str(seed)])


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
