"""A whole trace: read once, checked, with its names and its malformed lines.

Malformed lines are counted and left out, unless `strict`. Refused, with one line that names the place: time running
backwards, a node at two places at one time or in two files at once, and degrees that would be read as metres. The
reader checks that within a part of a file (world/traces/watch.py); here it is checked across parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.window import Window
from pyspark.storagelevel import StorageLevel

from roamcast.errors import InputError
from roamcast.lab.traces.reading import packed
from roamcast.lab.traces.schemas import CONTACTS, POSITIONS
from roamcast.lab.traces.source import NAME, TraceSource
from roamcast.world.traces import formats
from roamcast.world.traces.names import counted
from roamcast.world.traces.plan import SPLIT_BYTES, Options, Part, plan
from roamcast.world.traces.record import CONTACT, EXTENT, POINT, PROBLEM, REFUSAL, SPAN, seconds
from roamcast.world.traces.watch import DEGREES, are_degrees

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SHOWN = 5
"""Malformed lines that are shown; all are counted."""


@dataclass(frozen=True)
class Malformed:
    count: int
    first: list[str]
    """`FILE, line N: what is wrong` of the first few."""


@dataclass(frozen=True)
class Trace:
    """Times are those of the file; a simulation of it begins at `begin_us`."""

    kind: formats.Kind
    format: str
    rows: DataFrame
    """With the schema POSITIONS or CONTACTS."""
    names: dict[int, str]
    """Number to name, in natural order."""
    malformed: Malformed
    begin_us: int
    end_us: int
    resolution_us: int
    absent: tuple[int, int]
    """How many nodes are absent at the beginning or the end, and how many come back."""
    records: DataFrame

    @property
    def stays(self) -> bool:
        return formats.get(self.format).stays

    def close(self) -> None:
        """Let Spark forget it."""
        self.records.unpersist()


def register(spark: SparkSession) -> None:
    spark.dataSource.register(TraceSource)


def read(
    spark: SparkSession,
    paths: list[str],
    options: Options | None = None,
    *,
    strict: bool = False,
    split_bytes: int = SPLIT_BYTES,
) -> Trace:
    """Spark caches the trace (in memory, then on disk) until `close`."""
    options = options or Options()
    parts = plan(paths, options, split_bytes)
    format = formats.get(parts[0].format)
    register(spark)
    source = spark.read.format(NAME).option("table", "records").option("parts", packed(parts))
    records = source.load().persist(StorageLevel.MEMORY_AND_DISK)
    try:
        malformed = _malformed(records, strict)
        _check_extents(records, parts, options.units)
        spans = records.where(F.col("kind") == SPAN)
        if len(parts) > 1 and format.kind == "positions":
            _check_spans(spans)
        names = _names(spans)
        if not names:
            what = f"; {malformed.count} malformed, the first: {malformed.first[0]}" if malformed.count else ""
            raise InputError(f"{paths[0]}: has no {format.kind}{what}")
        first, last = spans.agg(F.min("t_us"), F.max("until_us")).collect()[0]
        begin = first if format.begins == "first" else min(0, first)
        absent = (0, 0) if format.stays else _absent(spans, begin, last)
    except BaseException:
        records.unpersist()
        raise
    rows = _positions(records) if format.kind == "positions" else _contacts(records)
    return Trace(format.kind, format.name, rows, names, malformed, begin, last, parts[0].resolution_us, absent, records)


def _positions(records: DataFrame) -> DataFrame:
    return records.where(F.col("kind") == POINT).select(*POSITIONS.names)


def _contacts(records: DataFrame) -> DataFrame:
    columns = ("node", "peer", "t_us", "until_us")
    renamed = [F.col(old).alias(new) for old, new in zip(columns, CONTACTS.names, strict=True)]
    return records.where(F.col("kind") == CONTACT).select(*renamed)


def _names(spans: DataFrame) -> dict[int, str]:
    rows = spans.select("node", F.coalesce("name", F.col("node").cast("string")).alias("name")).distinct().collect()
    order = counted([row["name"] for row in rows])
    named: dict[int, str] = {}
    for row in sorted(rows, key=lambda row: order[row["name"]]):
        if row["node"] in named:
            raise InputError(f"nodes {named[row['node']]!r} and {row['name']!r} have the same number; rename one")
        named[row["node"]] = row["name"]
    return named


def _where(row: Row) -> str:
    return f"{row['file']}, line {row['line']}: {row['text']}"


def _malformed(records: DataFrame, strict: bool) -> Malformed:
    bad = records.where(F.col("kind").isin(PROBLEM, REFUSAL))
    counts = {row["kind"]: row["count"] for row in bad.groupBy("kind").count().collect()}
    if counts.get(REFUSAL):
        raise InputError(_where(bad.where(F.col("kind") == REFUSAL).orderBy("file", "line").first()))  # type: ignore[arg-type]
    if not counts:
        return Malformed(0, [])
    first = [_where(row) for row in bad.orderBy("file", "line").take(SHOWN)]
    if strict:
        raise InputError(first[0])
    return Malformed(counts[PROBLEM], first)


def _check_extents(records: DataFrame, parts: list[Part], units: str) -> None:
    """Check the order of time over the parts of a file, and that coordinates are not degrees."""
    rows = records.where(F.col("kind") == EXTENT).orderBy("file", "part").collect()
    before = {"": 0}
    for row in rows:
        if row["text"]:
            began, now = (int(t_us) for t_us in row["text"].split())
            if began < before.get(row["file"], began):
                late, soon = seconds(before[row["file"]]), seconds(began)
                raise InputError(
                    f"{row['file']}, line {row['part']}: time runs backwards: {soon}, after {late} before that line; "
                    "sort the lines by time"
                )
            before[row["file"]] = now
    moves, fast = sum(row["t_us"] for row in rows), sum(row["until_us"] for row in rows)
    widest_x, widest_y = (max(row[axis] for row in rows) for axis in ("x_m", "y_m"))
    if units != "metres" and parts[0].origin is None and are_degrees(moves, fast, widest_x, widest_y):
        raise InputError(f"{parts[0].path}: {DEGREES} (--units degrees, --units metres)")


def _check_spans(spans: DataFrame) -> None:
    """Check each node over the parts of one file, and over files."""
    parts = Window.partitionBy("node", "file").orderBy("part")
    after = spans.select(
        "*", F.lag("until_us").over(parts).alias("before_us"), F.lag("text").over(parts).alias("before_place")
    )
    moved = (F.col("t_us") == F.col("before_us")) & (F.col("peer_name") != F.col("before_place"))
    wrong = after.where((F.col("t_us") < F.col("before_us")) | moved).orderBy("file", "line").first()
    if wrong is not None:
        node, now = wrong["name"] or wrong["node"], seconds(wrong["t_us"])
        if wrong["t_us"] < wrong["before_us"]:
            late = seconds(wrong["before_us"])
            what = f"time runs backwards for node {node}: {now}, after {late}; sort the lines by time"
        else:
            what = f"node {node} is at two places at {now}"
        raise InputError(f"{wrong['file']}, line {wrong['line']}: {what}")
    whole = spans.groupBy("node", "file").agg(
        F.min("t_us").alias("t_us"), F.max("until_us").alias("until_us"), F.first("name").alias("name")
    )
    files = Window.partitionBy("node").orderBy("t_us", "until_us", "file")
    twice = whole.select(
        "*", F.lag("until_us").over(files).alias("before_us"), F.lag("file").over(files).alias("other")
    ).where(F.col("t_us") <= F.col("before_us"))
    both = twice.orderBy("file").first()
    if both is not None:
        node = both["name"] or both["node"]
        raise InputError(f"node {node} is in {both['other']} and in {both['file']} at {seconds(both['t_us'])}")


def _absent(spans: DataFrame, begin: int, end: int) -> tuple[int, int]:
    whole = spans.groupBy("node").agg(
        F.min("t_us").alias("t_us"), F.max("until_us").alias("until_us"), F.max("segment").alias("segment")
    )
    ends = F.sum(((F.col("t_us") > begin) | (F.col("until_us") < end)).cast("int"))
    row = whole.agg(ends.alias("ends"), F.sum((F.col("segment") > 0).cast("int")).alias("gaps")).collect()[0]
    return row["ends"], row["gaps"]
