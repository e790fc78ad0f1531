"""From one format to another: rows are sorted, and written one by one.

The file appears under its name when it is complete. If its nodes are numbers and the trace has names, the names are in
FILE.names.csv beside it.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.lab.traces import contacts
from roamcast.lab.traces.columns import Array
from roamcast.lab.traces.schemas import DOUBLE, INT, LONG, POSITIONS, schema
from roamcast.lab.traces.table import Columns, Table, group_ends, group_starts, rule, spelled_out
from roamcast.lab.traces.trace import Trace
from roamcast.world.traces import write
from roamcast.world.traces.write import Facts, Target

PLACES = schema(k=INT, t_us=LONG, x_m=DOUBLE, y_m=DOUBLE, segment=INT)
"""Positions of numbered nodes, from 0 us on."""
LINES = schema(t_us=LONG, a=INT, b=INT, up=pa.bool_())
"""What happens to a pair of numbered nodes, a < b, from 0 us on."""
BOX = schema(west=DOUBLE, east=DOUBLE, south=DOUBLE, north=DOUBLE)

ALONE_US = 1_000_000
"""Default resolution of contact lists that are computed from positions. Ours."""
STEPS = 200


@dataclass(frozen=True)
class Converted:
    rows: int
    names: Path | None
    """Where the names are, if the file has numbers instead."""
    warnings: list[str]


def convert(
    trace: Trace,
    path: Path,
    to: str,
    range_m: float = 0.0,
    resolution_s: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Converted:
    target = write.get(to)
    _check(trace, target, to, range_m)
    resolution_us = round(resolution_s * 1e6) or trace.resolution_us or ALONE_US
    with _rows(trace, target, to, range_m, resolution_us).kept() as rows:
        count = rows.count()
        facts = _facts(trace, rows if target.kind == "positions" else None, resolution_us)
        names = _write(path, target, facts, _reported(rows.in_order(*_order(target)), count, progress))
    lines = count // 2 if to == "intervals" else count  # the beginning and the end of a contact are one line there
    return Converted(lines, names, _warnings(trace, target, to))


def _check(trace: Trace, target: Target, to: str, range_m: float) -> None:
    if target.kind == "positions":
        if trace.kind == "contacts":
            raise InputError(
                f"--to {to}: {trace.format} has contacts and no positions; use one-conn, intervals or contact-list"
            )
        if range_m:
            raise InputError(f"--range {range_m:g}: {to} has positions; leave the range out")


def _rows(trace: Trace, target: Target, to: str, range_m: float, resolution_us: int) -> Table:
    """PLACES or LINES."""
    numbers = {"nodes": np.array(list(trace.names), np.int64), "begin_us": trace.begin_us}
    if target.kind == "positions":
        stays = trace.stays and target.absences != "none"
        rows = _standing(trace.rows, trace.begin_us, trace.end_us) if stays else trace.rows
        return rows.mapped(places, **numbers)
    met = contacts.of(trace, range_m)
    if to in ("one-conn", "intervals"):
        return met.mapped(ups_and_downs, **numbers)
    return met.grouped(steps, ["i", "j"], ["from_us"], resolution_us=resolution_us, **numbers)


def _order(target: Target) -> list[str]:
    if target.kind == "contacts":
        return ["t_us", "-up", "a", "b"]
    return ["k", "t_us", "segment"] if target.by == "node" else ["t_us", "k", "segment"]


def _numbers(nodes: Array, numbered: Array) -> Array:
    """The places of nodes among those that are numbered 0, 1, 2 …"""
    by_node = np.argsort(numbered)
    return by_node[np.searchsorted(numbered[by_node], nodes)]


@rule(PLACES)
def places(rows: Columns, nodes: Array, begin_us: int) -> Iterator[list[Array]]:
    k = _numbers(rows["node"], nodes)
    yield [k, rows["t_us"] - begin_us, rows["x_m"], rows["y_m"], rows["segment"]]


def _standing(positions: Table, begin_us: int, end_us: int) -> Table:
    """POSITIONS with a row at either end of the trace for nodes that stay."""
    return positions.grouped(with_ends, ["node"], ["t_us", "segment"], begin_us=begin_us, end_us=end_us)


@rule(POSITIONS)
def with_ends(rows: Columns, begin_us: int, end_us: int) -> Iterator[list[Array]]:
    yield list(rows.values())
    starts = group_starts(rows["node"])
    for place, t_us in ((starts, begin_us), (group_ends(starts, len(rows["node"])) - 1, end_us)):
        k = place[rows["t_us"][place] != t_us]
        yield [np.full(len(k), t_us) if name == "t_us" else column[k] for name, column in rows.items()]


def _pairs(rows: Columns, nodes: Array) -> tuple[Array, Array]:
    i, j = (_numbers(rows[end], nodes) for end in ("i", "j"))
    return np.minimum(i, j), np.maximum(i, j)


@rule(LINES)
def ups_and_downs(rows: Columns, nodes: Array, begin_us: int) -> Iterator[list[Array]]:
    """As contacts begin and end."""
    a, b = _pairs(rows, nodes)
    for name, up in (("from_us", True), ("until_us", False)):
        yield [rows[name] - begin_us, a, b, np.full(len(a), up)]


@rule(LINES)
def steps(rows: Columns, nodes: Array, begin_us: int, resolution_us: int) -> Iterator[list[Array]]:
    """CONTACTS of whole pairs, in order of time, to the steps that they touch for more than an instant."""
    a, b = _pairs(rows, nodes)
    first = (rows["from_us"] - begin_us) // resolution_us + 1
    last = np.maximum(-((begin_us - rows["until_us"]) // resolution_us), first)
    same_pair = np.append(False, (np.diff(a) == 0) & (np.diff(b) == 0))
    first = np.where(same_pair & (first == np.append(0, last[:-1])), first + 1, first)  # two contacts may share a step
    for k, step in spelled_out(first, last):
        yield [step * resolution_us, a[k], b[k], np.ones(len(k), bool)]


def _facts(trace: Trace, places: Table | None, resolution_us: int) -> Facts:
    names = list(trace.names.values())
    end_us = trace.end_us - trace.begin_us
    if places is None:
        return Facts(names=names, end_us=end_us, resolution_us=resolution_us)
    box = places.select(west="x_m", east="x_m", south="y_m", north="y_m").reduced(around)
    west, east, south, north = (float(column[0]) + 0.0 for column in box.values())  # which makes 0 of -0
    return Facts(names=names, end_us=end_us, west_m=west, east_m=east, south_m=south, north_m=north)


@rule(BOX)
def around(rows: Columns) -> Iterator[list[Array]]:
    if len(rows["west"]):
        west, south = (rows[side].min(keepdims=True) for side in ("west", "south"))
        east, north = (rows[side].max(keepdims=True) for side in ("east", "north"))
        yield [west, east, south, north]


def _reported(
    rows: Iterator[tuple[object, ...]], count: int, progress: Callable[[float], None] | None
) -> Iterator[tuple[object, ...]]:
    every = max(1, count // STEPS)
    for k, row in enumerate(rows, 1):
        if progress is not None and k % every == 0:
            progress(k / count)
        yield row


def _warnings(trace: Trace, target: Target, to: str) -> list[str]:
    ends, gaps = trace.absent
    if target.kind == "contacts" or target.absences == "all":
        return []
    lost = gaps if target.absences == "ends" else ends
    if not lost and not gaps:
        return []
    what = "stand where they appear and vanish" if lost == ends and ends else "walk straight while they were absent"
    return [f"{max(lost, gaps)} nodes are absent part of the time, which {to} cannot express: they {what}"]


# ---- files


def _write(path: Path, target: Target, facts: Facts, rows: Iterator[tuple[object, ...]]) -> Path | None:
    counted = [str(k) for k in range(len(facts.names))]
    labels = {"any": facts.names, "words": facts.labels(), "none": counted}[target.names]
    beside = path.with_name(path.name + ".names.csv") if labels != facts.names else None
    with _complete(path) as out:
        if target.places is not None:
            target.places(out, rows, facts)  # type: ignore[arg-type]
        elif target.lines is not None:
            target.lines(out, rows, facts)  # type: ignore[arg-type]
        if beside is not None:
            with _complete(beside) as table:
                csv.writer(table, lineterminator="\n").writerows(
                    [("number", "name"), *zip(labels, facts.names, strict=True)]
                )
    return beside


@contextmanager
def _complete(path: Path) -> Iterator[TextIO]:
    """A file that appears under its name when it is complete, or never."""
    try:
        with files.completed(path) as draft, draft.open("wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(path.name, "wb", fileobj=file, mtime=0) as packed, _text(packed) as out:
                    yield out
            else:
                with _text(file) as out:
                    yield out
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error_text(error)})") from None


def _text(file: object) -> TextIOWrapper:
    return TextIOWrapper(file, encoding="utf-8", newline="\n")  # type: ignore[arg-type]
