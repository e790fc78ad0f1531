"""A campaign from its file to its tables: plan, simulate, measure, summarise, and again where intervals are too wide.

The state is in the folder and nowhere else: whatever is finished there is not done again, so a campaign that was
killed goes on when it is started again, and one that ended has nothing to do but tell its tables.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roamcast.errors import RoamcastError
from roamcast.judging.student import ALPHA, interval, values_for
from roamcast.lab import measures, plan, schemas, statistics
from roamcast.lab.campaign import Campaign
from roamcast.lab.folder import MOST_ATTEMPTS, Folder
from roamcast.lab.laboratory import Laboratory, read_log, tallies
from roamcast.lab.plan import Run
from roamcast.lab.session import cores
from roamcast.lab.simulate import planned, simulated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_S = 0.3
WITH_FRAMES = ("frames", "full")
"""Levels whose logs have all that metrics need; of the others, the runs' own tallies are taken."""


Further = Callable[[Sequence[Run], Mapping[str, Mapping[str, Any]]], list[Run]]
"""From the runs so far, and what they counted by run, to runs that are wanted besides."""


class Watcher:
    """Told how a campaign goes. This one looks away."""

    def stage(self, what: str) -> None:
        """Something that takes a while begins."""

    def runs(self, total: int, done: int) -> None:
        """Simulations begin: so many in all, so many of them done before."""

    def progress(self, done: int, cost_done_s: float, cost_left_s: float) -> None:
        """So many runs have ended; costs are as planned, in processor seconds."""

    def warn(self, line: str) -> None:
        """Something went wrong that is being seen to."""


def conduct(
    campaigns: Sequence[Campaign],
    folder: Folder,
    spark: SparkSession,
    watcher: Watcher | None = None,
    *,
    extend: bool = False,
    retry: bool = False,
    further: Further | None = None,
) -> Laboratory:
    """Do what is left to do of one or more campaigns. `retry`: also runs that have failed.

    `further` may ask for more runs once it sees what the others gave, again and again until it asks for none.
    """
    watcher = watcher or Watcher()
    wanted = [run for campaign in campaigns for run in plan.runs(campaign)]  # what is wrong with it is known by now
    with folder.held():
        folder.claim(campaigns, extend)
        folder.tidy()
        if retry:
            folder.retry_failed()
        while True:
            told = _complete(wanted, folder, spark, watcher)
            more = [run for campaign in campaigns for run in _more(campaign, wanted, told)]
            more += further(wanted, told) if further else []
            if not more and _tell(wanted, told, folder, spark, watcher):
                break
            wanted = [*wanted, *more]
    return Laboratory(folder.path, spark)


def _complete(wanted: list[Run], folder: Folder, spark: SparkSession, watcher: Watcher) -> dict[str, dict[str, Any]]:
    """Have all wanted runs ended; what the finished ones counted, by run."""
    told: dict[str, dict[str, Any]] = {}
    while True:
        told |= _simulate(wanted, folder, spark, watcher)
        unread = sorted({run.id for run in wanted} & folder.finished() - told.keys())
        if unread:
            watcher.stage("reading what the runs counted")
        found, corrupt = _tallies(spark, folder, unread)
        told |= found
        _put_aside(corrupt, folder, watcher)
        if not corrupt:
            return told


def _put_aside(corrupt: dict[str, str], folder: Folder, watcher: Watcher) -> None:
    for run, why in corrupt.items():
        place = folder.put_aside(run)
        watcher.warn(f"{why}; put aside as {place.name}, the run is done again")


def _simulate(wanted: list[Run], folder: Folder, spark: SparkSession, watcher: Watcher) -> dict[str, dict[str, Any]]:
    """Have all wanted runs ended; what those counted that Spark told of, by run."""
    told: dict[str, dict[str, Any]] = {}
    distinct = {run.id: run for run in wanted}  # campaigns may share runs
    ended = folder.ended()
    left = [run for id, run in distinct.items() if id not in ended]
    watcher.runs(len(distinct), len(distinct) - len(left))
    if not left:
        return told
    with _watched(folder, list(distinct.values()), watcher):
        while left:
            try:
                told |= _do(simulated(planned(spark, plan.partitions(left, cores(spark))), folder))
            except RoamcastError:
                for run in (run for run in left if run.id in folder.begun()):
                    _alone(run, folder, spark)
                if not folder.ended() & {run.id for run in left}:  # it would fail again
                    raise
            ended = folder.ended()
            left = [run for run in left if run.id not in ended]
    return told


