"""Means with confidence intervals, and differences paired by seed.

Two protocols under one seed face the same movement, the same publications and the same subscribers, so "is A better
than B" is asked of the differences seed by seed: what the worlds have in common cancels out.

One task does it all: a campaign has a million runs at most, and for a few thousand a shuffle costs more than the sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import sqrt
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from roamcast.judging.student import ALPHA, deviation, half_width, mean, two_sided
from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import schemas
from roamcast.lab.tables.schemas import DIFFERENCES, SUMMARY
from roamcast.log.catalogue import AVERAGED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CELL = [f.name for f in schemas.COORDINATES.fields if f.name not in ("run", "seed")]
OF_CELL = itemgetter("campaign", "cell")

Row = dict[str, Any]


def summary(metrics: DataFrame) -> DataFrame:
    """One row a cell and metric: how many runs, mean, standard deviation, Student's interval."""
    numbers = metrics.select(*CELL, "seed", *AVERAGED)
    ordered = numbers.coalesce(1).sortWithinPartitions("campaign", "cell", "seed")
    return ordered.mapInArrow(stage(f"{__name__}:summarise"), SUMMARY)


def differences(metrics: DataFrame, cell: int, other: int) -> DataFrame:
    """One row a metric: one cell of a campaign minus another one, over the seeds that both have."""
    numbers = metrics.select("cell", "label", "seed", *AVERAGED)
    both = numbers.where(f"cell in ({cell}, {other})").coalesce(1).sortWithinPartitions("seed")
    return both.mapInArrow(stage(f"{__name__}:compare", cell=cell, other=other), DIFFERENCES)


# ---- on a worker


def summarise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _, runs in groupby(_rows(batches), OF_CELL):
        cell = list(runs)
        about = {name: cell[0][name] for name in CELL}
        by_metric = ((metric, [run[metric] for run in cell if run[metric] is not None]) for metric in sorted(AVERAGED))
        yield _batch([{**about, "metric": metric, **spread(values)} for metric, values in by_metric if values], SUMMARY)


def compare(batches: Iterator[pa.RecordBatch], cell: int, other: int) -> Iterator[pa.RecordBatch]:
    rows = list(_rows(batches))
    ours, theirs = ({row["seed"]: row for row in rows if row["cell"] == place} for place in (cell, other))
    pairs = [(row, theirs[seed]) for seed, row in ours.items() if seed in theirs]
    if not pairs:
        return
    about = {"cell": cell, "label": pairs[0][0]["label"], "other_cell": other, "other_label": pairs[0][1]["label"]}
    rows_out: list[Row] = []
    for metric in sorted(AVERAGED):
        values = [a[metric] - b[metric] for a, b in pairs if a[metric] is not None and b[metric] is not None]
        if values:
            estimate = spread(values)
            more = {"difference": estimate["mean"], "p_value": _p_value(estimate)}
            rows_out.append({**about, "metric": metric, **estimate, **more})
    yield _batch(rows_out, DIFFERENCES)


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


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from batch.to_pylist()


def _batch(rows: list[Row], schema: StructType) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, to_arrow_schema(schema))
