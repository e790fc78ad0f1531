"""From positions to contacts, exactly: movement is piecewise linear, so begin and end are roots of a quadratic.

Legs are cut into time slices, and the box that a leg covers in a slice, widened by half the range, into grid cells. Two
nodes that are in contact at some instant are then in one slice and share a cell, so rows with equal (slice, cell) have
every pair of legs that can matter; a pair that shares several cells is solved in the last corner of its common box only
(its smallest common cell). The roots are computed from where the two legs begin together, whatever the slice, and then
clipped to it; so slices and cells cannot be seen in the result, only in the time it takes.

Contact is the closed disc (distance <= range). Instants are rounded to microseconds. Two nodes that only touch are not
in contact; two that keep exactly the range are.

The roots are those of the simulator (`world.contacts.solver`), and the rest of the arithmetic is numpy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from roamcast.errors import InputError
from roamcast.lab.traces.columns import Array
from roamcast.lab.traces.schemas import BUCKETED, CONTACTS, DOUBLE, LEGS, LONG, schema
from roamcast.lab.traces.table import Columns, Table, group_ends, group_starts, rule, spelled_out
from roamcast.world.contacts.solver import together_all

if TYPE_CHECKING:
    from roamcast.lab.traces.trace import Trace

CELL_RANGES = 2.0
"""Edge of a cell in ranges: fewer cells for each leg, against fewer pairs in each cell. Ours, measured."""
MOST_SLICES = 100_000
MOST_CELLS = 64
"""Of a box. A leg that is so fast that its box has more is followed column by column."""
FARTHEST_CELLS = 1_000_000
"""From one position to the next: whatever is farther is no movement."""
MOST_PIECES = 1 << 21
"""Of contacts, before those that touch become one."""
ROUNDING_M = 1e-6
"""Far above that of coordinates, so that nobody who stands on the edge of a cell is missed."""


def of(trace: Trace, range_m: float = 0.0) -> Table:
    """The contacts of a trace, whatever it has: CONTACTS."""
    if trace.kind == "contacts":
        if range_m:
            raise InputError(f"range={range_m:g}: {trace.format} has contacts and no positions; leave the range out")
        return merged(trace.rows)
    if not range_m:
        raise InputError(f"{trace.format} has positions; say at which range in metres nodes are in contact: --range M")
    return contacts(legs_of(trace), range_m)


def legs_of(trace: Trace) -> Table:
    return legs(trace.rows, (trace.begin_us, trace.end_us) if trace.stays else None)


def contacts(legs: Table, range_m: float, slice_us: int = 0, cell_m: float = 0.0) -> Table:
    """LEGS to CONTACTS. Slices and cells are chosen to fit, unless they are given."""
    if not range_m > 0.0:
        raise InputError(f"range={range_m:g}: must be above 0 m")
    cell_m = cell_m or CELL_RANGES * range_m
    slice_us = slice_us or _slice_us(legs, range_m, cell_m)
    cells = legs.mapped(buckets, range_m=range_m, slice_us=slice_us, cell_m=cell_m)
    return merged(cells.grouped(meetings, ["slice", "cx", "cy"], ["node"], slice_us=slice_us, range_m=range_m))


# ---- legs


def legs(positions: Table, standing: tuple[int, int] | None = None) -> Table:
    """POSITIONS to LEGS. If `standing` is an interval, nodes stand at their first and last places in the rest of it."""
    return positions.grouped(legs_of_nodes, ["node"], ["segment", "t_us"], standing=standing)


@rule(LEGS)
def legs_of_nodes(rows: Columns, standing: tuple[int, int] | None) -> Iterator[list[Array]]:
    node, t_us, x, y, segment = (rows[name] for name in ("node", "t_us", "x_m", "y_m", "segment"))
    took = np.diff(t_us)
    k = np.flatnonzero((np.diff(node) == 0) & (np.diff(segment) == 0) & (took > 0))
    velocities = ((place[k + 1] - place[k]) / took[k] for place in (x, y))
    yield [node[k], t_us[k], t_us[k + 1], x[k], y[k], *velocities]
    if standing is not None:
        in_time = np.lexsort((t_us, node))
        starts = group_starts(node[in_time])
        first, last = in_time[starts], in_time[group_ends(starts, len(node)) - 1]
        yield from _still(rows, first, np.full(len(first), standing[0]), t_us[first])
        yield from _still(rows, last, t_us[last], np.full(len(last), standing[1]))


def _still(rows: Columns, k: Array, from_us: Array, until_us: Array) -> Iterator[list[Array]]:
    """Legs at the places k, where they take any time."""
    lasting = from_us < until_us
    k, zero = k[lasting], np.zeros(int(lasting.sum()))
    yield [rows["node"][k], from_us[lasting], until_us[lasting], rows["x_m"][k], rows["y_m"][k], zero, zero]


# ---- slices and cells

WHOLE = schema(far_m=DOUBLE, took_us=LONG, legs=LONG, from_us=LONG, until_us=LONG, farthest_m=DOUBLE)
"""About many legs: sums, how many, ends, and the longest one."""


def _slice_us(legs: Table, range_m: float, cell_m: float) -> int:
    """About as long as a leg, so that legs in one slice overlap in time, or as a node takes to cross a cell."""
    whole = legs.mapped(lengths).reduced(all_lengths)
    if not len(whole["legs"]):
        return 1
    far_m, farthest_m = (float(whole[name][0]) for name in ("far_m", "farthest_m"))
    took_us, count, from_us, until_us = (int(whole[name][0]) for name in ("took_us", "legs", "from_us", "until_us"))
    if farthest_m > FARTHEST_CELLS * cell_m:
        what = f"a node goes {farthest_m / 1000:,.0f} km from one position to the next"
        raise InputError(f"{what}: too far for contacts at a range of {range_m:g} m; is it a jump, or another unit?")
    lasts = until_us - from_us
    crossing = int(min(cell_m * took_us / far_m, lasts)) if far_m > 0.0 else lasts
    return max(1, min(crossing, took_us // count), lasts // MOST_SLICES)


@rule(WHOLE)
def lengths(rows: Columns) -> Iterator[list[Array]]:
    took = rows["until_us"] - rows["from_us"]
    far = np.hypot(rows["vx_mpus"], rows["vy_mpus"]) * took
    yield [far, took, np.ones(len(took), np.int64), rows["from_us"], rows["until_us"], far]


@rule(WHOLE)
def all_lengths(rows: Columns) -> Iterator[list[Array]]:
    if len(rows["legs"]):
        sums = [rows[name].sum(keepdims=True) for name in ("far_m", "took_us", "legs")]
        latest, longest = (rows[name].max(keepdims=True) for name in ("until_us", "farthest_m"))
        yield [*sums, rows["from_us"].min(keepdims=True), latest, longest]


@rule(BUCKETED)
def buckets(rows: Columns, range_m: float, slice_us: int, cell_m: float) -> Iterator[list[Array]]:
    yield from bucketed([rows[name] for name in LEGS.names], range_m, slice_us, cell_m)


def bucketed(legs: list[Array], range_m: float, slice_us: int, cell_m: float) -> Iterator[list[Array]]:
    """LEGS with a row for each slice and cell (BUCKETED), in pieces, for a leg may have very many of them.

    The box of a leg that goes far in a slice would have cells without number, most of which it does not come near: in
    each column of them it is given those that it passes, and the column is a box of its own. Such a leg may be solved
    with another one in several columns, each time with the same result, which `merged` makes one.
    """
    first, last = legs[1] // slice_us, (legs[2] - 1) // slice_us
    for rows, slices in spelled_out(first, last):
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
        for by_x, cx in spelled_out(cx0, cx1):
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
            for by_y, cy in spelled_out(south, north):
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


# ---- pairs


@rule(CONTACTS)
def meetings(rows: Columns, slice_us: int, range_m: float) -> Iterator[list[Array]]:
    """BUCKETED, whole cells, to pieces of contacts; those of one pair that touch are one piece."""
    legs = [rows[name] for name in LEGS.names]
    held: list[list[Array]] = []
    for p, q in _pairs(rows):
        one, other = ([leg[k] for leg in legs] for k in (p, q))
        held.append(solved(one, other, rows["slice"][p] * slice_us, slice_us, range_m))
        if sum(len(pieces[0]) for pieces in held) > MOST_PIECES:
            held = [_together(held)]
    if held:
        yield _together(held)


def _together(held: list[list[Array]]) -> list[Array]:
    columns = [np.concatenate(column) for column in zip(*held, strict=True)]
    order = np.lexsort(columns[::-1])
    return union(*(column[order] for column in columns))


def _pairs(rows: Columns) -> Iterator[tuple[Array, Array]]:
    """Places of two legs of different nodes that share this cell, and none before it, and are there together."""
    node, cx, cy, cx0, cy0 = (rows[name] for name in ("node", "cx", "cy", "cx0", "cy0"))
    starts = group_starts(rows["slice"], cx, cy)
    ends = group_ends(starts, len(node))
    last = np.repeat(ends, ends - starts) - 1
    for p, q in spelled_out(np.arange(1, len(node) + 1), last):
        first_common = (cx[p] == np.maximum(cx0[p], cx0[q])) & (cy[p] == np.maximum(cy0[p], cy0[q]))
        together = np.maximum(rows["from_us"][p], rows["from_us"][q]) < np.minimum(
            rows["until_us"][p], rows["until_us"][q]
        )
        matter = first_common & together & (node[p] < node[q])  # in a cell, legs are in the order of nodes
        yield p[matter], q[matter]


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


def merged(pieces: Table) -> Table:
    """CONTACTS to CONTACTS: of each pair the maximal intervals; one that begins where another ends continues it."""
    return pieces.grouped(unions, ["i", "j"], ["from_us", "until_us"])


@rule(CONTACTS)
def unions(rows: Columns) -> Iterator[list[Array]]:
    yield union(*(rows[name] for name in CONTACTS.names))


def union(i: Array, j: Array, from_us: Array, until_us: Array) -> list[Array]:
    """Of rows that are sorted by all four columns."""
    if not len(i):
        return [i, j, from_us, until_us]
    new_pair = np.zeros(len(i), bool)
    new_pair[group_starts(i, j)] = True
    # the latest end so far of each pair: times as ranks, so that those of a later pair are above all before it
    ends, rank = np.unique(until_us, return_inverse=True)
    above = (np.cumsum(new_pair) - 1) * len(ends)
    latest = ends[np.maximum.accumulate(rank + above) - above]
    begins = new_pair.copy()
    begins[1:] |= from_us[1:] > latest[:-1]
    k = np.flatnonzero(begins)
    return [i[k], j[k], from_us[k], np.maximum.reduceat(until_us, k)]