def _alone(run: Run, folder: Folder, spark: SparkSession) -> None:
    """One of the runs that were under way when Spark gave up: if it kills workers, it takes no others with it now."""
    for _ in range(MOST_ATTEMPTS + 1):
        if run.id not in folder.ended():
            with suppress(RoamcastError):
                _do(simulated(planned(spark, [[run]]), folder))


def _do(work: DataFrame) -> dict[str, dict[str, Any]]:
    """Have Spark do it: what the runs counted. It is in the folder too, should Spark give up."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return {row.run: json.loads(row.tally) for row in work.collect() if row.tally is not None}
    except (PySparkException, Py4JJavaError) as error:
        told = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise RoamcastError(f"Spark gave up: {told[-1] if told else error}") from error


@contextmanager
def _watched(folder: Folder, wanted: list[Run], watcher: Watcher) -> Iterator[None]:
    """Tell the watcher what has ended, while Spark is busy."""
    costs = {run.id: run.cost_s for run in wanted}
    before = folder.ended() & costs.keys()
    total_s = sum(costs.values()) - sum(costs[run] for run in before)
    over = threading.Event()

    def look() -> None:
        ended = folder.ended() & costs.keys()
        done_s = sum(costs[run] for run in ended - before)
        watcher.progress(len(ended), done_s, total_s - done_s)

    def keep_looking() -> None:
        pause_s = POLL_S
        while not over.wait(pause_s):
            began_s = time.monotonic()
            look()
            pause_s = max(POLL_S, 50 * (time.monotonic() - began_s))  # among many runs a look takes long

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    look()


def _tallies(
    spark: SparkSession, folder: Folder, runs: list[str], *, all_rows: bool = False
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """What the runs counted; and of which files cannot be read, why."""
    if not runs:
        return {}, {}
    rows = tallies(spark, folder, runs, cores(spark), all_rows).collect()
    told = {row.run: json.loads(row.tally) for row in rows if row.tally is not None}
    return told, {row.run: row.error for row in rows if row.error is not None}


# ---- until it is tight enough


def _more(campaign: Campaign, wanted: list[Run], told: dict[str, dict[str, Any]]) -> list[Run]:
    """Runs with further seeds, for cells whose interval is still too wide."""
    until = campaign.until
    if until is None:
        return []
    seeds: dict[int, list[int]] = {}
    for k in range(len(campaign.cells)):
        mine = [run for run in wanted if run.campaign is campaign and run.place == k]
        values = [told[run.id][until.metric] for run in mine if run.id in told]
        found = interval([value for value in values if value is not None], ALPHA)
        width = None if found is None else found[2] - found[0]
        if len(mine) < until.max_seeds and (width is None or width > until.half_width):
            count = min(until.max_seeds, _needed(len(mine), width, until.half_width))
            seeds[k] = campaign.more_seeds(count)[len(mine) :]
    return plan.runs(campaign, seeds) if seeds else []


def _needed(n: int, width: float | None, asked: float) -> int:
    """About how many it takes; never more than twice as many at a time, because a width is only an estimate."""
    if width is None:
        return max(2, 2 * n)
    return min(2 * n, max(n + 1, round(values_for(n, width, asked))))


# ---- tables


def _tell(
    wanted: list[Run], told: dict[str, dict[str, Any]], folder: Folder, spark: SparkSession, watcher: Watcher
) -> bool:
    """Write the tables; or put logs aside that turned out to be damaged, so that their runs are done again."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        _write_tables(wanted, told, folder, spark, watcher)
    except (PySparkException, Py4JJavaError):
        _, damaged = _tallies(spark, folder, sorted(_framed(wanted) & told.keys()), all_rows=True)
        _put_aside(damaged, folder, watcher)
        if not damaged:
            raise
        return False
    return True


def _write_tables(
    wanted: list[Run], told: dict[str, dict[str, Any]], folder: Folder, spark: SparkSession, watcher: Watcher
) -> None:
    watcher.stage("measuring")
    failures = folder.failures()
    rows = [_run(run, told.get(run.id), failures.get(run.id)) for run in wanted]
    runs = schemas.table(spark, rows, schemas.RUNS)
    with folder.telling():
        metrics = _measured(wanted, told, runs, folder, spark)
        watcher.stage("summing up")
        with ThreadPoolExecutor() as beside:
            written = [
                beside.submit(write_table, runs, folder.path / "runs", "campaign", "cell", "seed"),
                beside.submit(write_table, metrics, folder.path / "metrics", "campaign", "cell", "seed"),
                beside.submit(write_table, statistics.summary(metrics), folder.path / "summary"),
            ]
        for table in written:
            table.result()


