"""The papers' scenarios as data: `presets/NAME.toml` has every value with where it comes from.

A preset is the world of its paper under the joint reading (joint.py), which also names the other readings of it.

A source is a place in the paper ("Fig. 10"), a numbered reading of it ("reading R7", see the protocol's module), or
"ours: why" where the paper is silent. Fields that a preset leaves out have the scenario's defaults.
"""

from __future__ import annotations

import shlex
import tomllib
from importlib.resources import files
from typing import Any

import msgspec

from roamcast.errors import InputError, unknown
from roamcast.papers import joint
from roamcast.papers.joint import Change
from roamcast.world.scenario import Scenario, with_values


class Sourced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value and where it comes from."""

    value: Any
    source: str


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A preset as it stands in its file."""

    title: str
    paper: str
    protocol: str
    scenario: dict[str, Sourced]
    params: dict[str, dict[str, Sourced]] = {}


class Preset(msgspec.Struct, frozen=True):
    """`values` are scenario fields; `params` are parameters by protocol; `sources` has both, as `field` and
    `protocol.parameter`. `protocol` is the paper's own. `reading` names the change that it is under, if any."""

    name: str
    title: str
    paper: str
    values: dict[str, Any]
    sources: dict[str, str]
    protocol: str
    params: dict[str, dict[str, Any]]
    reading: str = ""

    def scenario(self, changes: dict[str, str] | None = None) -> Scenario:
        """The scenario, with what was typed (`--world KEY=VALUE`) over the preset's values."""
        return with_values(self.values, changes or {})

    def parameters(self, protocol: str, given: dict[str, Any]) -> dict[str, Any]:
        """What is given over what the paper sets for this protocol in this scenario."""
        return {**self.params.get(protocol, {}), **given}

    def under(self, change: Change) -> Preset:
        """The same paper read another way."""
        if not change.applies_to(self.name):
            return msgspec.structs.replace(self, reading=change.name)
        params = dict(self.params)
        for protocol, values in change.params.items():
            params[protocol] = {**params.get(protocol, {}), **values}
        return msgspec.structs.replace(self, reading=change.name, values={**self.values, **change.world}, params=params)


def names() -> list[str]:
    paths = files("roamcast.papers").joinpath("presets").iterdir()
    return sorted(path.name.removesuffix(".toml") for path in paths if path.name.endswith(".toml"))


def load(name: str, reading: str = "") -> Preset:
    """The preset of this name, its values checked; under another reading of its paper, if one is named."""
    if name not in names():
        raise unknown("preset", name, names())
    text = files("roamcast.papers").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    preset = parse(name, text)
    return preset.under(joint.of_preset(name).change(reading)) if reading else preset


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
    )
    try:
        preset.scenario()
    except InputError as error:
        raise InputError(f"preset {name}: {error}") from None
    return preset


def command(
    preset: str, protocol: str, given: dict[str, Any], world: dict[str, Any], seed: int, reading: str = ""
) -> str:
    """What to type to see a run: `given` are parameters of the protocol, `world` fields of the scenario."""
    words = ["roamcast", "run", preset, "--protocol", protocol]
    words += ["--reading", reading] if reading else []
    for name, value in given.items():
        words += ["--set", f"{name}={_plain(value)}"]
    for name, value in world.items():
        words += ["--world", f"{name}={_plain(value)}"]
    return shlex.join([*words, "--seed", str(seed)])


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
