"""Reading the tables that a campaign left behind, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.errors import InputError, one_line, unknown
from roamcast.judging import made
from roamcast.lab.tables import schemas
from roamcast.lab.tables.folder import TABLES, Folder
from roamcast.lab.tables.write import table_of


def table(folder: Folder, name: str) -> pa.Table:
    """`runs`, `metrics` or `summary` of a campaign that was run to its end, or `provenance` of any."""
    if name == made.NAME:
        return table_of(made.records(folder.storage), schemas.PROVENANCE)
    if name not in TABLES:
        raise unknown("table", name, [*TABLES, made.NAME])
    objects = check(folder)
    try:
        return _parquet(folder, objects[name])
    except FileNotFoundError:  # new ones have been written since
        return _parquet(folder, check(folder)[name])


def _parquet(folder: Folder, name: str) -> pa.Table:
    try:  # pyarrow.parquet.read_table would import pandas
        return pq.ParquetFile(pa.BufferReader(folder.storage.read(name))).read()
    except pa.ArrowException as error:
        raise InputError(f"cannot read {folder}/{name}: {one_line(error)}") from None


def check(folder: Folder) -> dict[str, str]:
    """The objects of the tables; an InputError if the folder's campaign has none yet."""
    objects = folder.tables()
    if objects is None:
        raise InputError(f"{folder}: the campaign has not been measured yet; run `roamcast campaign` to its end")
    return objects
