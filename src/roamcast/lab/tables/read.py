"""Reading what a campaign left behind, without Spark: its tables, and the tallies of its runs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.errors import InputError, one_line, unknown
from roamcast.lab.tables.folder import TABLES, Folder, tally_in


def table(folder: Folder, name: str) -> pa.Table:
    """`runs`, `metrics` or `summary` of a campaign that was run to its end."""
    if name not in TABLES:
        raise unknown("table", name, TABLES)
    check(folder)
    files = sorted((folder.path / name).glob("[!.]*.parquet"))
    try:  # pyarrow.parquet.read_table would import pandas
        return pa.concat_tables([pq.ParquetFile(file).read() for file in files])
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {folder.path / name}: {one_line(error)}") from None


def check(folder: Folder) -> None:
    """An InputError if the folder's campaign has no tables yet."""
    if not folder.has_tables():
        raise InputError(f"{folder.path}: the campaign has not been measured yet; run `roamcast campaign` to its end")


def tally(path: str, all_rows: bool = False) -> tuple[str | None, str | None]:
    """What a finished run's file says that it counted (JSON); or why the file, or with `all_rows` a row, cannot be
    read."""
    try:
        counted = tally_in(path)
        if all_rows:
            _read_through(path)
    except InputError as wrong:
        return None, str(wrong)
    return counted, None


def _read_through(path: str) -> None:
    """An InputError if there is a row that cannot be read."""
    try:
        for _ in pq.ParquetFile(path, page_checksum_verification=True).iter_batches():
            pass
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise InputError(f"{path} is damaged: {one_line(error)}") from None
