"""The cells of a campaign, named by what distinguishes them: for tables, axes and legends.

A setting is a field of the world or a parameter of the protocol that a campaign has set. Settings that all cells share
are listed once; each of the others is a column, or a part of the cell's name if only some protocols have it.
Everything here works on rows of the tables `metrics` and `summary` (lab/tables/schemas.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from roamcast.judging import settings as columns
from roamcast.judging.settings import text
from roamcast.show import numbers

Row = Mapping[str, Any]
Settings = dict[str, str]

UNITS = {
    "": "",
    "s": "s",
    "ms": "ms",
    "m": "m",
    "mps": "m/s",
    "hz": "Hz",
    "bps": "Mbit/s",
    "bytes": "bytes",
    "db": "dB",
}
"""What parameters and fields have at the end of their names, and what people write."""

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
}
"""Letters that names spell out, on axes as in legends."""


def start(preset: str, reading: str = "") -> str:
    """What runs started from: a preset, or a scenario file, of which tables have the whole path."""
    name = Path(preset).name
    return f"{name} ({reading})" if reading else name


# ---- one setting


def split_unit(setting: str) -> tuple[str, str]:
    """`speed_max_mps` is ("speed_max", "m/s")."""
    name, _, ending = setting.rpartition("_")
    return (name, UNITS[ending]) if name and ending in UNITS else (setting, "")


def heading(setting: str) -> str:
    """`speed_max_mps` is "speed max [m/s]"."""
    name, unit = split_unit(setting)
    return f"{in_words(name)} [{unit}]" if unit else in_words(name)


def in_words(name: str) -> str:
    """`speed_max` is "speed max", `phi` is "φ"."""
    return " ".join(GREEK.get(word, word) for word in name.split("_"))


def in_unit(setting: str, value: str) -> str:
    """A value in the unit of the heading."""
    if setting.endswith("_bps") and as_number(value) is not None:
        return f"{float(value) / 1e6:g}"
    return plain(value)


def shown(setting: str, value: str) -> str:
    """The same for people: 1,500."""
    text = in_unit(setting, value)
    number = as_number(text)
    return text if number is None or abs(number) < 1000 else numbers.plain(number)


def plain(value: str) -> str:
    """As people write it: 20, not 20.0."""
    return value.removesuffix(".0") if as_number(value) is not None else value


def as_number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def listed(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={plain(value)}" for name, value in settings.items())


# ---- all cells


def settings(row: Row) -> Settings:
    """Fields of the scenario and parameters; a field that is called like a parameter is `world.NAME`."""
    return {name: text(value) for name, value in values(row).items()}


def values(row: Row) -> dict[str, Any]:
    """The same as they are, not as texts."""
    params, world = columns.params(row), columns.world(row)
    return {(f"world.{name}" if name in params else name): value for name, value in world.items()} | params


def distinct(rows: Iterable[Row]) -> list[Row]:
    """One row of each cell, in the campaign's order."""
    first: dict[tuple[str, int], Row] = {}
    for row in rows:
        first.setdefault((row["campaign"], row["cell"]), row)
    return [first[place] for place in sorted(first)]


class Cells(msgspec.Struct, frozen=True):
    """What the cells of a campaign have in common, and what distinguishes them.

    `common` are the settings of all cells; `fixed`, by label, those of all cells with that label. `columns` are
    settings that vary and that every label has; `own`, by label, those that vary and that other labels do not have.
    """

    labels: list[str]
    common: Settings
    fixed: dict[str, Settings]
    columns: list[str]
    own: dict[str, list[str]]

    def name(self, row: Row) -> str:
        """Without the settings that are columns: "gossip p=0.3"; empty if the columns say it all."""
        label = [row["label"]] if len(self.labels) > 1 else []
        return " ".join([*label, *self._values(row, self.own[row["label"]])])

    def full_name(self, row: Row) -> str:
        """With the columns: "gossip p=0.3 speed_max_mps=20"."""
        label = row["label"] if len(self.labels) > 1 else ""
        return f"{label} {self.varying(row)}".strip() or str(row["label"])

    def varying(self, row: Row) -> str:
        """What distinguishes the cell from others with its label: "p=0.3 speed_max_mps=20"."""
        return " ".join(self._values(row, [*self.own[row["label"]], *self.columns]))

    def swept(self) -> list[str]:
        """All settings that vary within a label."""
        return list(dict.fromkeys([*self.columns, *(name for names in self.own.values() for name in names)]))

    @staticmethod
    def _values(row: Row, names: Sequence[str]) -> list[str]:
        have = settings(row)
        return [f"{name}={plain(have[name])}" for name in names if name in have]


def compare(rows: Sequence[Row]) -> Cells:
    """One row for each cell."""
    labels = list(dict.fromkeys(row["label"] for row in rows))
    of_label = {label: [settings(row) for row in rows if row["label"] == label] for label in labels}
    everywhere = [each for members in of_label.values() for each in members]
    cells = Cells(labels, {}, {label: {} for label in labels}, [], {label: [] for label in labels})
    for name in dict.fromkeys(name for each in everywhere for name in each):
        values = {label: list(dict.fromkeys(each.get(name) for each in of_label[label])) for label in labels}
        shared = all(each.get(name) == everywhere[0].get(name) for each in everywhere)
        varies = any(len(there) > 1 for there in values.values())
        if shared:
            cells.common[name] = everywhere[0][name]
        elif varies and all(there != [None] for there in values.values()):
            cells.columns.append(name)
        else:
            for label, (value, *more) in values.items():
                if more:
                    cells.own[label].append(name)
                elif value is not None:
                    cells.fixed[label][name] = value
    return cells
