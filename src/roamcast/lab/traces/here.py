"""Tables in the memory of this process, as Arrow has them: for traces that do not outgrow this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from roamcast.errors import Outgrown
from roamcast.lab.local.pool import in_worker, processes, spread
from roamcast.lab.traces import reading
from roamcast.lab.traces.columns import to_arrow
from roamcast.lab.traces.schemas import RECORDS, TABLES
from roamcast.lab.traces.table import Columns, Rule, Table, columns_of, whole_groups
from roamcast.world.traces.files import is_packed, located
from roamcast.world.traces.plan import Part

ROWS_AT_ONCE = 1 << 18
"""That a rule gets, if groups are smaller."""
ITEMS_AT_ONCE = 64
"""That are worth a process of their own."""
SHARE_OF_MEMORY = 0.25
"""Of what is free, for one table. There are up to three at a time: one table, the next one, and a copy in order."""
UNKNOWN_MEMORY = 4 << 30
"""Assumed where the system does not say how much is free."""
MEMORY_OF_A_BYTE = 40
"""Bytes of memory for a byte of text, while contacts of positions are computed: 35, measured with a million positions
of 1,000 nodes that had three others in range."""
UNPACKED = 5
"""Bytes of text in a byte of a gzipped file: 2.5 to 5, measured with positions and contacts."""


def free_memory() -> int:
    """How many bytes this process could still get."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pages = os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in os.sysconf_names else 0
        return pages * os.sysconf("SC_PAGE_SIZE") // 2 or UNKNOWN_MEMORY


def fits(parts: list[Part]) -> bool:
    """Whether half of the free memory is most likely enough for a trace."""
    sizes = {part.path: located(part.path).stat().st_size * (UNPACKED if is_packed(part.path) else 1) for part in parts}
    return MEMORY_OF_A_BYTE * sum(sizes.values()) <= free_memory() // 2


class HereTable(Table):
    """`most_bytes`: a table that would be larger is refused (Outgrown)."""

    def __init__(self, rows: pa.Table, most_bytes: int) -> None:
        self.rows = rows
        self.most_bytes = most_bytes

    def select(self, **columns: str) -> Table:
        chosen = self.rows.select(list(columns.values())).rename_columns(list(columns))
        return HereTable(chosen, self.most_bytes)

    def of_kind(self, *kinds: int) -> Table:
        chosen = pc.is_in(self.rows.column("kind"), to_arrow(kinds, pa.int8()))
        return HereTable(self.rows.filter(chosen), self.most_bytes)

    def mapped(self, rule: Rule, **settings: Any) -> Table:
        batches = self.rows.to_batches(max_chunksize=ROWS_AT_ONCE)
        return self._results(rule, (pa.Table.from_batches([batch]) for batch in batches), settings)

    def grouped(self, rule: Rule, by: Sequence[str], order: Sequence[str] = (), **settings: Any) -> Table:
        batches = self._sorted([*by, *order]).to_batches(max_chunksize=ROWS_AT_ONCE)
        return self._results(rule, whole_groups(batches, by, ROWS_AT_ONCE), settings)

    def reduced(self, rule: Rule, **settings: Any) -> Columns:
        return columns_of(pa.Table.from_batches(list(rule(self.rows, **settings)), rule.schema))

    def for_each(self, items: Sequence[int], rule: Rule, **settings: Any) -> Table:
        groups = max(1, min(processes(), -(-len(items) // ITEMS_AT_ONCE)))
        parts = [items[k::groups] for k in range(groups)]
        work = partial(_for_items, rule, self.rows, settings)
        done = spread(work, parts, groups) if groups > 1 and not in_worker() else enumerate(map(work, parts))
        return collected((batch for _, batches in done for batch in batches), rule.schema, self.most_bytes)

    def in_order(self, *by: str) -> Iterator[tuple[Any, ...]]:
        for batch in self._sorted(by).to_batches(max_chunksize=ROWS_AT_ONCE):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    @contextmanager
    def kept(self) -> Iterator[Table]:
        yield self

    def count(self) -> int:
        return int(self.rows.num_rows)

    def columns(self) -> Columns:
        return columns_of(self.rows)

    def _sorted(self, by: Sequence[str]) -> pa.Table:
        keys = [(name.removeprefix("-"), "descending" if name[0] == "-" else "ascending") for name in by]
        whole = self.rows.combine_chunks()
        return whole.take(pc.sort_indices(whole, keys))

    def _results(self, rule: Rule, parts: Iterator[pa.Table], settings: dict[str, Any]) -> Table:
        return collected((batch for rows in parts for batch in rule(rows, **settings)), rule.schema, self.most_bytes)


def collected(batches: Iterator[pa.RecordBatch], schema: pa.Schema, most_bytes: int) -> Table:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        size += batch.nbytes
        check_size(size, most_bytes)
        held.append(batch)
    return HereTable(pa.Table.from_batches(held, schema), most_bytes)


def check_size(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise Outgrown(f"a table of the trace is larger than {most_bytes / 1e9:.1f} GB")


def _for_items(rule: Rule, rows: pa.Table, settings: dict[str, Any], items: Sequence[int]) -> list[pa.RecordBatch]:
    return list(rule(rows, items=items, **settings))


# ---- from files


class Here:
    """Reads traces into this process; the parts of a large file with all processors."""

    def __init__(self, most_bytes: int = 0) -> None:
        self.most_bytes = most_bytes or int(SHARE_OF_MEMORY * free_memory())

    def read(self, parts: list[Part]) -> tuple[Table, Table]:
        """The rows of a trace, and the records that are about them."""
        workers = 1 if in_worker() else min(processes(), len(parts))
        done = spread(reading.separated, parts, workers) if workers > 1 else enumerate(map(reading.separated, parts))
        read: dict[int, tuple[list[pa.RecordBatch], list[pa.RecordBatch]]] = {}
        size = 0
        for place, batches in done:
            read[place] = batches
            size += sum(batch.nbytes for both in batches for batch in both)
            check_size(size, self.most_bytes)
        rows, about = ([batch for k in range(len(parts)) for batch in read[k][side]] for side in (0, 1))
        schema = TABLES[reading.kind_of(parts)]
        return (
            HereTable(pa.Table.from_batches(rows, schema), self.most_bytes),
            HereTable(pa.Table.from_batches(about, RECORDS), self.most_bytes),
        )

    def close(self) -> None:
        """Nothing is left behind."""
