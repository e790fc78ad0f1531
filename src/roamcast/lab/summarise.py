"""Means with confidence intervals, and differences paired by seed: of rows of the metrics table.

Two protocols under one seed face the same movement, the same publications and the same subscribers, so "is A better
than B" is asked of the differences seed by seed: what the worlds have in common cancels out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from math import sqrt
from operator import itemgetter
from typing import Any

from roamcast.judging.student import ALPHA, deviation, half_width, mean, two_sided
from roamcast.lab.tables import columns
from roamcast.log.catalogue import AVERAGED

CELL = [name for name in columns.COORDINATES if name not in ("run", "seed")]
OF_CELL = itemgetter("campaign", "cell")

Row = dict[str, Any]


def summary(metrics: Iterable[Mapping[str, Any]]) -> list[Row]:
    """One row a cell and metric: how many runs, mean, standard deviation, Student's interval."""
    rows: list[Row] = []
    for _, runs in groupby(sorted(metrics, key=OF_CELL), OF_CELL):
        cell = list(runs)
        about = {name: cell[0][name] for name in CELL}
        by_metric = ((metric, [run[metric] for run in cell if run[metric] is not None]) for metric in sorted(AVERAGED))
        rows += [{**about, "metric": metric, **spread(values)} for metric, values in by_metric if values]
    return rows


def differences(metrics: Iterable[Mapping[str, Any]], cell: int, other: int) -> list[Row]:
    """One row a metric: one cell of a campaign minus another one, over the seeds that both have."""
    rows = [row for row in metrics if row["cell"] in (cell, other)]
    ours, theirs = ({row["seed"]: row for row in rows if row["cell"] == place} for place in (cell, other))
    pairs = [(row, theirs[seed]) for seed, row in ours.items() if seed in theirs]
    if not pairs:
        return []
    about = {"cell": cell, "label": pairs[0][0]["label"], "other_cell": other, "other_label": pairs[0][1]["label"]}
    compared: list[Row] = []
    for metric in sorted(AVERAGED):
        values = [a[metric] - b[metric] for a, b in pairs if a[metric] is not None and b[metric] is not None]
        if values:
            estimate = spread(values)
            more = {"difference": estimate["mean"], "p_value": _p_value(estimate)}
            compared.append({**about, "metric": metric, **estimate, **more})
    return compared


def spread(values: list[float]) -> Row:
    """n, mean, sd, half_width, low, high; of one value only n and mean."""
    n, middle = len(values), mean(values)
    if n < 2:
        return {"n": n, "mean": middle}
    sd = deviation(values)
    half = half_width(sd, n, ALPHA)
    return {"n": n, "mean": middle, "sd": sd, "half_width": half, "low": middle - half, "high": middle + half}


def _p_value(estimate: Row) -> float | None:
    """Of the paired t-test, that there is no difference."""
    if estimate["n"] < 2:
        return None
    if estimate["sd"] == 0:
        return 1.0 if estimate["mean"] == 0 else 0.0
    return two_sided(estimate["mean"] / (estimate["sd"] / sqrt(estimate["n"])), estimate["n"])
