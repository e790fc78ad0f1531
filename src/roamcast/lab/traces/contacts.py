"""From positions to contacts, exactly: movement is piecewise linear, so begin and end are roots of a quadratic.

Legs are cut into time slices, and the box that a leg covers in a slice, widened by half the range, into grid cells. Two
nodes that are in contact at some instant are then in one slice and share a cell, so an equi-join on (slice, cell) finds
every pair of legs that can matter; a pair that shares several cells is solved in the last corner of its common box only
(its smallest common cell). The roots are computed from where the two legs begin together, whatever the slice, and then
clipped to it; so slices and cells cannot be seen in the result, only in the time it takes.

Contact is the closed disc (distance <= range). Instants are rounded to microseconds. Two nodes that only touch are not
in contact; two that keep exactly the range are.

The roots are those of the simulator (`world.contacts.solver`), and the rest of the arithmetic is numpy's, between
Spark's joins: as expressions of Spark it would be multiplied by its optimiser beyond all bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.window import Window

from roamcast.errors import InputError
from roamcast.lab.spark.worker import stage
from roamcast.lab.traces.schemas import BUCKETED, CONTACTS, LEGS
from roamcast.world.contacts.solver import together_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from roamcast.lab.traces.trace import Trace

Array = NDArray[Any]

CELL_RANGES = 2.0
"""Edge of a cell in ranges: fewer cells for each leg, against fewer pairs in each cell. Ours, measured."""
MOST_SLICES = 100_000
MOST_CELLS = 64
"""Of a box. A leg that is so fast that its box has more is followed column by column."""
FARTHEST_CELLS = 1_000_000
"""From one position to the next: whatever is farther is no movement."""
AT_ONCE = 1 << 18
"""Rows of a piece."""
ROUNDING_M = 1e-6
"""Far above that of coordinates, so that nobody who stands on the edge of a cell is missed."""


def of(trace: Trace, range_m: float = 0.0) -> DataFrame:
    """The contacts of a trace, whatever it has: CONTACTS."""
    if trace.kind == "contacts":
        if range_m:
            raise InputError(f"range={range_m:g}: {trace.format} has contacts and no positions; leave the range out")
        return merged(trace.rows)
    if not range_m:
        raise InputError(f"{trace.format} has positions; say at which range (m) nodes are in contact")
    return contacts(legs_of(trace), range_m)


def legs_of(trace: Trace) -> DataFrame:
    return legs(trace.rows, (trace.begin_us, trace.end_us) if trace.stays else None)


def legs(positions: DataFrame, standing: tuple[int, int] | None = None) -> DataFrame:
    """POSITIONS to LEGS. If `standing` is an interval, nodes stand at their first and last places in the rest of it."""
    track = Window.partitionBy("node", "segment").orderBy("t_us")
    following = {name: F.lead(name).over(track).alias(f"to_{name}") for name in ("t_us", "x_m", "y_m")}
    took = F.col("to_t_us") - F.col("t_us")
    walked = positions.select("node", "t_us", "x_m", "y_m", *following.values()).where(took > 0)
    moving = walked.select(
        "node",
        F.col("t_us").alias("from_us"),
        F.col("to_t_us").alias("until_us"),
        "x_m",
        "y_m",
        ((F.col("to_x_m") - F.col("x_m")) / took).alias("vx_mpus"),
        ((F.col("to_y_m") - F.col("y_m")) / took).alias("vy_mpus"),
    )
    if standing is None:
        return moving
    begin, end = standing
    place = F.struct("t_us", "x_m", "y_m")
    ends = positions.groupBy("node").agg(F.min_by(place, "t_us").alias("first"), F.max_by(place, "t_us").alias("last"))
    sides = {"first": (F.lit(begin), F.col("first.t_us")), "last": (F.col("last.t_us"), F.lit(end))}
    for side, (from_us, until_us) in sides.items():
        still = ends.select(
            "node",
            from_us.cast("long").alias("from_us"),
            until_us.cast("long").alias("until_us"),
            F.col(f"{side}.x_m"),
            F.col(f"{side}.y_m"),
            F.lit(0.0).alias("vx_mpus"),
            F.lit(0.0).alias("vy_mpus"),
        )
        moving = moving.unionAll(still.where(F.col("from_us") < F.col("until_us")))
    return moving


def contacts(legs: DataFrame, range_m: float, slice_us: int = 0, cell_m: float = 0.0) -> DataFrame:
    """LEGS to CONTACTS. Slices and cells are chosen to fit, unless they are given."""
    if not range_m > 0.0:
        raise InputError(f"range={range_m:g}: must be above 0 m")
    cell_m = cell_m or CELL_RANGES * range_m
    slice_us = slice_us or _slice_us(legs, range_m, cell_m)
    bucketed = _bucketed(legs, range_m, slice_us, cell_m)
    a, b = bucketed.alias("a"), bucketed.alias("b")
    same = [F.col(f"a.{key}") == F.col(f"b.{key}") for key in ("slice", "cx", "cy")]
    first_common = (F.col("a.cx") == F.greatest("a.cx0", "b.cx0")) & (F.col("a.cy") == F.greatest("a.cy0", "b.cy0"))
    together = F.greatest("a.from_us", "b.from_us") < F.least("a.until_us", "b.until_us")
    pairs = a.join(b, [*same, F.col("a.node") < F.col("b.node")]).where(first_common & together)
    sides = (F.col(f"{side}.{name}").alias(f"{side}_{name}") for side in "ab" for name in LEGS.names)
    solve = stage(f"{__name__}:solve_batches", slice_us=slice_us, range_m=range_m)
    return merged(pairs.select("a.slice", *sides).mapInArrow(solve, CONTACTS))


def solve_batches(batches: Iterator[pa.RecordBatch], slice_us: int, range_m: float) -> Iterator[pa.RecordBatch]:
    schema = to_arrow_schema(CONTACTS)
    for batch in batches:
        columns = [column.to_numpy() for column in batch.columns]
        contacts = solved(columns[1:8], columns[8:], columns[0] * slice_us, slice_us, range_m)
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.int64()) for column in contacts], schema=schema)


def _slice_us(legs: DataFrame, range_m: float, cell_m: float) -> int:
    """About as long as a leg, so that legs in one slice overlap in time, or as a node takes to cross a cell."""
    took = F.col("until_us") - F.col("from_us")
    far = F.hypot("vx_mpus", "vy_mpus") * took
    sums = (F.sum(far), F.sum(took), F.count(took), F.min("from_us"), F.max("until_us"), F.max(far))
    row = legs.agg(*sums).collect()[0]
    if not row[2]:
        return 1
    if row[5] > FARTHEST_CELLS * cell_m:
        what = f"a node goes {row[5] / 1000:,.0f} km from one position to the next"
        raise InputError(f"{what}: too far for contacts at a range of {range_m:g} m; is it a jump, or another unit?")
    far_m, took_us, count, whole = float(row[0]), int(row[1]), int(row[2]), int(row[4] - row[3])
    crossing = int(min(cell_m * took_us / far_m, whole)) if far_m > 0.0 else whole
    return max(1, min(crossing, took_us // count), whole // MOST_SLICES)


def _bucketed(legs: DataFrame, range_m: float, slice_us: int, cell_m: float) -> DataFrame:
    bucket = stage(f"{__name__}:bucket_batches", range_m=range_m, slice_us=slice_us, cell_m=cell_m)
    return legs.select(*LEGS.names).mapInArrow(bucket, BUCKETED)


def bucket_batches(
    batches: Iterator[pa.RecordBatch], range_m: float, slice_us: int, cell_m: float
) -> Iterator[pa.RecordBatch]:
    schema = to_arrow_schema(BUCKETED)
    for batch in batches:
        for columns in bucketed([c.to_numpy() for c in batch.columns], range_m, slice_us, cell_m):
            yield pa.RecordBatch.from_arrays([pa.array(c) for c in columns], schema=schema)


def bucketed(legs: list[Array], range_m: float, slice_us: int, cell_m: float) -> Iterator[list[Array]]:
    """LEGS with a row for each slice and cell (BUCKETED), in pieces, for a leg may have very many of them.

    The box of a leg that goes far in a slice would have cells without number, most of which it does not come near: in
    each column of them it is given those that it passes, and the column is a box of its own. Such a leg may be solved
    with another one in several columns, each time with the same result, which `merged` makes one.
    """
    first, last = legs[1] // slice_us, (legs[2] - 1) // slice_us
    for rows, slices in _spelled_out(first, last):
        node, from_us, until_us, x, y, vx, vy = (column[rows] for column in legs)
        since = np.maximum(from_us, slices * slice_us) - from_us
        until = np.minimum(until_us, (slices + 1) * slice_us) - from_us
        margin = range_m / 2 + ROUNDING_M
        cells = []
        for place, speed in ((x, vx), (y, vy)):
            here, there = place + speed * since, place + speed * until
            low, high = np.minimum(here, there) - margin, np.maximum(here, there) + margin
            cells += [np.floor(low / cell_m).astype(np.int64), np.floor(high / cell_m).astype(np.int64)]
        cx0, cx1, cy0, cy1 = cells
        fast = (cx1 - cx0 + 1) * (cy1 - cy0 + 1) > MOST_CELLS
        for by_x, cx in _spelled_out(cx0, cx1):
            west, south, north = cx0[by_x], cy0[by_x], cy1[by_x]
            if fast[by_x].any():
                f = np.flatnonzero(fast[by_x])
                g = by_x[f]
                ends = _within_column(
                    cx[f] * cell_m - margin, (cx[f] + 1) * cell_m + margin, x[g], vx[g], since[g], until[g]
                )
                ys = [y[g] + vy[g] * s for s in ends]
                west[f] = cx[f]
                south[f] = np.floor((np.minimum(*ys) - margin) / cell_m)
                north[f] = np.floor((np.maximum(*ys) + margin) / cell_m)
            for by_y, cy in _spelled_out(south, north):
                k = by_x[by_y]
                walk = [column[k] for column in (node, from_us, until_us, x, y, vx, vy)]
                yield [*walk, slices[k], cx[by_y], cy, west[by_y], south[by_y]]


def _within_column(low: Array, high: Array, x: Array, vx: Array, since: Array, until: Array) -> tuple[Array, Array]:
    """Between which times, from `since` to `until`, legs are within columns which they touch."""
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (low - x) / vx, (high - x) / vx
    still = vx == 0.0
    enters = np.where(still, since, np.clip(np.minimum(a, b), since, until))
    leaves = np.where(still, until, np.clip(np.maximum(a, b), since, until))
    return enters, leaves


def _spelled_out(first: Array, last: Array) -> Iterator[tuple[Array, Array]]:
    """(k, value) for every value from first[k] to last[k], not too many at a time."""
    counts = last - first + 1
    before = np.concatenate(([0], np.cumsum(counts)))
    k = 0
    while k < len(counts):
        end = max(k + 1, int(np.searchsorted(before, before[k] + AT_ONCE, side="right")) - 1)
        rows = np.repeat(np.arange(k, end), counts[k:end])
        yield rows, first[rows] + np.arange(before[k], before[end]) - before[rows]
        k = end


def solved(one: list[Array], other: list[Array], slice_from: Array, slice_us: int, range_m: float) -> list[Array]:
    """When, within their slices, pairs of legs are in contact."""
    t0, t1 = np.maximum(one[1], other[1]), np.minimum(one[2], other[2])
    px, py = ((other[k] + other[k + 2] * (t0 - other[1])) - (one[k] + one[k + 2] * (t0 - one[1])) for k in (3, 4))
    pairs = np.column_stack((px, py, other[5] - one[5], other[6] - one[6])).astype("<f8")
    intervals = np.frombuffer(together_all(pairs.tobytes(), range_m * range_m), "<f8").reshape(-1, 2)
    meets = np.isfinite(intervals[:, 0])
    lasts = (t1 - t0).astype(np.float64)
    rounded = (np.where(meets, np.minimum(intervals[:, k], lasts), 0.0) + 0.5 for k in (0, 1))
    begin, end = (np.floor(times).astype(np.int64) for times in rounded)
    from_us = np.maximum(t0 + begin, slice_from)
    until_us = np.minimum(t0 + end, slice_from + slice_us)
    lasting = meets & (from_us < until_us)
    return [column[lasting] for column in (one[0], other[0], from_us, until_us)]


def merged(pieces: DataFrame) -> DataFrame:
    """CONTACTS to CONTACTS: of each pair the maximal intervals; one that begins where another ends continues it."""
    pair = Window.partitionBy("i", "j").orderBy("from_us", "until_us")
    before = pair.rowsBetween(Window.unboundedPreceding, -1)
    known = F.max("until_us").over(before)
    begins = (known.isNull() | (F.col("from_us") > known)).cast("long")
    so_far = pair.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = pieces.select(*CONTACTS.names, begins.alias("begins"))
    numbered = numbered.select(*CONTACTS.names, F.sum("begins").over(so_far).alias("contact"))
    whole = numbered.groupBy("i", "j", "contact").agg(
        F.min("from_us").alias("from_us"), F.max("until_us").alias("until_us")
    )
    return whole.select(*CONTACTS.names)
