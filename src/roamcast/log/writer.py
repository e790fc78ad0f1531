"""Where rows of the log go: nowhere (`LogSink`), into a file (`ParquetSink`), or as tables to somebody (`TableSink`).

A run makes a row for every frame heard, so `row` only packs nine numbers into a buffer: a dictionary for the batch
turns the reason into a number. When the buffer is full, numpy reads it as columns (stride views), and it becomes one
Arrow table and one Parquet row group. So memory holds one batch, however long the run is.

The file is made under a hidden temporary name beside the target when the sink is constructed, so that a path that
cannot be written is known before the run, and gets its name when the sink is closed, so that no reader sees half a log.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import mypyc_attr

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.extras import need
from roamcast.log.arrays import numbers, texts
from roamcast.log.schema import KINDS, RUN_KEY, SUMMARY_KEY, arrow_schema

BATCH: Final = 65_536

_PACKED: Final = [  # must be written in this order by `_Packer.add`
    ("t", "<i8"),
    ("event", "<i8"),
    ("frame", "<i8"),
    ("value", "<i8"),
    ("node", "<i4"),
    ("peer", "<i4"),
    ("bytes", "<i4"),
    ("kind", "<i4"),
    ("reason", "<i4"),
]


@mypyc_attr(allow_interpreted_subclasses=True)
class LogSink:
    """Takes rows in order of time, as schema.py defines them. This one forgets them."""

    def row(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        """Take a row; `kind` is a code of schema.py, `size` goes to the column `bytes`."""

    def summarise(self, text: str) -> None:
        """The run's tally as JSON, stored beside the rows at every level."""

    def describe(self, text: str) -> None:
        """What is run, as JSON, stored beside the rows at every level."""

    def close(self) -> None:
        """The run is over: make the log visible."""

    def abandon(self) -> None:
        """The run failed: leave nothing behind."""


class TableSink(LogSink):
    """Packs rows, and hands them on a batch at a time. `target` takes them: it has the methods of `ParquetTarget`."""

    def __init__(self, target: Any, run: str, rows_per_batch: int = BATCH) -> None:
        _check(rows_per_batch)
        self._target = target
        self._packer = _Packer(run)
        self._rows_per_batch = rows_per_batch
        self._rows = 0
        self._open = True

    def row(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        if not self._open:
            raise ValueError(f"{self._target}: the log is closed")
        self._packer.add(t, node, kind, event, frame, peer, size, value, reason)
        self._rows += 1
        if self._rows == self._rows_per_batch:
            self._flush()

    def summarise(self, text: str) -> None:
        self._target.note(SUMMARY_KEY, text)

    def describe(self, text: str) -> None:
        self._target.note(RUN_KEY, text)

    def close(self) -> None:
        if not self._open:
            return
        try:
            if self._rows:
                self._flush()
            self._target.finish()
        except BaseException:
            self.abandon()
            raise
        self._open = False

    def abandon(self) -> None:
        if self._open:
            self._open = False
            self._target.abandon()

    def _flush(self) -> None:
        self._rows = 0
        self._target.take(self._packer.take())


@final
class ParquetSink(TableSink):
    """Streams rows into a Parquet file, a row group for each batch."""

    def __init__(self, path: str | Path, run: str, rows_per_batch: int = BATCH, mode: int = files.ANY) -> None:
        _check(rows_per_batch)
        super().__init__(ParquetTarget(Path(path), mode), run, rows_per_batch)


@final
class ParquetTarget:
    """A log file of one run."""

    def __init__(self, target: Path, mode: int) -> None:
        self._target = target
        self._temporary = _draft(target, mode)
        self._writer: Any = parquet_writer(self._temporary)

    def __str__(self) -> str:
        return str(self._target)

    def note(self, key: str, text: str) -> None:
        """Something to be kept beside the rows."""
        self._writer.add_key_value_metadata({key: text})

    def take(self, rows: Any) -> None:
        """A `pyarrow.Table` of rows, after those before."""
        self._writer.write_table(rows)

    def finish(self) -> None:
        self._writer.close()
        files.finish(self._temporary, self._target)

    def abandon(self) -> None:
        try:
            self._writer.close()
        finally:
            self._temporary.unlink(missing_ok=True)


def need_packages() -> None:
    """A MissingExtra if no log can be written: for those who must know before the first row."""
    need("writing a log", "pyarrow", "numpy")


def _check(rows_per_batch: int) -> None:
    if rows_per_batch < 1:
        raise InputError(f"rows_per_batch ({rows_per_batch}) must be at least 1")
    need_packages()


def _draft(target: Path, mode: int) -> Path:
    if target.exists() and not target.is_file():  # a rename would put a file in the place of /dev/null
        raise InputError(f"cannot write the log {target}: it is not a file")
    if not target.parent.is_dir():
        raise InputError(f"cannot write the log {target}: there is no folder {target.parent}")
    try:
        return files.draft(target, mode)
    except OSError as error:
        raise InputError(f"cannot write the log {target}: {error_text(error)}") from None


def parquet_writer(path: Path) -> Any:
    """Of a file with rows of the log."""
    import pyarrow.parquet as pq  # here, because a run that writes no log need not load Arrow

    rising = {"t": "DELTA_BINARY_PACKED", "frame": "DELTA_BINARY_PACKED"}
    schema = arrow_schema()
    repeating = [name for name in schema.names if name not in rising]
    return pq.ParquetWriter(
        os.fspath(path),
        schema,
        compression="zstd",
        use_dictionary=repeating,
        column_encoding=rising,
        write_page_checksum=True,
    )


@final
class _Packer:
    """One batch of rows, packed."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._cells = BytesWriter()
        self._reasons: dict[str, int] = {}

    def add(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        code = self._reasons.get(reason, -1)
        if code < 0:
            code = len(self._reasons)
            self._reasons[reason] = code
        cells = self._cells
        write_i64_le(cells, t)
        write_i64_le(cells, event)
        write_i64_le(cells, frame)
        write_i64_le(cells, value)
        write_i32_le(cells, node)
        write_i32_le(cells, peer)
        write_i32_le(cells, size)
        write_i32_le(cells, kind)
        write_i32_le(cells, code)

    def take(self) -> Any:
        """The rows since the last call, as a `pyarrow.Table`."""
        import numpy as np
        import pyarrow as pa

        packed = np.frombuffer(self._cells.getvalue(), dtype=np.dtype(_PACKED))
        columns: dict[str, Any] = {name: numbers(np.ascontiguousarray(packed[name])) for name, _ in _PACKED}
        columns["run"] = pa.repeat(texts([self._run])[0], len(packed))
        columns["kind"] = _coded(columns["kind"], list(KINDS))
        columns["reason"] = _coded(columns["reason"], list(self._reasons))
        self._cells.truncate(0)  # keeps its memory for the next batch
        self._reasons = {}
        schema = arrow_schema()
        return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _coded(codes: Any, names: list[str]) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(codes, texts(names))
