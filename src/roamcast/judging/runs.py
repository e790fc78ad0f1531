"""Choosing runs, and their numbers by seed. A run is a row of the metrics table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from roamcast.errors import InputError, NoData
from roamcast.judging import settings, student
from roamcast.judging.publisher import publisher
from roamcast.judging.quantities import value
from roamcast.judging.words import described
from roamcast.log.metric import Row

Spec = Mapping[str, Any]
"""A check as in its file."""
Samples = dict[int, float]
"""A number by seed."""


def selected(rows: Sequence[Row], where: Spec) -> list[Row]:
    chosen = [row for row in rows if fits(row, where)]
    if not chosen:
        raise NoData(f"no runs with {described(where)}")
    return chosen


def fits(row: Row, where: Spec) -> bool:
    """Whether a run, or a cell that is to be run, has all these coordinates."""
    return all(_has(row, name, wanted) for name, wanted in where.items())


def coordinate(row: Row, name: str) -> str | None:
    """A run's label, protocol, parameter or world field as text; or the node that publishes first.

    `world.NAME` is the field even if a parameter has the same name.
    """
    if name in ("label", "protocol", "preset", "campaign"):
        return str(row[name])
    field = name.removeprefix("world.")
    for column in (settings.of_parameter(name), settings.of_field(field)):
        if row.get(column) is not None:
            return settings.text(row[column])
    if field == "publisher":
        return str(publisher(row))
    return str(row["nodes"]) if field == "nodes" else None


def _has(row: Row, name: str, wanted: Any) -> bool:
    have = coordinate(row, name)
    accepted = wanted if isinstance(wanted, list) else [wanted]
    return have is not None and any(_same(have, settings.text(each)) for each in accepted)


def _same(a: str, b: str) -> bool:
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def number(row: Row, x: str) -> float:
    """A coordinate that is a number."""
    have = coordinate(row, x)
    if have is None:
        raise NoData(f"no {x} in the runs")
    try:
        return float(have)
    except ValueError:
        raise InputError(f"{x}={have}: is not a number") from None


def samples(rows: Iterable[Row], metric: str) -> Samples:
    """The metric by seed; where several cells are chosen, their mean, which does not depend on the order of rows."""
    by_seed: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        have = value(row, metric)
        if have is not None and isfinite(have):
            by_seed[row["seed"]].append(have)
    if not by_seed:
        raise NoData(f"no run has a {metric}")
    return {seed: student.mean(values) for seed, values in sorted(by_seed.items())}


def curve(rows: Iterable[Row], x: str, metric: str) -> dict[float, Samples]:
    """The metric by seed at each x, ascending."""
    return {at: samples(chosen, metric) for at, chosen in split(rows, x).items()}


def split(rows: Iterable[Row], x: str) -> dict[float, list[Row]]:
    """The runs at each x, ascending."""
    by_x: dict[float, list[Row]] = defaultdict(list)
    for row in rows:
        by_x[number(row, x)].append(row)
    return {at: by_x[at] for at in sorted(by_x)}


def mean(by_seed: Samples) -> float:
    return student.mean([*by_seed.values()])


def paired(a: Samples, b: Samples) -> list[float]:
    """Differences seed by seed: runs of one seed share their world, which cancels out."""
    both = sorted(a.keys() & b.keys())
    if not both:
        raise NoData("the two have no seed in common")
    return [a[seed] - b[seed] for seed in both]


def common_seeds(points: Iterable[Samples]) -> list[int]:
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in points)))
    if not seeds:
        raise NoData("the points have no seed in common")
    return seeds
