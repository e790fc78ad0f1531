"""Runs spread over Spark's workers, and metrics from their logs.

A worker takes the runs of its partition one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.errors import Interrupted, RoamcastError
from roamcast.lab import plan
from roamcast.lab.engine import Limits, Tallies
from roamcast.lab.measure.metrics import measured
from roamcast.lab.plan import Run
from roamcast.lab.simulate import all_done, task
from roamcast.lab.spark.frames import frame, read_log
from roamcast.lab.spark.modules import only_from
from roamcast.lab.spark.session import JAVA_GONE, cores
from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import logs, rows, schemas
from roamcast.lab.tables.folder import Folder, found_by
from roamcast.log.arrays import texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENDING = ["run", "tally", "error", "interrupted"]
DAMAGE = ["log", "error"]
LONGEST_CAUSE = 300


class SparkEngine:
    """`roamcast.lab.engine.Engine` on Spark, embedded or a cluster."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def simulate(self, runs: Sequence[Run], folder: Folder, limits: Limits = lambda _: 0.0) -> Tallies:
        with _giving_up():
            parts = plan.partitions(list(runs), cores(self.spark))
            ended = simulated(planned(self.spark, parts, limits), folder).collect()
        interrupted = [row.interrupted for row in ended if row.interrupted is not None]
        if interrupted:
            raise Interrupted(interrupted[0])
        return {row.run: json.loads(row.tally) for row in ended if row.tally is not None}

    def damaged(self, runs: Sequence[str], folder: Folder) -> dict[str, str]:
        parts = [logs.facts(part) for part in logs.parts(folder, runs)]
        if not parts:
            return {}
        look = stage(f"{__name__}:look_through", folder=folder.facts())
        with _giving_up():
            spread = frame(self.spark, parts, schemas.PARTS).repartition(min(len(parts), 4 * cores(self.spark)))
            return {row.log: row.error for row in spread.mapInArrow(look, _strings(DAMAGE)).collect()}

    def measured(self, runs: Sequence[Run], tallies: Tallies, folder: Folder) -> Tallies:
        """From the rows of their logs."""
        if not runs:
            return {}
        with _giving_up():
            about = frame(self.spark, [rows.of_run(run, tallies[run.id], None) for run in runs], schemas.runs({}))
            log = read_log(self.spark, folder, [run.id for run in runs])
            with measured(log, about) as metrics:
                return {row.run: row.asDict() for row in metrics.collect()}

    def stop(self) -> None:
        """End what Spark is doing, as far as it can still be asked to."""
        with suppress(Exception):
            self.spark.sparkContext.cancelAllJobs()

    def is_measured(self, metrics: Mapping[str, Any]) -> bool:
        return bool(metrics)


@contextmanager
def _giving_up() -> Iterator[None]:
    """What Spark raises is one line of ours."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise RoamcastError(f"Spark gave up: {_cause(str(error))}") from error
    except (Py4JError, ConnectionError, EOFError) as error:
        raise Interrupted(JAVA_GONE) from error


def _cause(text: str) -> str:
    """The line of an error of Spark that says what is wrong: the last one that is no place in Java's sources."""
    lines = [line.strip(" \t:") for line in text.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return telling[-1][:LONGEST_CAUSE] if telling else text


def planned(spark: SparkSession, parts: list[list[Run]], limits: Limits = lambda _: 0.0) -> DataFrame:
    """The plan as a DataFrame whose partitions are `parts`."""
    tasks = [{"partition": k, **task(run, limits(run))} for k, part in enumerate(parts) for run in part]
    return frame(spark, tasks, schemas.PLAN).repartitionById(len(parts), "partition")


def simulated(plan: DataFrame, folder: Folder) -> DataFrame:
    """Run what is planned: one row a run that ended, with its tally (JSON) or error; or one that says why not."""
    work = stage(f"{__name__}:simulate_batches", folder=folder.facts(), cwd=str(Path.cwd()))
    return plan.mapInArrow(work, _strings(ENDING))


def _strings(names: list[str]) -> str:
    return ", ".join(f"{name} string" for name in names)


# ---- on a worker


def simulate_batches(batches: Iterator[pa.RecordBatch], folder: dict[str, str], cwd: str) -> Iterator[pa.RecordBatch]:
    """A worker whose task was tried before notes what it begins: somebody may have died of it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    only_from(cwd)
    tasks = (row for batch in batches for row in batch.to_pylist())
    try:
        for some in all_done(found_by(folder), tasks, noting=context is not None and context.attemptNumber() > 0):
            yield _batch([[*done, None] for done in some], ENDING)
    except Interrupted as error:  # trying the task again would not help
        yield _batch([[None, None, None, str(error)]], ENDING)


def look_through(batches: Iterator[pa.RecordBatch], folder: dict[str, str]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            damage = logs.damage(found_by(folder).runs, logs.part_of(row))
            if damage is not None:
                yield _batch([list(damage)], DAMAGE)


def _batch(rows: Sequence[Sequence[str | None]], names: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([texts([row[k] for row in rows]) for k in range(len(names))], names)
