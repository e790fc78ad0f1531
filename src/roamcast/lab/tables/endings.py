"""How runs ended, many in an object: written by workers as they go, read and merged by whoever conducts the campaign.

    done/N-….parquet     a row a run that ended: its tally, or its failure; where its log is
    log/N-….parquet      the rows of many runs' logs, those of a run in row groups of their own

A worker writes what its runs gave every few seconds, so that is what a kill costs. The log's object comes first. A run
counts as finished when its row in `done/` is there, and the object that this names has all its bytes. A run may have
been done twice, by a worker that was given up and by the one after it. Both rows say the same, because a run is decided
by its id, and a reader takes one.

`N` counts how often an object was merged from others (merging.py).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.log.arrays import column
from roamcast.log.schema import RUN_KEY, SUMMARY_KEY
from roamcast.log.writer import TableSink, parquet_writer
from roamcast.storage import Storage

DONE, LOG = "done", "log"
FLUSH_S = 3.0
"""How long a worker keeps to itself what has ended."""
FLUSH_BYTES = 128 << 20
FLUSH_RUNS = 5000
_TEXT, _LONG = pa.string(), pa.int64()
SCHEMA = pa.schema(
    {
        "run": _TEXT,
        "tally": _TEXT,  # JSON; null if it failed
        "failure": _TEXT,  # JSON: error, command, traceback; null if it finished
        "description": _TEXT,  # JSON: what was run; null if it has no rows
        "log": _TEXT,  # the object with its rows; null if it has none
        "bytes": _LONG,  # of that object
        "first": _LONG,  # row group
        "groups": _LONG,
    }
)


class Ending(NamedTuple):
    """A row of `done/`."""

    run: str
    tally: str | None = None
    failure: str | None = None
    description: str | None = None
    log: str | None = None
    bytes: int = 0
    first: int = 0
    groups: int = 0


def fresh_name(merged: int = 0) -> str:
    return f"{merged}-{uuid.uuid4().hex}.parquet"


def put_endings(storage: Storage, endings: Sequence[Ending], name: str | None = None, folder: str = DONE) -> str:
    """Write them as one object."""
    columns = [column([ending[k] for ending in endings], field.type) for k, field in enumerate(SCHEMA)]
    name = f"{folder}/{name or fresh_name()}"
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=SCHEMA), sink, compression="zstd", write_page_checksum=True)
    storage.put(name, sink.getvalue().to_pybytes())
    return name


class Endings:
    """What the runs of a worker gave and is not written yet."""

    def __init__(self, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        self._storage = storage
        self._clock = clock
        self._since = clock()
        self._ended: list[Ending] = []
        self._segment: Segment | None = None

    def sink(self, run: str, tally: Callable[[str], None]) -> TableSink:
        """Where a run's rows go. When it is closed, the run has ended, and `tally` gets what it counted (JSON)."""
        return TableSink(_Run(self, run, tally), run)

    def failed(self, run: str, record: dict[str, Any]) -> None:
        self._ended.append(Ending(run, failure=json.dumps(record)))
        if self._segment is not None and self._segment.uncertain:
            self.flush()

    def segment(self) -> Segment:
        if self._segment is None:
            self._segment = Segment(self._storage)
        return self._segment

    def add(self, ending: Ending) -> None:
        self._ended.append(ending)

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        if not self._ended:
            return False
        long_ago = self._clock() - self._since >= FLUSH_S
        large = self._segment is not None and self._segment.size >= FLUSH_BYTES
        return long_ago or large or len(self._ended) >= FLUSH_RUNS

    def flush(self) -> None:
        """Write what has ended: afterwards it is finished, whatever happens to this process."""
        segment, self._segment = self._segment, None
        ended, self._ended = self._ended, []
        self._since = self._clock()
        if segment is not None:
            ended = segment.put(ended)
        if ended:
            put_endings(self._storage, ended)

    def abandon(self) -> None:
        """Leave nothing half-written behind."""
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None


class _Run:
    """What a run's sink gives its rows to (`log.writer.ParquetTarget`)."""

    def __init__(self, endings: Endings, run: str, tally: Callable[[str], None]) -> None:
        self._endings = endings
        self._run = run
        self._tally = tally
        self._notes: dict[str, str] = {}
        self._first = self._groups = 0
        self._began = False

    def __str__(self) -> str:
        return self._run

    def note(self, key: str, text: str) -> None:
        self._notes[key] = text

    def take(self, rows: pa.Table) -> None:
        segment = self._endings.segment()
        if not self._began:
            self._first, self._began = segment.groups, True
        segment.write(rows)
        self._groups += 1

    def finish(self) -> None:
        tally, description = self._notes[SUMMARY_KEY], self._notes.get(RUN_KEY)
        log = self._endings.segment().name if self._groups else None
        self._endings.add(
            Ending(self._run, tally, None, description if log else None, log, 0, self._first, self._groups)
        )
        self._tally(tally)

    def abandon(self) -> None:
        if self._began:
            self._endings.segment().has_others = True


class Segment:
    """An object of `log/` that is being written, as a file of this machine."""

    def __init__(self, storage: Storage, name: str | None = None) -> None:
        self.name = name or fresh_name()
        self.groups = 0
        self.uncertain = False
        """Whether writing was interrupted, by a time limit for example: `groups` may be too few by now. Those before it
        are where they were counted, and nothing more may be written."""
        self.has_others = False
        """Whether there are rows of runs that raised."""
        self._storage = storage
        self._file: Path = storage.draft(f"{LOG}/{self.name}")
        self._writer: Any = parquet_writer(self._file)

    @property
    def size(self) -> int:
        return self._file.stat().st_size

    def write(self, rows: pa.Table) -> None:
        self.uncertain = True
        self._writer.write_table(rows)
        self.groups += 1
        self.uncertain = False

    def put(self, endings: Sequence[Ending]) -> list[Ending]:
        """Make it an object, if a run that ended is in it; returns the endings with its size."""
        self._writer.close()
        own = [ending for ending in endings if ending.log]
        if not own:
            self._file.unlink(missing_ok=True)
            return list(endings)
        if self.has_others or self.uncertain:
            return [*self._without(own), *(ending for ending in endings if not ending.log)]
        size = self.size
        self._storage.put_file(f"{LOG}/{self.name}", self._file)
        return [ending._replace(bytes=size) if ending.log else ending for ending in endings]

    def _without(self, own: Sequence[Ending]) -> list[Ending]:
        """The same, without the rows of runs that raised."""
        clean = Segment(self._storage)
        with pq.ParquetFile(self._file) as file:
            copied = clean.copy(file, own)
        self._file.unlink(missing_ok=True)
        return clean.put(copied)

    def copy(self, file: pq.ParquetFile, endings: Sequence[Ending]) -> list[Ending]:
        """The rows of runs from another object; returns their endings with their new places."""
        copied = []
        for ending in endings:
            first = self.groups
            for group in range(ending.first, ending.first + ending.groups):
                self.write(file.read_row_group(group))
            copied.append(ending._replace(log=self.name, first=first))
        return copied

    def abandon(self) -> None:
        self._writer.close()
        self._file.unlink(missing_ok=True)
