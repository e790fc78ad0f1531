"""The stage that simulates: planned runs in, finished files in the campaign's folder, one row about each run out.

A worker takes the runs of its partition one after the other. A run that has ended already (by this worker before it
died, by another that Spark had given up) is not done again; one that raises is recorded and the next one begins; one
during which workers die is recorded after a few times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from roamcast.errors import InputError, WorkerDied
from roamcast.lab.plan import Run
from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import schemas
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder, tally_in
from roamcast.log.arrays import texts
from roamcast.plugins import import_from
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENDING = ["run", "status", "error", "tally"]
ENDED = ", ".join(f"{name} string" for name in ENDING)


def planned(spark: SparkSession, parts: list[list[Run]]) -> DataFrame:
    """The plan as a DataFrame whose partitions are `parts`."""
    rows = [
        (
            k,
            run.id,
            run.cell.protocol,
            json.dumps(run.cell.params),
            msgspec.json.encode(run.cell.scenario).decode(),
            run.seed,
            run.campaign.level,
            run.command(),
        )
        for k, part in enumerate(parts)
        for run in part
    ]
    return schemas.table(spark, rows, schemas.PLAN).repartitionById(len(parts), "partition")


def simulated(plan: DataFrame, folder: Folder) -> DataFrame:
    """Run what is planned: one row a run that ended, with its tally (JSON) unless it cannot be read."""
    places = {"path": str(folder.path.absolute()), "log": str(folder.log.absolute()), "cwd": str(Path.cwd())}
    return plan.mapInArrow(stage("roamcast.lab.simulate:simulate_batches", **places), ENDED)


# ---- on a worker


def simulate_batches(batches: Iterator[pa.RecordBatch], path: str, log: str, cwd: str) -> Iterator[pa.RecordBatch]:
    folder = Folder(Path(path), Path(log))
    import_from(cwd)
    for batch in batches:
        for row in batch.to_pylist():
            status, error = one(folder, row)
            tally = _tally(folder.log_of(row["run"])) if status == "finished" else None
            yield pa.RecordBatch.from_arrays([texts([text]) for text in (row["run"], status, error, tally)], ENDING)


def one(folder: Folder, row: dict[str, Any]) -> tuple[str, str | None]:
    """Do one run, unless it has been done: how it ended, and its error."""
    run = row["run"]
    if folder.log_of(run).exists():
        return "finished", None
    try:
        attempt = folder.begin(run)
        if attempt > MOST_ATTEMPTS:
            raise WorkerDied(f"a worker process died during this run {attempt - 1} times")
        _simulate(folder, row)
    except Exception as error:
        line = folder.fail(run, error, row["command"])
        folder.end(run)
        return "failed", line
    folder.end(run)
    return "finished", None


def _simulate(folder: Folder, row: dict[str, Any]) -> None:
    scenario = msgspec.json.decode(row["scenario"], type=Scenario)
    simulate(
        scenario,
        row["protocol"],
        json.loads(row["params"]),
        row["seed"],
        level=row["level"],
        log=folder.log_of(row["run"]),
        run=row["run"],
    )


def _tally(path: Path) -> str | None:
    with suppress(InputError):  # conduct.py finds it among the finished runs and puts it aside
        return tally_in(path)
    return None
