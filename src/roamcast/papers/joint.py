"""How each paper is read as a whole: `joint/PAPER.toml`.

A paper was run in one world. Where its text leaves that world open, the *joint reading* is the combination of readings
that together fits the paper's numbers best, and each part has its own reason. The paper's presets are that world; these
files give the reasons, and the *changes* under which the claims are judged again:

    paper = "baldoni"
    calibration = ["B4"]                # the claims on which it was chosen; all others are out of sample
    chosen = "how it was chosen"

    [[part]]                            # where it differs from the project's former reading
    name = "subscribers-beacon"
    says = "only brokers with subscriptions send beacons (R6)"
    reason = "a place in the paper, what its simulator did, or physics"
    [part.back]                         # the change that undoes this part
    name = "everybody-beacons"
    says = "every broker sends beacons (R6)"
    params = { proximity = { beaconers = "all" } }
    [part.closer]                       # what more seeds than the campaign's gave for claims that it left undecided
    B8 = { verdict = "not reproduced", seeds = 640, measured = "0.81 ± 0.01" }

    [[other]]                           # any other plausible reading
    name = "range-per-node"
    says = "a node has one range for all its frames (R7)"
    reason = "why a reader might choose it"
    world = { range_per = "node" }

A change replaces values of a preset: fields of its world, parameters of its protocols. Values that an experiment sets
itself stay. `metrics` replaces metrics in checks: `{ reception = "delivery" }` uses delivery wherever a check uses
reception, which needs no new runs. `presets` and `experiments` limit where it applies; by default, everywhere.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from roamcast.errors import InputError, unknown
from roamcast.papers.experiments import PAPERS


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another reading: the joint reading with a change."""

    name: str
    says: str
    reason: str = ""
    world: dict[str, Any] = {}
    params: dict[str, dict[str, Any]] = {}
    metrics: dict[str, str] = {}
    presets: list[str] = []
    experiments: list[str] = []

    def applies_to(self, preset: str) -> bool:
        return not self.presets or preset in self.presets

    @property
    def needs_runs(self) -> bool:
        """Whether it changes the runs, and not only how they are counted."""
        return bool(self.world or self.params)


class Closer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a claim without a part, from more seeds than the full campaign spends on other readings."""

    verdict: str
    seeds: int
    measured: str


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a joint reading; `back` is the reading without it.

    `closer` has claims that the full campaign does not decide without the part.
    """

    name: str
    says: str
    reason: str
    back: Change
    closer: dict[str, Closer] = {}


class Joint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    paper: str
    calibration: list[str]
    chosen: str
    part: list[Part] = []
    other: list[Change] = []

    @property
    def changes(self) -> list[Change]:
        return [*(part.back for part in self.part), *self.other]

    @property
    def name(self) -> str:
        return ", ".join(part.name for part in self.part) or "as printed"

    def change(self, name: str) -> Change:
        for change in self.changes:
            if change.name == name:
                return change
        raise unknown("reading", name, [change.name for change in self.changes])


@cache
def load(paper: str) -> Joint:
    """The joint reading of a paper."""
    path = files("roamcast.papers").joinpath("joint", f"{paper}.toml")
    return parse(path.name, path.read_text(encoding="utf-8"))


def paper_of(preset: str) -> str:
    """The paper that a preset comes from; empty if it comes from none."""
    return next((paper for paper in PAPERS if preset == paper or preset.startswith(f"{paper}-")), "")


def of_preset(preset: str) -> Joint:
    """The joint reading of the paper that a preset comes from."""
    paper = paper_of(preset)
    if paper:
        return load(paper)
    raise InputError(f"the preset {preset} has no other readings: it comes from no paper")


def parse(name: str, text: str) -> Joint:
    try:
        joint = msgspec.convert(tomllib.loads(text), Joint)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"joint reading {name}: {error}") from None
    names = [change.name for change in joint.changes] + [part.name for part in joint.part]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise InputError(f"joint reading {name}: {', '.join(twice)} occurs twice")
    return joint
