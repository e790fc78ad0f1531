"""What has ended in a campaign's storage, as its objects under `done/` say it; what is read once is remembered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.errors import one_line
from roamcast.lab.tables.endings import DONE, LOG, Ending
from roamcast.storage import Entry, Storage

T = TypeVar("T")
KEYS = ["run", "log", "bytes", "first", "groups"]


class Place(NamedTuple):
    """Where the rows of a run are: the object of `log/`, its size, and the row groups in it. The object is empty if it
    has none."""

    log: str
    bytes: int
    first: int
    groups: int


class _Object(NamedTuple):
    finished: dict[str, Place]
    failed: frozenset[str]


class Ended:
    """A view of `done/`, as it was when `look` was last called."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[str, _Object] = {}
        self._logs: dict[str, Entry] = {}
        self.damaged: dict[str, str] = {}
        """Objects that cannot be read, and why."""

    def look(self) -> Ended:
        """See what is new. An object that is gone was merged into another one, which is then new."""
        listed = self._storage.names(DONE)
        self._known = {name: seen for name, seen in self._known.items() if name in listed}
        self.damaged = {name: why for name, why in self.damaged.items() if name.partition("/")[2] in listed}
        for name in listed.keys() - self._known.keys():
            try:
                self._known[name] = self._read(name)
            except FileNotFoundError:
                return self.look()
            except (OSError, ValueError, KeyError) as error:
                self._note_damaged(name, error)
        if any(self._with_logs()):
            self._logs = self._storage.names(LOG)
            if self._known.keys() - self._storage.names(DONE).keys():  # merged meanwhile, and their logs may be gone
                return self.look()
        self._note_damaged_logs()
        return self

    def _note_damaged(self, name: str, error: Exception) -> None:
        self.damaged[f"{DONE}/{name}"] = f"{self._storage}/{DONE}/{name} is damaged: {one_line(error)}"

    def _read(self, name: str) -> _Object:
        table = read_whole(self._storage, f"{DONE}/{name}", [*KEYS, "failure"])
        failed = table["failure"].is_valid().to_pylist()
        runs, logs, sizes, first, groups = (table[key].to_pylist() for key in KEYS)
        places = map(Place, (log or "" for log in logs), sizes, first, groups)
        finished = {run: place for run, place, bad in zip(runs, places, failed, strict=True) if not bad}
        return _Object(finished, frozenset(run for run, bad in zip(runs, failed, strict=True) if bad))

    def _with_logs(self) -> Iterator[Place]:
        return (place for seen in self._known.values() for place in seen.finished.values() if place.log)

    def _note_damaged_logs(self) -> None:
        for place in self._with_logs():
            there = self._logs.get(place.log)
            if there is not None and there.size != place.bytes:
                why = f"has {there.size:,} bytes instead of {place.bytes:,}"
                self.damaged[f"{LOG}/{place.log}"] = f"{self._storage}/{LOG}/{place.log} is damaged: {why}"

    def _is_there(self, place: Place) -> bool:
        return not place.log or (place.log in self._logs and self._logs[place.log].size == place.bytes)

    # ---- what is known

    @property
    def objects(self) -> dict[str, _Object]:
        return self._known

    def logs(self) -> dict[str, Entry]:
        return self._logs

    def named(self) -> set[str]:
        """The objects of `log/` that a run names, whole or not."""
        return {place.log for place in self._with_logs()}

    def places(self) -> dict[str, Place]:
        """The finished runs, and where their rows are."""
        return {
            run: place
            for _, seen in sorted(self._known.items())
            for run, place in seen.finished.items()
            if self._is_there(place)
        }

    def finished(self) -> set[str]:
        return {run for seen in self._known.values() for run, place in seen.finished.items() if self._is_there(place)}

    def failed(self) -> set[str]:
        return {run for seen in self._known.values() for run in seen.failed} - self.finished()

    def ended(self) -> set[str]:
        return self.finished() | {run for seen in self._known.values() for run in seen.failed}

    # ---- what objects say besides

    def tallies(self, runs: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What finished runs counted."""
        wanted = set(runs)
        return self._again(lambda: self._tallies(wanted))

    def _again(self, read: Callable[[], T]) -> T:
        """What `read` gives. If an object that it reads was merged into another one meanwhile, look and read again."""
        while True:
            try:
                return read()
            except FileNotFoundError:
                self.look()

    def _tallies(self, wanted: set[str]) -> dict[str, dict[str, Any]]:
        decode = msgspec.json.Decoder().decode
        counted: dict[str, dict[str, Any]] = {}
        for name, seen in sorted(self._known.items()):
            if wanted & seen.finished.keys():
                for run, tally in self._pairs(name, "tally"):
                    if run in wanted:
                        counted[run] = decode(tally)
        return counted

    def failures(self) -> dict[str, dict[str, Any]]:
        """What was recorded about runs that failed."""
        return self._again(self._failures)

    def _failures(self) -> dict[str, dict[str, Any]]:
        failed = self.failed()
        records: dict[str, dict[str, Any]] = {}
        for name, seen in sorted(self._known.items()):
            if failed & seen.failed:
                records |= {run: json.loads(text) for run, text in self._pairs(name, "failure") if run in failed}
        return records

    def _pairs(self, name: str, about: str) -> list[tuple[str, str]]:
        """None of an object that is damaged in this column, which `look` may not have read."""
        try:
            table = read_whole(self._storage, f"{DONE}/{name}", ["run", about])
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            self._note_damaged(name, error)
            return []
        return [pair for pair in zip(table["run"].to_pylist(), table[about].to_pylist(), strict=True) if pair[1]]

    def ending(self, run: str) -> Ending | None:
        """All that is kept about a finished run."""
        return self._again(lambda: self._ending(run))

    def _ending(self, run: str) -> Ending | None:
        places = self.places()
        for name, seen in sorted(self._known.items()):
            if run in seen.finished and seen.finished[run] == places.get(run):
                rows = rows_of(read_whole(self._storage, f"{DONE}/{name}"))
                return next(row for row in rows if row.run == run)
        return None


def read_whole(storage: Storage, name: str, columns: list[str] | None = None) -> pa.Table:
    """A small object, read before it is understood: what then is wrong with it is not its storage's fault."""
    source = pa.BufferReader(storage.read(name))
    return pq.ParquetFile(source, page_checksum_verification=True).read(columns)


def rows_of(table: pa.Table) -> list[Ending]:
    return [Ending(*values) for values in zip(*(column.to_pylist() for column in table.columns), strict=True)]
