"""Writing a table of the laboratory: by pyarrow in the process that conducts the campaign, wherever its runs were done.

So the same rows are the same bytes, with Spark and without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.lab.tables.folder import Folder
from roamcast.log.arrays import column


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows, whose maps are dictionaries, as a table; a column that a row does not have is null there."""
    columns = [column([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)


def write_tables(
    folder: Folder, tables: Mapping[str, tuple[Sequence[Mapping[str, Any]], pa.Schema]], state: str = ""
) -> None:
    """Write the tables of a campaign, (rows, schema) by name. Readers see the former ones until all are written."""
    objects = {name: _put(folder, name, table_of(rows, schema)) for name, (rows, schema) in tables.items()}
    folder.point_to_tables(objects, state)


def _put(folder: Folder, name: str, table: pa.Table) -> str:
    """Named by its content: what has not changed is not written again."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    target = f"{name}/part-{hashlib.blake2b(content, digest_size=8).hexdigest()}.parquet"
    if not folder.storage.exists(target):
        folder.storage.put(target, content)
    return target
