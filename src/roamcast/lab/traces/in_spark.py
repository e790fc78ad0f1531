"""Tables on Spark's workers, for traces that outgrow one machine. Spark moves rows; rules do the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from roamcast.lab.spark.frames import struct
from roamcast.lab.spark.session import cores
from roamcast.lab.spark.worker import stage
from roamcast.lab.traces.reading import kind_of, packed
from roamcast.lab.traces.schemas import TABLES
from roamcast.lab.traces.source import NAME, register
from roamcast.lab.traces.table import Columns, Rule, Table, columns_of, whole_groups
from roamcast.world.traces.plan import Part
from roamcast.world.traces.record import CONTACT, POINT

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

ROWS_AT_ONCE = 1 << 17
"""That a rule gets, if groups are smaller."""
ITEMS_AT_ONCE = 64
"""That are worth a task."""
RENAMED = {"positions": dict(zip(TABLES["positions"].names, TABLES["positions"].names, strict=True))}
RENAMED["contacts"] = {"i": "node", "j": "peer", "from_us": "t_us", "until_us": "until_us"}
"""Columns of a trace's rows, and what they are called among its records."""


class SparkTable(Table):
    """`frame` is the table as a DataFrame."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame

    def select(self, **columns: str) -> Table:
        return SparkTable(self.frame.select(*(F.col(old).alias(new) for new, old in columns.items())))

    def of_kind(self, *kinds: int) -> Table:
        return SparkTable(self.frame.where(F.col("kind").isin(*kinds)))

    def mapped(self, rule: Rule, **settings: Any) -> Table:
        return self._run("each_batch", rule, settings)

    def grouped(self, rule: Rule, by: Sequence[str], order: Sequence[str] = (), **settings: Any) -> Table:
        together = SparkTable(self.frame.repartition(*by).sortWithinPartitions(*by, *order))
        return together._run("each_group", rule, settings, by=list(by))

    def reduced(self, rule: Rule, **settings: Any) -> Columns:
        parts = self._run("whole_partition", rule, settings).frame.toArrow()
        return columns_of(pa.Table.from_batches(list(rule(parts, **settings)), rule.schema))

    def for_each(self, items: Sequence[int], rule: Rule, **settings: Any) -> Table:
        spark = self.frame.sparkSession
        shared = spark.sparkContext.broadcast(self.frame.toArrow())
        groups = max(1, min(cores(spark), -(-len(items) // ITEMS_AT_ONCE)))
        table = SparkTable(spark.createDataFrame([(item,) for item in items], "item long").repartition(groups))
        return table._run("some_items", rule, settings, shared=shared)

    def in_order(self, *by: str) -> Iterator[tuple[Any, ...]]:
        keys = [F.desc(name[1:]) if name[0] == "-" else F.asc(name) for name in by]
        yield from map(tuple, self.frame.orderBy(*keys).toLocalIterator(prefetchPartitions=True))

    @contextmanager
    def kept(self) -> Iterator[Table]:
        self.frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield self
        finally:
            self.frame.unpersist()

    def count(self) -> int:
        return self.frame.count()

    def columns(self) -> Columns:
        return columns_of(self.frame.toArrow())

    def _run(self, how: str, rule: Rule, settings: dict[str, Any], **more: Any) -> SparkTable:
        work = stage(f"{__name__}:{how}", rule=rule.name, settings=settings, **more)
        return SparkTable(self.frame.mapInArrow(work, struct(rule.schema)))


class InSpark:
    """Reads traces with Spark, which keeps them (in memory, then on disk) until `close`."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def read(self, parts: list[Part]) -> tuple[Table, Table]:
        """The rows of a trace, and the records that are about them."""
        register(self.spark)
        source = self.spark.read.format(NAME).option("table", "records").option("parts", packed(parts))
        records = source.load().persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(records)
        kind = kind_of(parts)
        rows = SparkTable(records.where(F.col("kind") == (POINT if kind == "positions" else CONTACT)))
        about = SparkTable(records.where(~F.col("kind").isin(POINT, CONTACT)))
        return rows.select(**RENAMED[kind]), about

    def close(self) -> None:
        while self._kept:
            self._kept.pop().unpersist()


# ---- on a worker


def each_batch(batches: Iterator[pa.RecordBatch], rule: str, settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    run = _rule_called(rule)
    for batch in batches:
        yield from run(pa.Table.from_batches([batch]), **settings)


def each_group(
    batches: Iterator[pa.RecordBatch], rule: str, settings: dict[str, Any], by: list[str]
) -> Iterator[pa.RecordBatch]:
    run = _rule_called(rule)
    for rows in whole_groups(batches, by, ROWS_AT_ONCE):
        yield from run(rows, **settings)


def whole_partition(batches: Iterator[pa.RecordBatch], rule: str, settings: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """One result for all batches: now and then they are reduced together with what the earlier ones gave."""
    run = _rule_called(rule)
    held: list[pa.RecordBatch] = []
    enough = ROWS_AT_ONCE
    for batch in batches:
        held.append(batch)
        if sum(len(piece) for piece in held) > enough:
            held = list(run(pa.Table.from_batches(held), **settings))
            enough = ROWS_AT_ONCE + 2 * sum(len(piece) for piece in held)
    if held:
        yield from run(pa.Table.from_batches(held), **settings)


def some_items(
    batches: Iterator[pa.RecordBatch], rule: str, settings: dict[str, Any], shared: Broadcast[pa.Table]
) -> Iterator[pa.RecordBatch]:
    items = [item for batch in batches for item in batch.column(0).to_pylist()]
    if items:
        yield from _rule_called(rule)(shared.value, items=items, **settings)


def _rule_called(name: str) -> Rule:
    module, _, function = name.partition(":")
    rule: Rule = getattr(import_module(module), function)
    return rule
