"""Two campaigns beside each other: the same cells before and after a change, paired by seed.

Cells are the same if they have the same label and the same settings; their places and the campaign's name may differ.
What differs in plan is kept apart from what differs in results: another default of a parameter is a difference in plan
even if no file names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from roamcast.errors import InputError
from roamcast.judging import paired, settings
from roamcast.judging.student import mean
from roamcast.log import catalogue

Row = dict[str, Any]
Key = tuple[Any, ...]
PLANNED = ("preset", "reading", "protocol", "level", "code")
"""Columns of the table of runs that say what was to be run."""


class Change(msgspec.Struct, frozen=True):
    """Something about the plan that is not the same, and for how many of the cells that both have."""

    what: str
    before: str
    after: str
    cells: int


class Contrast(msgspec.Struct, frozen=True):
    """`rows` has one row a common cell and metric: after minus before, seed by seed, in the columns of `differences`,
    with both means (`before`, `after`) and the number of runs that are the same event by event (`same`)."""

    changes: list[Change]
    only_before: list[str]
    only_after: list[str]
    rows: list[Row]


def contrast(
    before: tuple[Sequence[Row], Sequence[Row]], after: tuple[Sequence[Row], Sequence[Row]], metrics: Iterable[str]
) -> Contrast:
    """Of two campaigns, each as (rows of `runs`, rows of `metrics`)."""
    names = [catalogue.averaged(metric).name for metric in metrics]
    several = any(len({row["campaign"] for row in runs}) > 1 for runs, _ in (before, after))
    planned_before, planned_after = _by_cell(before[0], several), _by_cell(after[0], several)
    common = [key for key in planned_before if key in planned_after]
    if not common:
        raise InputError("the campaigns have no cell in common: no label with the same settings is in both")
    old, new = _by_cell(before[1], several), _by_cell(after[1], several)
    rows = [row for key in common for row in _compared(old.get(key, []), new.get(key, []), names)]
    return Contrast(
        changes=_changes([(planned_before[key], planned_after[key]) for key in common]),
        only_before=[_name(rows[0]) for key, rows in planned_before.items() if key not in planned_after],
        only_after=[_name(rows[0]) for key, rows in planned_after.items() if key not in planned_before],
        rows=paired.corrected(rows),
    )


def _by_cell(rows: Sequence[Row], several: bool) -> dict[Key, list[Row]]:
    """Folders of several campaigns may have a cell in more than one; then the campaign's name tells them apart, in all
    tables of both folders."""
    cells: dict[Key, list[Row]] = {}
    for row in rows:
        chosen = {**_texts("", settings.params(row)), **_texts("world.", settings.world(row))}
        key = (row["campaign"] if several else "", row["label"], *sorted(chosen.items()))
        cells.setdefault(key, []).append(row)
    return cells


def _texts(prefix: str, chosen: Mapping[str, Any]) -> dict[str, str]:
    return {f"{prefix}{name}": settings.text(value) for name, value in chosen.items()}


def _name(row: Row) -> str:
    chosen = {**_texts("", settings.params(row)), **_texts("", settings.world(row))}
    return " ".join([row["label"], *(f"{name}={value}" for name, value in chosen.items())])


# ---- results


def _compared(old: Sequence[Row], new: Sequence[Row], names: Sequence[str]) -> list[Row]:
    theirs = {row["seed"]: row for row in old}
    pairs = [(row, theirs[row["seed"]]) for row in new if row["seed"] in theirs]
    compared = []
    for metric in names:
        have = [(a, b) for a, b in pairs if a[metric] is not None and b[metric] is not None]
        if have:
            means = {"before": mean([b[metric] for _, b in have]), "after": mean([a[metric] for a, _ in have])}
            same = {"same": sum(a["fingerprint"] == b["fingerprint"] for a, b in have)}
            values = paired.compared([a[metric] - b[metric] for a, b in have])
            compared.append({**_about(have[0][0]), "metric": metric, **means, **values, **same})
    return compared


def _about(row: Row) -> Row:
    chosen = {name: value for name, value in row.items() if settings.is_setting(name) and value is not None}
    return {"name": _name(row), "campaign": row["campaign"], "cell": row["cell"], "label": row["label"], **chosen}


# ---- plans


def _changes(cells: Sequence[tuple[Sequence[Row], Sequence[Row]]]) -> list[Change]:
    counted: dict[tuple[str, str, str], int] = {}
    for before, after in cells:
        for change in _differing(_plan(before), _plan(after)):
            counted[change] = counted.get(change, 0) + 1
    return [Change(*change, cells=count) for change, count in counted.items()]


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str, str]]:
    names = dict.fromkeys([*before, *after])
    pairs = ((name, before.get(name, "–"), after.get(name, "–")) for name in names)
    return [(name, old, new) for name, old, new in pairs if old != new]


def _plan(rows: Sequence[Row]) -> dict[str, str]:
    """All that was decided about a cell, by name."""
    first = rows[0]
    whole = {name: str(first[name]) for name in PLANNED}
    scenario = {f"world.{name}": settings.text(value) for name, value in json.loads(first["scenario"]).items()}
    params = {name: settings.text(value) for name, value in json.loads(first["all_params"]).items()}
    return {**whole, **scenario, **params, "seeds": _ranges(sorted({row["seed"] for row in rows}))}


def _ranges(seeds: Sequence[int]) -> str:
    """1-3, 7."""
    spans: list[list[int]] = []
    for seed in seeds:
        if spans and seed == spans[-1][1] + 1:
            spans[-1][1] = seed
        else:
            spans.append([seed, seed])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
