"""Reading a log file: as a table, or row by row. Questions about it are answered by opened.py."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from roamcast.errors import InputError
from roamcast.extras import need
from roamcast.log.schema import RUN_KEY, SUMMARY_KEY, VERSION, VERSION_KEY, arrow_schema

BATCH: Final = 65_536


class LogRow(NamedTuple):
    """A row as schema.py defines it, with the name of its kind; `size` is the column `bytes`."""

    run: str
    t: int
    node: int
    kind: str
    event: int
    frame: int
    peer: int
    size: int
    value: int
    reason: str


def read(path: str | Path) -> Any:
    """The whole log as a `pyarrow.Table`."""
    return _opened(path).read().unify_dictionaries()


def summary(path: str | Path) -> dict[str, Any]:
    """The tally of the run, and its fingerprint; empty if the log has none."""
    return _metadata(path, SUMMARY_KEY)


def description(path: str | Path) -> dict[str, Any]:
    """What was run: preset, protocol, parameters, seed and scenario; empty if the log does not say it."""
    return _metadata(path, RUN_KEY)


def _metadata(path: str | Path, key: str) -> dict[str, Any]:
    text = (_opened(path).metadata.metadata or {}).get(key.encode())
    return json.loads(text) if text else {}


def rows(path: str | Path) -> Iterator[LogRow]:
    """The rows of the log in order; memory holds one batch of them."""
    for batch in _opened(path).iter_batches(BATCH):
        yield from rows_of(batch)


def rows_of(batch: Any) -> list[LogRow]:
    """The rows of a table or a record batch of the log."""
    columns = [column.to_pylist() for column in batch.columns]
    return [LogRow(*values) for values in zip(*columns, strict=True)]


def runs(path: str | Path) -> set[str]:
    """The ids of its runs, from the statistics that Parquet keeps: one for a log as this program writes it."""
    file = _opened(path)
    groups = (file.metadata.row_group(k).column(0).statistics for k in range(file.num_row_groups))
    return {end for statistics in groups if statistics is not None for end in (statistics.min, statistics.max)}


def is_log(path: str | Path) -> bool:
    """Whether a file says that it is a log, of whatever version."""
    need("reading a log", "pyarrow", "numpy")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return VERSION_KEY.encode() in (pq.read_schema(path).metadata or {})
    except (OSError, pa.ArrowInvalid):
        return False


def _opened(path: str | Path) -> Any:
    """The Parquet file, after checking that it is a log of this version."""
    need("reading a log", "pyarrow", "numpy")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(os.fspath(path))
    except FileNotFoundError:
        raise InputError(f"there is no log {path}") from None
    except (OSError, pa.ArrowInvalid):
        raise InputError(f"{path} is not a log: it is not a Parquet file") from None
    version = (file.schema_arrow.metadata or {}).get(VERSION_KEY.encode())
    if version is None:
        raise InputError(f"{path} is not a log: its metadata has no {VERSION_KEY}")
    if version.decode() != VERSION:
        raise InputError(f"{path} is a log of schema version {version.decode()}; this program reads version {VERSION}")
    if not file.schema_arrow.equals(arrow_schema()):
        raise InputError(f"{path} is not a log: its columns are not those of schema version {VERSION}")
    return file
