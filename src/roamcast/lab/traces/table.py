"""Tables of traces, and the rules that make one table from another.

A rule is a function of columns. It is written once. Tables differ in where their rows are: `here.py` has them in the
memory of this process, `in_spark.py` in partitions on Spark's workers. How rows are divided must not show in the
results of a rule, and tests divide them at random.

    mapped    the rule gets some rows at a time
    grouped   it gets whole groups, in order; there may be several at a time
    reduced   it gets some rows, then its results for all of them together, as sums are summed
    for_each  it gets some items at a time, and always the whole table
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pyarrow as pa

from roamcast.lab.traces.columns import Array, to_arrow, to_numpy
from roamcast.lab.traces.schemas import COUNTED

Columns = dict[str, Array]
"""By name; texts are objects, and None or NaN is null."""
AT_ONCE = 1 << 18
"""Rows that `spelled_out` makes in one piece."""


class Rule:
    """A rule, with the schema of its results. It yields lists of columns, and may yield none."""

    def __init__(self, function: Callable[..., Iterable[Sequence[Array]]], schema: pa.Schema) -> None:
        self.function = function
        self.schema = schema
        self.name = f"{function.__module__}:{function.__name__}"

    def __call__(self, rows: pa.Table, **settings: Any) -> Iterator[pa.RecordBatch]:
        for columns in self.function(columns_of(rows), **settings):
            arrays = [to_arrow(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def rule(schema: pa.Schema) -> Callable[[Callable[..., Iterable[Sequence[Array]]]], Rule]:
    """A function of the module's top level becomes a rule; Spark's workers find it by its name."""
    return lambda function: Rule(function, schema)


class Table(ABC):
    """Rows of one schema, wherever they are. A method that returns a table leaves it where this one is."""

    @abstractmethod
    def select(self, **columns: str) -> Table:
        """These columns under these names (new = old)."""

    @abstractmethod
    def of_kind(self, *kinds: int) -> Table:
        """Rows with one of these values in the column `kind`."""

    @abstractmethod
    def mapped(self, rule: Rule, **settings: Any) -> Table:
        """What the rule makes of each of the rows."""

    @abstractmethod
    def grouped(self, rule: Rule, by: Sequence[str], order: Sequence[str] = (), **settings: Any) -> Table:
        """What the rule makes of groups of rows that have the same values in some columns; each group is in order."""

    @abstractmethod
    def reduced(self, rule: Rule, **settings: Any) -> Columns:
        """What the rule makes of all rows. Its results have the schema of the rows."""

    @abstractmethod
    def for_each(self, items: Sequence[int], rule: Rule, **settings: Any) -> Table:
        """What the rule makes of the whole table and of each item; it gets several `items` at a time."""

    @abstractmethod
    def in_order(self, *by: str) -> Iterator[tuple[Any, ...]]:
        """All rows, sorted by these columns; `-name` descends."""

    @abstractmethod
    def kept(self) -> AbstractContextManager[Table]:
        """The same table, for several uses: it is not computed again for each of them."""

    @abstractmethod
    def count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def columns(self) -> Columns:
        """All of it, in the memory of this process."""


def columns_of(rows: pa.Table | pa.RecordBatch) -> Columns:
    return {name: to_numpy(rows.column(name)) for name in rows.schema.names}


def whole_groups(batches: Iterable[pa.RecordBatch], by: Sequence[str], at_least: int) -> Iterator[pa.Table]:
    """Rows that are sorted by some columns, as tables of whole groups. All except the last have `at_least` rows."""
    ready: list[pa.RecordBatch] = []
    last: list[pa.RecordBatch] = []  # of one group, which may go on
    for batch in batches:
        begins = _last_group(batch, by)
        if begins or (last and not _same_group(last[-1], batch, by)):
            ready += [*last, batch.slice(0, begins)]
            last = []
        last.append(batch.slice(begins))
        if sum(len(piece) for piece in ready) >= at_least:
            yield pa.Table.from_batches(ready)
            ready = []
    if ready or last:
        yield pa.Table.from_batches([*ready, *last])


def _last_group(rows: pa.RecordBatch, by: Sequence[str]) -> int:
    """Where it begins."""
    starts = group_starts(*(to_numpy(rows.column(name)) for name in by))
    return int(starts[-1]) if len(starts) else 0


def _same_group(before: pa.RecordBatch, after: pa.RecordBatch, by: Sequence[str]) -> bool:
    ends = ((before.column(name), after.column(name)) for name in by)
    return all(one[len(one) - 1].equals(other[0]) for one, other in ends)


def group_starts(*keys: Array) -> Array:
    """Where groups begin, of rows that are sorted by these columns."""
    if not len(keys[0]):
        return np.zeros(0, np.int64)
    changes = np.zeros(len(keys[0]), bool)
    changes[0] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def group_ends(starts: Array, rows: int) -> Array:
    """Where each group ends: one beyond its last row."""
    return np.append(starts[1:], rows) if len(starts) else starts


@rule(COUNTED)
def counts(rows: Columns) -> Iterator[list[Array]]:
    """COUNTED to COUNTED, to be reduced: each value once, in order."""
    yield counted(rows["value"], rows["count"])


def counted(values: Array, counts: Array | None = None) -> list[Array]:
    """Each value once, in order, and the sum of its counts; without counts, how often it is there."""
    if counts is None:
        return list(np.unique(values, return_counts=True))
    distinct, place = np.unique(values, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place, counts)
    return [distinct, sums]


def spelled_out(first: Array, last: Array) -> Iterator[tuple[Array, Array]]:
    """(k, value) for every value from first[k] to last[k], not too many at a time."""
    counts = last - first + 1
    before = np.concatenate(([0], np.cumsum(counts)))
    k = 0
    while k < len(counts):
        end = max(k + 1, int(np.searchsorted(before, before[k] + AT_ONCE, side="right")) - 1)
        rows = np.repeat(np.arange(k, end), counts[k:end])
        yield rows, first[rows] + np.arange(before[k], before[end]) - before[rows]
        k = end
