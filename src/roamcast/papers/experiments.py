"""The papers' experiments as data: `experiments/PAPER/NAME.toml`, one file for each figure or table.

    title = "Gossip against its probability"
    paper = "baldoni"
    figure = "Fig. 11"
    source = "§VI-B"                    # where the parameters come from

    [campaign]                          # as in a campaign file, without its name
    preset = "baldoni"
    [[campaign.protocol]]
    name = "gossip"
    set = { p = [0.1, 0.5, 1.0] }

    [quick]                             # smaller values for a short run: replaces entries of [campaign]
    seeds = 3
    [full]                              # the paper's number of repetitions
    seeds = 30
    [sensitivity]                       # under other readings (joint.py): over [full]; by default ten seeds at most
    seeds = 8

    [[plot]]                            # a panel of the paper's figure
    x = "p"                             # a parameter or a field of the world
    y = "delivery"                      # a metric or a quantity (judging/quantities.py)
    x_label = "forwarding probability p"
    y_label = "delivery"
    published = [{ label = "gossip", x = 0.5, y = 0.7 }]     # values that the paper's text states

Files of the league name no protocols: league.toml has them, and their parameters. The sentence `cut` in such a file
says what was left out to save time: parameters by protocol under [entrants] replace those of league.toml, and [quick]
and [full] list protocols that do not take part (`without`).

A table of [quick], [full] or [sensitivity] replaces single entries of the table in [campaign]; anything else replaces
it completely.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from roamcast.errors import InputError, unknown

PAPERS = {
    "baldoni": "Baldoni et al. 2005",
    "baehni": "Baehni et al. 2005",
    "costa": "Costa et al. 2005",
    "rezende": "Rezende et al. 2008",
    "li": "Li et al. 2013",
}
"""The papers in their order: the name that files and options use, and what people call it."""

UNDER = "@"
"""Separates an experiment from its reading in the name of a campaign."""

LEAGUE = "league"
"""The folder of experiments of no paper: all protocols in the same worlds, a file for each world."""

SCALES = ("quick", "full")
SENSITIVITY_SEEDS = 10


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that the paper's text states."""

    x: float | str
    y: float
    label: str = ""


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One panel of a figure. `series` is what distinguishes the lines; `where` keeps only some of the cells."""

    x: str
    y: str
    x_label: str
    y_label: str
    title: str = ""
    series: str = "label"
    where: dict[str, str] = {}
    log_y: bool = False
    published: list[Stated] = []


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`name` is PAPER/NAME, as the folder and the file are called."""

    title: str
    paper: str
    figure: str
    source: str
    campaign: dict[str, Any]
    quick: dict[str, Any] = {}
    full: dict[str, Any] = {}
    sensitivity: dict[str, Any] = {}
    plot: list[Plot] = []
    note: str = ""
    cut: str = ""
    entrants: dict[str, dict[str, Any]] = {}
    name: str = ""

    def content(self, scale: str) -> dict[str, Any]:
        """The content of a campaign file of this scale."""
        if scale not in SCALES:
            raise unknown("scale", scale, SCALES)
        changes = dict(self.quick if scale == "quick" else self.full)
        entered = _entered(self, changes.pop("without", []))
        return {"name": self.name, **entered, **_changed(self.campaign, changes)}

    def content_under(self, reading: str) -> dict[str, Any]:
        """The same under another reading of the paper."""
        whole = self.content("full")
        seeds = whole.get("seeds", SENSITIVITY_SEEDS)
        fewer = min(seeds, SENSITIVITY_SEEDS) if isinstance(seeds, int) else seeds[:SENSITIVITY_SEEDS]
        content = _changed({**whole, "seeds": fewer}, self.sensitivity)
        return {**content, "name": f"{self.name}{UNDER}{reading}", "reading": reading}


def cited(paper: str) -> str:
    """Authors and year of a paper, by its name."""
    return PAPERS.get(paper, paper)


def names(papers: list[str] | None = None) -> list[str]:
    """All experiments, or those of some papers, by paper and name; the league comes last."""
    chosen = papers or [*PAPERS, LEAGUE]
    listed = []
    for folder in chosen:
        if folder not in PAPERS and folder != LEAGUE:
            raise unknown("paper", folder, [*PAPERS, LEAGUE])
        place = files("roamcast.papers").joinpath("experiments", folder)
        if not place.is_dir():
            continue
        stems = [path.name.removesuffix(".toml") for path in place.iterdir() if path.name.endswith(".toml")]
        listed += [f"{folder}/{stem}" for stem in sorted(stems, key=_natural)]
    return listed


def load(name: str) -> Experiment:
    if name not in names():
        raise unknown("experiment", name, names())
    folder, _, stem = name.partition("/")
    text = files("roamcast.papers").joinpath("experiments", folder, f"{stem}.toml").read_text(encoding="utf-8")
    try:
        return msgspec.convert({**tomllib.loads(text), "name": name}, Experiment)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"experiment {name}: {error}") from None


class Entrant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A protocol in the league; `source` is where its parameters are recommended."""

    name: str
    source: str
    set: dict[str, Any] = {}


@cache
def entrants() -> list[Entrant]:
    """All protocols of the league."""
    text = files("roamcast.papers").joinpath("league.toml").read_text(encoding="utf-8")
    try:
        return msgspec.convert(tomllib.loads(text)["protocol"], list[Entrant])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"league.toml: {error}") from None


def _entered(experiment: Experiment, without: list[str]) -> dict[str, Any]:
    """The protocols of a world of the league, as a campaign file would name them."""
    if not experiment.name.startswith(f"{LEAGUE}/"):
        return {}
    here = experiment.entrants
    taking_part = [e for e in entrants() if e.name not in without]
    return {"protocol": [{"name": e.name, "set": {**e.set, **here.get(e.name, {})}} for e in taking_part]}


def _changed(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    both = dict(base)
    for key, value in changes.items():
        both[key] = {**base.get(key, {}), **value} if isinstance(value, dict) and key != "until" else value
    return both


def _natural(stem: str) -> tuple[str, int, str]:
    """fig9 before fig11, and fig11 before fig11-more."""
    head, number, tail = re.fullmatch(r"(\D*)(\d*)(.*)", stem).groups()  # type: ignore[union-attr]
    return head, int(number or 0), tail
