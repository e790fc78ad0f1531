"""Means with confidence intervals, and differences paired by seed: of rows of the metrics table.

Two protocols under one seed face the same movement, the same publications and the same subscribers, so "is A better
than B" is asked of the differences seed by seed: what the worlds have in common cancels out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from roamcast.judging import paired
from roamcast.judging.settings import FIELD, PARAMETER, is_setting
from roamcast.judging.student import ALPHA, deviation, half_width, mean
from roamcast.lab.tables import columns
from roamcast.log.catalogue import AVERAGED

OF_RUN = ("run", "seed")
OTHER = "other_"
OF_CELL = itemgetter("campaign", "cell")

Row = dict[str, Any]


def summary(metrics: Iterable[Mapping[str, Any]]) -> list[Row]:
    """One row a cell and metric: how many runs, mean, standard deviation, Student's interval."""
    rows: list[Row] = []
    for _, runs in groupby(sorted(metrics, key=OF_CELL), OF_CELL):
        cell = list(runs)
        about = {name: cell[0][name] for name in cell[0] if _is_of_cell(name)}
        by_metric = ((metric, [run[metric] for run in cell if run[metric] is not None]) for metric in sorted(AVERAGED))
        rows += [{**about, "metric": metric, **spread(values)} for metric, values in by_metric if values]
    return rows


def _is_of_cell(column: str) -> bool:
    return is_setting(column) or (column in columns.COORDINATES and column not in OF_RUN)


def differences(
    metrics: Iterable[Mapping[str, Any]], cell: int, other: int, names: Collection[str] = AVERAGED
) -> list[Row]:
    """One row a metric: one cell of a campaign minus another one, over the seeds that both have (judging/paired.py).

    Settings of the protocols stand beside their labels: `p_credits`, `other_p_credits`. Those of the world are common.
    """
    rows = [row for row in metrics if row["cell"] in (cell, other)]
    ours, theirs = ({row["seed"]: row for row in rows if row["cell"] == place} for place in (cell, other))
    pairs = [(row, theirs[seed]) for seed, row in ours.items() if seed in theirs]
    if not pairs:
        return []
    about = _pair(*pairs[0])
    compared: list[Row] = []
    for metric in sorted(names):
        values = [a[metric] - b[metric] for a, b in pairs if a[metric] is not None and b[metric] is not None]
        if values:
            compared.append({**about, "metric": metric, **paired.compared(values)})
    return compared


def _pair(one: Mapping[str, Any], other: Mapping[str, Any]) -> Row:
    own, others, fields = (
        {prefix + name: value for name, value in row.items() if name.startswith(start)}
        for row, start, prefix in ((one, PARAMETER, ""), (other, PARAMETER, OTHER), (one, FIELD, ""))
    )
    first = {"campaign": one["campaign"], "cell": one["cell"], "label": one["label"]}
    second = {f"{OTHER}cell": other["cell"], f"{OTHER}label": other["label"]}
    return {**first, **own, **second, **others, **fields}


def spread(values: list[float]) -> Row:
    """n, mean, sd, half_width, low, high; of one value only n and mean."""
    n, middle = len(values), mean(values)
    if n < 2:
        return {"n": n, "mean": middle}
    sd = deviation(values)
    half = half_width(sd, n, ALPHA)
    return {"n": n, "mean": middle, "sd": sd, "half_width": half, "low": middle - half, "high": middle + half}