def _framed(wanted: list[Run]) -> set[str]:
    """Runs whose logs have all that metrics need; of the others, their own tallies are taken."""
    return {run.id for run in wanted if run.campaign.level in WITH_FRAMES}


def _run(run: Run, told: dict[str, Any] | None, failure: dict[str, Any] | None) -> tuple[Any, ...]:
    cell = run.cell
    status = "finished" if told is not None else "failed" if failure is not None else "planned"
    return (
        *_coordinates(run),
        cell.scenario.duration_s,
        run.campaign.level,
        msgspec.json.encode(cell.scenario).decode(),
        json.dumps(cell.params),
        plan.code_version(cell.protocol),
        status,
        failure["error"] if failure is not None and told is None else None,
        run.command(),
        told["wall_s"] if told is not None else None,
        told["cpu_s"] if told is not None else None,
    )


def row(run: Run, counted: Mapping[str, Any]) -> dict[str, Any]:
    """A finished run as the metrics table will have it."""
    found = dict(zip(schemas.METRICS.fieldNames(), _metrics(run, counted), strict=True))
    return {name: dict(value) if isinstance(value, list) else value for name, value in found.items()}


def _coordinates(run: Run) -> tuple[Any, ...]:
    cell = run.cell
    return (
        run.id,
        run.campaign.name,
        run.campaign.preset,
        run.campaign.reading,
        run.place,
        cell.protocol,
        cell.label,
        texts(cell.given),
        texts(cell.world),
        run.seed,
        cell.scenario.nodes,
    )


def texts(values: dict[str, Any]) -> list[tuple[str, str]]:
    """As Arrow takes a map."""
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in values.items()]


def _metrics(run: Run, told: Mapping[str, Any]) -> tuple[Any, ...]:
    counted = (told[name] for name in schemas.METRICS.fieldNames()[len(schemas.COORDINATES) :])
    return (*_coordinates(run), *(list(value.items()) if isinstance(value, dict) else value for value in counted))


def _measured(
    wanted: list[Run], told: dict[str, dict[str, Any]], runs: DataFrame, folder: Folder, spark: SparkSession
) -> DataFrame:
    """The metrics table: from the logs where they have frames, otherwise from what the runs counted."""
    framed = _framed(wanted) & told.keys()

    def counted(which: Set[str]) -> DataFrame:
        rows = [_metrics(run, told[run.id]) for run in wanted if run.id in which]
        return schemas.table(spark, rows, schemas.METRICS)

    by_tally = counted(told.keys() - framed)
    if not framed:
        return by_tally
    logged = runs.where("status = 'finished'").where(runs.level.isin(*WITH_FRAMES)).dropDuplicates(["run"])
    with measures.metrics(read_log(spark, folder, sorted(framed)), logged) as found:
        about = counted(framed).select(*schemas.COORDINATES.fieldNames(), "fingerprint")
        measured = about.join(found, "run").select(schemas.METRICS.fieldNames()).toArrow()
    return by_tally.unionByName(spark.createDataFrame(measured, schemas.METRICS))


def write_table(table: DataFrame, target: Path, *order: str) -> None:
    """As one Parquet file in its folder, which is replaced whole. A sort in one partition takes no sample first."""
    fresh = target.with_name(f".{target.name}.new")
    one = table.coalesce(1)
    one = one.sortWithinPartitions(*order) if order else one
    one.write.mode("overwrite").parquet(str(fresh.absolute()))
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.replace(old)
    fresh.replace(target)
    shutil.rmtree(old, ignore_errors=True)


# ---- how far it is


class Status(msgspec.Struct, frozen=True):
    campaigns: list[str]
    planned: int
    finished: int
    failed: dict[str, dict[str, Any]]
    measured: bool


def status(folder: Folder) -> Status:
    """How far the campaigns in a folder are, without Spark. Runs that `until` may add are not known before they are."""
    campaigns = folder.campaigns()
    wanted = {run.id for campaign in campaigns for run in plan.runs(campaign)}
    finished, failed = folder.finished(), folder.failures()
    return Status(
        campaigns=[campaign.name for campaign in campaigns],
        planned=len(wanted),
        finished=len(wanted & finished),
        failed={run: told for run, told in failed.items() if run in wanted},
        measured=folder.told(),
    )
