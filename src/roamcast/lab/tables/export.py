"""A table as a file for other programs: CSV, Arrow or Parquet, by the ending of its name.

Numbers come back as they were: CSV has every float with as many digits as tell it from its neighbours. Maps never
become texts: Arrow and Parquet have maps, and CSV has a column for each of their keys, `frames_by_kind.event`.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast import files
from roamcast.errors import InputError, error_text

ENDINGS = (".csv", ".arrow", ".parquet")


def check(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: must end with {', '.join(ENDINGS)}")


def write(table: pa.Table, path: Path) -> Path:
    """The file appears whole or not at all."""
    check(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.completed(path) as draft:
            _write(table, draft, path.suffix)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error_text(error)})") from None
    return path


def _write(table: pa.Table, draft: Path, ending: str) -> None:
    if ending == ".parquet":
        pq.write_table(table, draft, compression="zstd")
    elif ending == ".arrow":
        with pa.ipc.new_file(str(draft), table.schema) as sink:
            sink.write_table(table)
    else:
        from pyarrow import csv

        csv.write_csv(flat(table), draft)


def flat(table: pa.Table) -> pa.Table:
    """With a column for each key of each map, in the order of the keys; a run that lacks a key counted 0 of it."""
    columns: dict[str, pa.ChunkedArray] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        columns |= _keys(field.name, column) if pa.types.is_map(field.type) else {field.name: column}
    return pa.table(columns)


def _keys(name: str, column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    maps = [None if entries is None else dict(entries) for entries in column.to_pylist()]
    keys = sorted({key for entries in maps if entries is not None for key in entries})
    values = ([None if entries is None else entries.get(key, 0) for entries in maps] for key in keys)
    kind = column.type.item_type
    return {f"{name}.{key}": pa.chunked_array([pa.array(each, kind)]) for key, each in zip(keys, values, strict=True)}
