"""Runs spread over Spark's workers, and metrics from their logs.

A worker takes the runs of its partition one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from roamcast.errors import RoamcastError
from roamcast.lab import plan
from roamcast.lab.engine import Tallies
from roamcast.lab.measure.metrics import measured
from roamcast.lab.plan import Run
from roamcast.lab.simulate import done, task
from roamcast.lab.spark.frames import frame, read_log
from roamcast.lab.spark.session import cores
from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import read, rows, schemas
from roamcast.lab.tables.folder import Folder
from roamcast.log.arrays import texts
from roamcast.plugins import import_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENDING = ["run", "status", "error", "tally"]
COUNTED = ["run", "tally", "error"]


class SparkEngine:
    """`roamcast.lab.engine.Engine` on Spark, embedded or a cluster."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def simulate(self, runs: Sequence[Run], folder: Folder) -> Tallies:
        parts = plan.partitions(list(runs), cores(self.spark))
        with _giving_up():
            ended = simulated(planned(self.spark, parts), folder).collect()
        return {row.run: json.loads(row.tally) for row in ended if row.tally is not None}

    def tallies(self, runs: Sequence[str], folder: Folder, *, all_rows: bool = False) -> tuple[Tallies, dict[str, str]]:
        if not runs:
            return {}, {}
        files = [{"run": run, "path": str(folder.log_of(run).absolute())} for run in runs]
        parts = max(1, min(4 * cores(self.spark), len(runs) // 50))
        spread = frame(self.spark, files, schemas.FILES).repartition(parts)
        with _giving_up():
            table = spread.mapInArrow(stage(f"{__name__}:read_tallies", all_rows=all_rows), _strings(COUNTED)).collect()
        tallies = {row.run: json.loads(row.tally) for row in table if row.tally is not None}
        return tallies, {row.run: row.error for row in table if row.error is not None}

    def measured(self, runs: Sequence[Run], tallies: Tallies, folder: Folder) -> Tallies:
        """From the rows of their logs."""
        if not runs:
            return {}
        about = frame(self.spark, [rows.of_run(run, tallies[run.id], None) for run in runs], schemas.RUNS)
        log = read_log(self.spark, folder, [run.id for run in runs])
        with _giving_up(), measured(log, about) as metrics:
            return {row.run: row.asDict() for row in metrics.collect()}


@contextmanager
def _giving_up() -> Iterator[None]:
    """What Spark raises is one line of ours."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise RoamcastError(f"Spark gave up: {lines[-1] if lines else error}") from error


def planned(spark: SparkSession, parts: list[list[Run]]) -> DataFrame:
    """The plan as a DataFrame whose partitions are `parts`."""
    tasks = [{"partition": k, **task(run)} for k, part in enumerate(parts) for run in part]
    return frame(spark, tasks, schemas.PLAN).repartitionById(len(parts), "partition")


def simulated(plan: DataFrame, folder: Folder) -> DataFrame:
    """Run what is planned: one row a run that ended, with its tally (JSON) unless it cannot be read."""
    places = {"path": str(folder.path.absolute()), "log": str(folder.log.absolute()), "cwd": str(Path.cwd())}
    return plan.mapInArrow(stage(f"{__name__}:simulate_batches", **places), _strings(ENDING))


def _strings(names: list[str]) -> str:
    return ", ".join(f"{name} string" for name in names)


# ---- on a worker


def simulate_batches(batches: Iterator[pa.RecordBatch], path: str, log: str, cwd: str) -> Iterator[pa.RecordBatch]:
    folder = Folder(Path(path), Path(log))
    import_from(cwd)
    for batch in batches:
        for row in batch.to_pylist():
            ending = (row["run"], *done(folder, row))
            yield pa.RecordBatch.from_arrays([texts([text]) for text in ending], ENDING)


def read_tallies(batches: Iterator[pa.RecordBatch], all_rows: bool) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            counted = (row["run"], *read.tally(row["path"], all_rows))
            yield pa.RecordBatch.from_arrays([texts([text]) for text in counted], COUNTED)
