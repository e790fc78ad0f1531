"""Writing a table of the laboratory: by pyarrow in the process that conducts the campaign, wherever its runs were done.

So the same rows are the same bytes, with Spark and without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast import files
from roamcast.log.arrays import column

FILE = "part-00000.parquet"
"""The only file of a table, named as Spark names its own."""


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows, whose maps are dictionaries, as a table; a column that a row does not have is null there."""
    columns = [column([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)


def write_table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema, target: Path) -> None:
    """As one Parquet file in its folder, which is replaced whole."""
    with files.completed_folder(target) as folder:
        pq.write_table(table_of(rows, schema), folder / FILE, compression="zstd")
