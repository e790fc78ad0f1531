"""From one format to another: Spark sorts the rows, and they are written one by one.

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
from typing import TYPE_CHECKING, TextIO

from pyspark.sql import functions as F

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.lab.traces import contacts
from roamcast.world.traces import write
from roamcast.world.traces.write import Facts, Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from roamcast.lab.traces.trace import Trace

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
    if target.kind == "positions":
        if trace.kind == "contacts":
            raise InputError(f"--to {to}: {trace.format} has contacts and no positions; use one-conn or contact-list")
        if range_m:
            raise InputError(f"--range {range_m:g}: {to} has positions; leave the range out")
        rows = _places(trace, target)
    resolution_us = round(resolution_s * 1e6) or trace.resolution_us or ALONE_US
    if target.kind == "contacts":
        pairs = _numbered_pairs(trace, contacts.of(trace, range_m))
        rows = _events(pairs) if to == "one-conn" else _steps(pairs, resolution_us)
    rows = rows.persist()
    try:
        count = rows.count()
        facts = _facts(trace, rows if target.kind == "positions" else None, resolution_us)
        names = _write(path, target, facts, _reported(rows, count, progress))
    finally:
        rows.unpersist()
    return Converted(count, names, _warnings(trace, target, to))


def _numbers(trace: Trace) -> DataFrame:
    counted = [(node, k) for k, node in enumerate(trace.names)]
    return F.broadcast(trace.rows.sparkSession.createDataFrame(counted, "node long, k int"))


def _places(trace: Trace, target: Target) -> DataFrame:
    """(k, t_us, x_m, y_m, segment), from 0 us on, in the order of the format."""
    rows = trace.rows.select("node", "t_us", "x_m", "y_m", "segment")
    if trace.stays and target.absences != "none":
        rows = _standing(rows, trace.begin_us, trace.end_us)
    placed = rows.join(_numbers(trace), "node").select(
        "k", (F.col("t_us") - trace.begin_us).alias("t_us"), "x_m", "y_m", "segment"
    )
    return placed.orderBy("k", "t_us", "segment") if target.by == "node" else placed.orderBy("t_us", "k", "segment")


def _standing(rows: DataFrame, begin_us: int, end_us: int) -> DataFrame:
    """With a row at either end of the trace for nodes that stay."""
    row = F.struct("t_us", "x_m", "y_m", "segment")
    ends = rows.groupBy("node").agg(F.min_by(row, "t_us").alias("first"), F.max_by(row, "t_us").alias("last"))
    result = rows
    for side, t_us in (("first", begin_us), ("last", end_us)):
        still = ends.where(F.col(f"{side}.t_us") != t_us)
        place = (F.col(f"{side}.{name}") for name in ("x_m", "y_m", "segment"))
        result = result.unionAll(still.select("node", F.lit(t_us).cast("long"), *place))
    return result


def _numbered_pairs(trace: Trace, met: DataFrame) -> DataFrame:
    """(a, b, from_us, until_us), a < b, from 0 us on."""
    numbers = _numbers(trace)
    for end in ("i", "j"):
        met = met.join(numbers.withColumnRenamed("k", f"k_{end}"), F.col(end) == F.col("node")).drop("node")
    return met.select(
        F.least("k_i", "k_j").alias("a"),
        F.greatest("k_i", "k_j").alias("b"),
        *((F.col(name) - trace.begin_us).alias(name) for name in ("from_us", "until_us")),
    )


def _events(met: DataFrame) -> DataFrame:
    """(t_us, a, b, up), as contacts begin and end."""
    ups = met.select(F.col("from_us").alias("t_us"), "a", "b", F.lit(True).alias("up"))
    downs = met.select(F.col("until_us").alias("t_us"), "a", "b", F.lit(False).alias("up"))
    return ups.unionAll(downs).orderBy("t_us", F.desc("up"), "a", "b")


def _steps(met: DataFrame, resolution_us: int) -> DataFrame:
    """(t_us, a, b, there) of every step that a contact touches for more than an instant."""
    first = F.floor(F.col("from_us") / resolution_us) + 1
    last = F.greatest(F.ceil(F.col("until_us") / resolution_us), first)
    steps = met.select(F.explode(F.sequence(first, last)).alias("step"), "a", "b").distinct()
    return steps.select((F.col("step") * resolution_us).alias("t_us"), "a", "b", F.lit(True).alias("there")).orderBy(
        "t_us", "a", "b"
    )


def _facts(trace: Trace, places: DataFrame | None, resolution_us: int) -> Facts:
    names = list(trace.names.values())
    end_us = trace.end_us - trace.begin_us
    if places is None:
        return Facts(names=names, end_us=end_us, resolution_us=resolution_us)
    west, east, south, north = places.agg(F.min("x_m"), F.max("x_m"), F.min("y_m"), F.max("y_m")).collect()[0]
    return Facts(names=names, end_us=end_us, west_m=west, east_m=east, south_m=south, north_m=north)


def _reported(rows: DataFrame, count: int, progress: Callable[[float], None] | None) -> Iterator[tuple[object, ...]]:
    every = max(1, count // STEPS)
    for k, row in enumerate(rows.toLocalIterator(prefetchPartitions=True), 1):
        if progress is not None and k % every == 0:
            progress(k / count)
        yield tuple(row)


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
