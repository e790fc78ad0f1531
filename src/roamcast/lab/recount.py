"""A sample of a reproduction's runs, done again with logs and counted from these by Spark.

Logs of level `frames` lie among the other runs' files under ids of their own, because a run's id covers its level: what
is there is not simulated again. `recounted.json` says which runs were compared by which program, and while both are the
same there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from roamcast.errors import RoamcastError
from roamcast.judging import recounted
from roamcast.judging.recounted import Recounted
from roamcast.lab import code, plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.conduct import complete
from roamcast.lab.engine import Tallies
from roamcast.lab.plan import WITH_FRAMES, Run
from roamcast.lab.progress import Watcher
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.tables.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
Metrics = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows of the metrics table by campaign."""


def recount(
    campaigns: Sequence[Campaign], metrics: Metrics, folder: Folder, engine: SparkEngine, watcher: Watcher
) -> Recounted:
    """Count a sample of the campaigns' runs again; LogsDiffer if a log says otherwise than the metrics table."""
    finished = {row["run"]: row for campaign in campaigns for row in metrics.get(campaign.name, [])}
    result = Recounted(recounted.sample([*finished.values()]), code.whole())
    if recounted.read(folder.path) == result:
        return result
    watcher.stage("counting a sample of the runs again from their logs")
    again = {run: logged_run(campaigns, finished[run]) for run in result.runs}
    with folder.held():
        tallies = complete([*again.values()], folder, engine, watcher)
    from_logs = _from_logs([*again.values()], tallies, folder, engine)
    for id, run in again.items():
        if run.id not in from_logs:
            raise RoamcastError(f"run {id}: done again with its log, it failed ({run.command()})")
        recounted.compare(id, run.command(), finished[id], from_logs[run.id])
    recounted.write(result, folder.path)
    return result


def logged_run(campaigns: Sequence[Campaign], row: Mapping[str, Any]) -> Run:
    """The run of a row of the metrics table, with a log that has all that metrics need."""
    campaign = next(campaign for campaign in campaigns if campaign.name == row["campaign"])
    logged = msgspec.structs.replace(campaign, level=WITH_FRAMES[0])
    (run,) = plan.runs(logged, {row["cell"]: [row["seed"]]})
    return run


def _from_logs(runs: Sequence[Run], tallies: Tallies, folder: Folder, engine: SparkEngine) -> Tallies:
    with _few_partitions(engine.spark):
        return engine.measured([run for run in runs if run.id in tallies], tallies, folder)


@contextmanager
def _few_partitions(spark: SparkSession) -> Iterator[None]:
    """The logs of a sample are short: with as many partitions as a campaign has, most tasks would be empty."""
    before = str(spark.conf.get(PARTITIONS))
    spark.conf.set(PARTITIONS, "2")
    try:
        yield
    finally:
        spark.conf.set(PARTITIONS, before)
