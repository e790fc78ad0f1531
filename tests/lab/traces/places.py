"""Where tables can be: here, in Spark, and scattered as Spark might scatter them but without waiting for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.lab.spark.frames import struct
from roamcast.lab.traces.here import Here, HereTable
from roamcast.lab.traces.table import Columns, Rule, Table, columns_of, whole_groups
from roamcast.world.traces.plan import Part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roamcast.lab.traces.trace import Place

PLENTY = 1 << 40
"""Bytes of memory for tables of tests."""


def here(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> HereTable:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return HereTable(pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema), PLENTY)


def table_at(place: Place, rows: Sequence[Sequence[Any]], schema: pa.Schema) -> Table:
    """A table with these rows, as one that is read to that place."""
    if isinstance(place, Here):
        return here(rows, schema)
    if isinstance(place, Scattering):
        return Scattered.of(here(rows, schema).rows, place.random)
    from roamcast.lab.traces.in_spark import InSpark, SparkTable

    assert isinstance(place, InSpark)
    return SparkTable(place.spark.createDataFrame([tuple(row) for row in rows], struct(schema)))


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    """All rows, sorted."""
    return sorted(zip(*(column.tolist() for column in table.columns().values()), strict=True))


def in_spark(spark: SparkSession) -> Place:
    from roamcast.lab.traces.in_spark import InSpark

    return InSpark(spark)


class Scattering:
    """Reads as `Here`, but to partitions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def read(self, parts: list[Part]) -> tuple[Table, Table]:
        rows, about = Here(PLENTY).read(parts)
        assert isinstance(rows, HereTable) and isinstance(about, HereTable)
        return Scattered.of(rows.rows, self.random), Scattered.of(about.rows, self.random)

    def close(self) -> None: ...


class Scattered(Table):
    """Some partitions of batches of some rows, in no order. It works as in_spark.py does."""

    def __init__(self, partitions: list[list[pa.RecordBatch]], schema: pa.Schema, random: Random) -> None:
        self.partitions = partitions
        self.schema = schema
        self.random = random

    @classmethod
    def of(cls, rows: pa.Table, random: Random) -> Scattered:
        order = random.sample(range(rows.num_rows), rows.num_rows)
        shuffled = rows.take(pa.array(order, pa.int64()))
        ends = sorted(random.randint(0, rows.num_rows) for _ in range(random.randint(0, 3)))
        pairs = zip([0, *ends], [*ends, rows.num_rows], strict=True)
        partitions = [cls._batches(shuffled.slice(start, end - start), random) for start, end in pairs]
        return cls(partitions, rows.schema, random)

    @staticmethod
    def _batches(rows: pa.Table, random: Random) -> list[pa.RecordBatch]:
        """Empty partitions have no batch at all."""
        return [b for b in rows.combine_chunks().to_batches(max_chunksize=random.randint(1, 7)) if b.num_rows]

    def _whole(self) -> pa.Table:
        return pa.Table.from_batches([batch for part in self.partitions for batch in part], self.schema)

    def _with(self, partitions: list[list[pa.RecordBatch]], schema: pa.Schema) -> Scattered:
        return Scattered(partitions, schema, self.random)

    def select(self, **columns: str) -> Table:
        return Scattered.of(self._whole().select(list(columns.values())).rename_columns(list(columns)), self.random)

    def of_kind(self, *kinds: int) -> Table:
        kept = HereTable(self._whole(), PLENTY).of_kind(*kinds)
        assert isinstance(kept, HereTable)
        return Scattered.of(kept.rows, self.random)

    def mapped(self, rule: Rule, **settings: Any) -> Table:
        results = [
            [result for batch in part for result in rule(pa.Table.from_batches([batch]), **settings)]
            for part in self.partitions
        ]
        return self._with(results, rule.schema)

    def grouped(self, rule: Rule, by: Sequence[str], order: Sequence[str] = (), **settings: Any) -> Table:
        whole = self._whole()
        owner: dict[tuple[Any, ...], int] = {}
        keys = list(zip(*(whole.column(name).to_pylist() for name in by), strict=True))
        places: list[list[int]] = [[] for _ in range(3)]
        for k, key in enumerate(keys):
            places[owner.setdefault(key, self.random.randrange(3))].append(k)
        results = []
        for k in places:
            part = whole.take(pa.array(k, pa.int64())).sort_by([(name, "ascending") for name in (*by, *order)])
            groups = whole_groups(self._batches(part, self.random), by, self.random.randint(1, 20))
            results.append([result for rows in groups for result in rule(rows, **settings)])
        return self._with(results, rule.schema)

    def reduced(self, rule: Rule, **settings: Any) -> Columns:
        once = [batch for part in self.partitions if part for batch in rule(pa.Table.from_batches(part), **settings)]
        return columns_of(
            pa.Table.from_batches(list(rule(pa.Table.from_batches(once, rule.schema), **settings)), rule.schema)
        )

    def for_each(self, items: Sequence[int], rule: Rule, **settings: Any) -> Table:
        cut = self.random.randint(0, len(items))
        some = [list(part) for part in (items[:cut], items[cut:]) if part]
        return self._with([list(rule(self._whole(), items=part, **settings)) for part in some], rule.schema)

    def in_order(self, *by: str) -> Iterator[tuple[Any, ...]]:
        return HereTable(self._whole(), PLENTY).in_order(*by)

    @contextmanager
    def kept(self) -> Iterator[Table]:
        yield self

    def count(self) -> int:
        return sum(batch.num_rows for part in self.partitions for batch in part)

    def columns(self) -> Columns:
        return columns_of(self._whole())
