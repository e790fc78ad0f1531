"""The rows of runs' logs, out of the objects that have those of many."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast import files
from roamcast.errors import InputError, RoamcastError, one_line
from roamcast.lab.tables.ended import Ended, Place
from roamcast.lab.tables.endings import LOG
from roamcast.lab.tables.folder import Folder
from roamcast.log.schema import RUN_KEY, SUMMARY_KEY
from roamcast.log.writer import parquet_writer
from roamcast.storage import Storage

GROUPS_AT_A_TIME = 64
"""Of a part: enough rows for a task, and not too many for one worker."""


class Part(NamedTuple):
    """Runs of one object, with the first of their row groups and how many they have."""

    log: str
    runs: list[tuple[str, int, int]]


def parts(folder: Folder, runs: Collection[str]) -> list[Part]:
    """Where the rows of these runs are; an InputError if one of them has not finished."""
    places = folder.ended_runs.look().places()
    for run in runs:
        if run not in places:
            raise InputError(f"{folder}: has no finished run {run}")
    return _parts(places, runs)


def _parts(places: Mapping[str, Place], runs: Iterable[str]) -> list[Part]:
    by_log: dict[str, list[tuple[str, int, int]]] = {}
    for run in runs:
        place = places[run]
        if place.log:
            by_log.setdefault(place.log, []).append((run, place.first, place.groups))
    return [part for log, own in sorted(by_log.items()) for part in _divided(log, sorted(own, key=lambda one: one[1]))]


def _divided(log: str, runs: list[tuple[str, int, int]]) -> Iterator[Part]:
    held: list[tuple[str, int, int]] = []
    for run in runs:
        held.append(run)
        if sum(groups for _, _, groups in held) >= GROUPS_AT_A_TIME:
            yield Part(log, held)
            held = []
    if held:
        yield Part(log, held)


def batches(storage: Storage, part: Part) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The rows of each run in order, in batches, with the place that the first of a batch has in its run.

    ValueError if they are another run's; FileNotFoundError if one of the runs is no longer finished.
    """
    try:
        opened = storage.open(f"{LOG}/{part.log}")
    except FileNotFoundError:
        for moved in _moved(storage, part):
            yield from batches(storage, moved)
        return
    with opened as source:
        file = pq.ParquetFile(source, page_checksum_verification=True)
        for run, first, groups in part.runs:
            seq = 0
            for group in range(first, first + groups):
                for batch in file.read_row_group(group).to_batches():
                    if batch.num_rows and batch.column("run").unique().to_pylist() != [run]:
                        raise ValueError(f"it has other rows where those of run {run} should be")
                    yield batch, seq
                    seq += batch.num_rows


def _moved(storage: Storage, part: Part) -> list[Part]:
    """Where the same runs are now that their object was merged into another one."""
    places = Ended(storage).look().places()
    runs = [run for run, _, _ in part.runs]
    if not all(run in places for run in runs):
        raise FileNotFoundError(f"{storage}/{LOG}/{part.log}")
    return _parts(places, runs)


def damage(storage: Storage, part: Part) -> tuple[str, str] | None:
    """The object and what is wrong with it, if a row of these runs cannot be read."""
    name = f"{LOG}/{part.log}"
    try:
        for _ in batches(storage, part):
            pass
    except FileNotFoundError:  # put aside by somebody else: whoever needs these runs does them again
        return None
    except (OSError, ValueError, IndexError) as error:  # ArrowInvalid is a ValueError
        return name, f"{storage}/{name} is damaged: {one_line(error)}"
    return None


def take_out(folder: Folder, run: str, target: Path) -> int:
    """Write the log of one run to a file of its own, as `roamcast run --log` does; how many rows it has."""
    ending = folder.ended_runs.look().ending(run)
    if ending is None:
        raise InputError(f"{folder}: has no finished run {run}; the table runs lists them")
    if ending.log is None:
        raise InputError(f"{folder}: run {run} has no rows; a campaign of level deliveries, frames or full has")
    with files.completed(target) as draft:
        writer: Any = parquet_writer(draft)
        rows = 0
        try:
            for batch, _ in batches(folder.runs, Part(ending.log, [(run, ending.first, ending.groups)])):
                writer.write_table(pa.Table.from_batches([batch]))
                rows += batch.num_rows
        except (OSError, ValueError) as error:
            raise RoamcastError(f"{folder.runs}/{LOG}/{ending.log} is damaged: {one_line(error)}") from None
        finally:
            writer.add_key_value_metadata({SUMMARY_KEY: ending.tally or "{}", RUN_KEY: ending.description or "{}"})
            writer.close()
    return rows


def facts(part: Part) -> dict[str, str]:
    """A part as plain values, for workers."""
    return {"log": part.log, "runs": json.dumps(part.runs)}


def part_of(values: dict[str, str]) -> Part:
    return Part(values["log"], [(run, first, groups) for run, first, groups in json.loads(values["runs"])])
