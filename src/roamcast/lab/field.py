"""Logs of real nodes, through Spark Structured Streaming, into the laboratory's tables.

Nodes write files of their log (net/rotation.py); somebody brings them to one folder. A file that is whole is linked to
where Spark looks; one that is not (yet) is said once, and looked at again each time. Spark takes in every file once, as
it comes, and whatever was taken in is kept: who is killed goes on.

    OUT/whole/              links to the files that are whole
    OUT/raw/batch=N/        rows as they came, with the file and the place in it
    OUT/checkpoint/         which files were taken in
    OUT/clocks/             run, node, life, t, offset_us: by how much a node's clock was ahead, when it showed t
    OUT/log/RUN.parquet     all nodes' rows in one log, by one clock, in order
    OUT/runs/, metrics/, summary/     the tables (schemas.py), as a campaign has them: `roamcast query OUT "…"`

Clocks. Rows have their node's time, and no two clocks agree; nor do a node's before and after it began anew, so each of
its lives (which the name of a file tells) has a clock of its own here. A frame's serial is the same at its sender and
at all who heard it, so every reception says: hearer's clock − sender's clock = delay + difference of their clocks. Of
many frames the fastest has the least delay; where frames went both ways, half the difference of the two minima is what
the clocks differ by, up to half the sum of the least delays. These differences are made one offset for each clock by
least squares, the surer ones weighing more. That is done twice: once over all time, which brings the clocks
together roughly, and then for each minute, between whose middles offsets are interpolated: crystals drift. Offsets have
mean zero among clocks that are connected; others cannot be compared, nor need they be.

What differs from the median by more than any delay is left out: a frame that somebody recorded, and played later.

Other than in simulations, an event can have several publish rows: a node that restarts publishes again what is valid
still. The first one counts.
"""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from roamcast import files
from roamcast.errors import InputError
from roamcast.lab import measures, schemas
from roamcast.lab.code import version
from roamcast.lab.conduct import write_table
from roamcast.lab.folder import Folder
from roamcast.lab.worker import stage
from roamcast.log import reader
from roamcast.log.schema import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW_US = 60_000_000
"""Clocks that drift apart by 40 millionths do so by 2.4 ms in a minute: what is found is no surer than that."""
PLAUSIBLE_US = 5_000_000
"""No delay is longer, nor do clocks wander so far."""
POLL_S = 0.2
LEAST_DELAY_US = 50.0
ONE_WAY = 1e-3
"""Weight of what only frames in one direction tell."""
LIFE = r"^\d+-(\d+)-\d+\.parquet$"
"""What a file's name tells of its node's life; files of other names are all of one."""

Clock = tuple[int, str]
"""Of a node, in one of its lives."""
Knots = dict[str, tuple[list[float], list[float]]]
"""For "run node life": times by that clock, and its offset at each."""


class Live(NamedTuple):
    """How a run of the field stands."""

    run: str
    nodes: int
    rows: int
    metrics: dict[str, Any]


class Standing(NamedTuple):
    knots: Knots
    log: DataFrame
    runs: DataFrame
    tally: DataFrame
    lives: list[Live]


class Field:
    def __init__(self, logs: Path, out: Path, spark: SparkSession) -> None:
        if not logs.is_dir():
            raise InputError(f"{logs}: there is no such folder of logs")
        if logs.resolve() == out.resolve():
            raise InputError(f"{out}: holds the logs themselves; choose another --out")
        self.logs = logs
        self.folder = Folder(out)
        self.raw = out / "raw"
        self.whole = out / "whole"
        self.spark = spark
        self.began = time.monotonic()
        self._latest: Standing | None = None
        self._failure: Exception | None = None
        self._said: dict[Path, bool] = {}
        self.left_out: list[str] = []  # files that are not whole

    # ---- taking in

    def ingest(self, told: Callable[[Live], None], until: Event | None = None, every_s: float = 10.0) -> list[Live]:
        """Take in what there is, or what comes `until` somebody sets this; `told` after each batch."""
        from pyspark.errors import StreamingQueryException

        with self.folder.held():
            self._claim()

            def take(batch: DataFrame, number: int) -> None:
                try:
                    batch.write.mode("overwrite").parquet(str(self.raw / f"batch={number}"))
                    for live in self._look().lives:
                        told(live)
                except Exception as error:  # Spark would wrap it up, and py4j print it
                    self._failure = error
                    logging.getLogger("py4j").setLevel(logging.CRITICAL)
                    raise

            self._find_whole(until is not None)
            query = self._stream(take, until is not None, every_s)
            looked = time.monotonic()
            while until is not None and query.isActive and not until.wait(POLL_S):
                if time.monotonic() - looked >= every_s:
                    self._find_whole(True)
                    looked = time.monotonic()
            if until is not None and until.is_set():
                query.stop()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                raise InputError(f"cannot take in the logs: {_why(self._failure or error)}") from error
            if not self.raw.exists():
                return []
            latest = self._latest or self._look()
            self._write_tables(latest)
            return latest.lives

    def _claim(self) -> None:
        place = self.folder.path / "field.json"
        ours = json.dumps({"logs": str(self.logs.resolve()), "form": 2}).encode()
        found = place.read_bytes() if place.exists() else ours
        if found != ours:
            why = "holds the logs of another field" if b'"form"' in found else "was made by an earlier version"
            raise InputError(f"{self.folder.path}: {why}; choose another --out")
        if not place.exists() and (self.folder.path / "campaign.json").exists():
            raise InputError(f"{self.folder.path}: holds a campaign; choose another --out")
        files.write(place, ours)
        files.write(self.folder.path / "campaign.json", b"[]")  # so that it opens as any laboratory does

    def _find_whole(self, follow: bool) -> None:
        """Link what is whole by now. Spark never looks at a file again, so it must not see one before."""
        self.whole.mkdir(exist_ok=True)
        here, out = self.logs.resolve(), self.folder.path.resolve()
        inside = out.is_relative_to(here)
        what_then = "looked at again until it is whole" if follow else "it is left out"
        self.left_out = []
        for path in sorted(here.rglob("[!.]*.parquet")):
            link = self.whole / path.relative_to(here)
            if link.is_symlink() or (inside and out in path.parents):
                continue
            try:
                reader.summary(path)
            except (InputError, ValueError) as error:
                if path not in self._said:
                    logging.getLogger("roamcast.lab").warning("%s; %s", error, what_then)
                self._said[path] = True
                self.left_out.append(str(path))
            else:
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)

    def _stream(self, take: Callable[[DataFrame, int], None], follow: bool, every_s: float) -> Any:
        rows = (
            self.spark.readStream.schema(schemas.LOG)
            .option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.parquet")
            .option("maxFileAge", "36500d")  # however late somebody brings it
            .parquet(str(self.whole))
            .selectExpr("*", "_metadata.file_name as file", "_metadata.row_index as place")
        )
        writer = rows.where("run is not null and kind is not null").writeStream.foreachBatch(take)
        writer = writer.option("checkpointLocation", str(self.folder.path / "checkpoint"))
        when = {"processingTime": f"{every_s:g} seconds"} if follow else {"availableNow": True}
        return writer.trigger(**when).start()

    # ---- looking at it

    def _look(self) -> Standing:
        """All that was taken in: as one log by one clock, and measured."""
        if self._latest is not None:
            for table in (self._latest.log, self._latest.runs, self._latest.tally):
                table.unpersist()
        rows = self.spark.read.parquet(str(self.raw)).drop("batch")
        knots = clocks(rows)
        log = merged(rows, knots).cache()
        runs = self._runs(log).cache()
        with measures.metrics(log, runs, simulated=False) as measured:
            tally = measured.cache()
            self._latest = Standing(knots, log, runs, tally, _lives(log, runs, tally))
        return self._latest

    # ---- tables

    def _write_tables(self, latest: Standing) -> None:
        import pyarrow.parquet as pq

        schema = arrow_schema()
        for live in latest.lives:
            one = latest.log.where(latest.log.run == live.run).orderBy("seq").drop("seq").toArrow()
            target = self.folder.log_of(live.run)
            half = target.with_name(f".{target.name}.part")
            pq.write_table(one.cast(schema).replace_schema_metadata(schema.metadata), half, compression="zstd")
            half.replace(target)
        coordinates = [field.name for field in schemas.COORDINATES.fields]
        table = latest.runs.select(coordinates).join(latest.tally, "run")
        table = table.selectExpr("*", "cast(null as string) as fingerprint")
        path = self.folder.path
        with self.folder.telling():
            write_table(latest.runs.select([field.name for field in schemas.RUNS.fields]), path / "runs")
            write_table(table.select([field.name for field in schemas.METRICS.fields]), path / "metrics")
            write_table(self.spark.createDataFrame([], schemas.SUMMARY), path / "summary")
            write_table(self._clock_table(latest.knots), path / "clocks")

    def _clock_table(self, knots: Knots) -> DataFrame:
        rows = [
            (run, int(node), life, int(t), offset)
            for key, (times, offsets) in sorted(knots.items())
            for run, node, life in [key.rsplit(" ", 2)]
            for t, offset in zip(times, offsets, strict=True)
        ]
        return self.spark.createDataFrame(rows, "run string, node int, life string, t long, offset_us double")

    def _runs(self, log: DataFrame) -> DataFrame:
        """What a campaign's table of runs would say; nothing is known of a scenario."""
        from pyspark.sql import functions as F

        about = log.groupBy("run").agg(
            F.countDistinct("node").cast("int").alias("nodes"), ((F.max("t") - F.min("t")) / 1e6).alias("sim_s")
        )
        texts = F.create_map().cast(schemas.TEXTS)
        known = {
            "campaign": F.lit("field"),
            "preset": F.lit("field"),
            "reading": F.lit(""),
            "cell": F.lit(0),
            "protocol": F.lit("field"),
            "label": F.lit("field"),
            "params": texts,
            "world": texts,
            "seed": F.lit(0).cast("bigint"),
            "level": F.lit("frames"),
            "scenario": F.lit("{}"),
            "all_params": F.lit("{}"),
            "code": F.lit(version()),
            "status": F.lit("finished"),
            "error": F.lit(None).cast("string"),
            "command": F.lit(f"roamcast lab field {self.logs}"),
            "wall_s": F.lit(time.monotonic() - self.began),
            "cpu_s": F.lit(None).cast("double"),
        }
        return about.withColumns(known)


def _why(error: Exception) -> str:
    """The first cause, if it is one of Java's, without the name of its class."""
    lines = str(error).splitlines()
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return causes[-1].removeprefix("Caused by: ").partition(": ")[2] if causes else lines[0]


def _lives(log: DataFrame, runs: DataFrame, tally: DataFrame) -> list[Live]:
    rows = {row.run: row["count"] for row in log.groupBy("run").count().collect()}
    nodes = {row.run: row.nodes for row in runs.collect()}
    return [Live(row.run, nodes[row.run], rows[row.run], row.asDict(recursive=True)) for row in tally.collect()]


# ---------------------------------------------------------------------------------------------------------- one clock


def clocks(rows: DataFrame) -> Knots:
    """By how much each node's clock was ahead, at the times that it showed."""
    rough = _solved(_differences(rows, {}, None), {})
    return _solved(_differences(rows, rough, WINDOW_US), rough)


def _differences(rows: DataFrame, rough: Knots, window_us: int | None) -> list[Any]:
    """run, window, sender, sender_life, hearer, hearer_life, least (us), sent, heard (means, by their own clocks)."""
    from pyspark.sql import functions as F

    right = _set_right(rows.where("kind = 'send' or (kind = 'receive' and bytes > 0)"), rough)
    sends = right.where("kind = 'send'").selectExpr(
        "run", "frame", "node sender", "life sender_life", "t sent", "own sent_own"
    )
    heard = right.where("kind = 'receive'").selectExpr(
        "run", "frame", "peer sender", "node hearer", "life hearer_life", "t heard", "own heard_own"
    )
    clocks = ["run", "sender", "sender_life", "hearer", "hearer_life"]
    both = heard.join(sends, ["run", "frame", "sender"]).withColumn("took", F.col("heard") - F.col("sent"))
    usual = both.groupBy(clocks).agg(F.percentile_approx("took", 0.5).alias("usual"))
    both = both.join(usual, clocks).where(F.abs(F.col("took") - F.col("usual")) <= PLAUSIBLE_US)
    window = F.lit(0) if window_us is None else F.floor(F.col("sent") / window_us)
    return (
        both.groupBy(*clocks, window.alias("window"))
        .agg(F.min("took").alias("least"), F.avg("sent_own").alias("sent"), F.avg("heard_own").alias("heard"))
        .collect()
    )


def _solved(differences: list[Any], rough: Knots) -> Knots:
    groups: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for row in differences:
        groups[row.run, row.window].append(row)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (run, _), rows in sorted(groups.items()):
        least: dict[tuple[Clock, Clock], float] = {}
        times: dict[Clock, list[float]] = defaultdict(list)
        for row in rows:
            sender, hearer = (row.sender, row.sender_life), (row.hearer, row.hearer_life)
            least[sender, hearer] = float(row.least)
            times[sender].append(row.sent)
            times[hearer].append(row.heard)
        for clock, offset in least_squares(least).items():
            key = f"{run} {clock[0]} {clock[1]}"
            at = sum(times[clock]) / len(times[clock])
            known = rough.get(key)
            before = 0.0 if known is None else float(offset_at(np.array([at]), *known)[0])
            found[key].append((at, before + offset))
    knots = {key: sorted(pairs) for key, pairs in found.items()}
    return {key: ([t for t, _ in pairs], [offset for _, offset in pairs]) for key, pairs in knots.items()}


def least_squares(least: dict[tuple[Clock, Clock], float]) -> dict[Clock, float]:
    """Offsets of clocks from the least of (hearer's clock − sender's clock) by (sender, hearer); mean zero where
    they are connected: that is the shortest of all solutions, and the one that is found."""
    clocks = sorted({clock for pair in least for clock in pair})
    place = {clock: k for k, clock in enumerate(clocks)}
    both = {(i, j): (d, least[j, i]) for (i, j), d in least.items() if i < j and (j, i) in least}
    delays = sorted((there + back) / 2 for there, back in both.values())
    usual = delays[len(delays) // 2] if delays else 0.0
    told = [
        (i, j, (there - back) / 2, 1 / (abs(there + back) / 2 + LEAST_DELAY_US))
        for (i, j), (there, back) in both.items()
    ]
    told += [
        (i, j, d - usual, ONE_WAY / (abs(usual) + LEAST_DELAY_US)) for (i, j), d in least.items() if (j, i) not in least
    ]
    rows = np.zeros((len(told), len(clocks)))
    values = np.zeros(len(told))
    for k, (i, j, difference, weight) in enumerate(told):
        rows[k, place[j]], rows[k, place[i]] = weight, -weight
        values[k] = weight * difference
    solution = np.linalg.lstsq(rows, values, rcond=1e-12)[0]
    return {clock: float(solution[k]) for clock, k in place.items()}


def offset_at(t: Any, times: list[float], offsets: list[float]) -> Any:
    """Interpolated; before the first and after the last, the clock goes on as it went, for a window at most."""
    found = np.interp(t, times, offsets)
    if len(times) > 1:
        first = (offsets[1] - offsets[0]) / (times[1] - times[0])
        last = (offsets[-1] - offsets[-2]) / (times[-1] - times[-2])
        found = found + first * np.clip(t - times[0], -WINDOW_US, 0) + last * np.clip(t - times[-1], 0, WINDOW_US)
    return found


def _set_right(rows: DataFrame, knots: Knots) -> DataFrame:
    """The rows with their `life`, `t` by the common clock, and `own`, what their node's clock showed."""
    from pyspark.sql import functions as F

    rows = rows.withColumn("life", F.regexp_extract("file", LIFE, 1))
    if not knots:
        return rows.selectExpr("*", "t as own")
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
    return rows.mapInArrow(stage(f"{__name__}:set_right", knots=knots), f"{columns}, own bigint")


def set_right(batches: Iterator[pa.RecordBatch], knots: Knots) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        own = batch["t"].to_numpy(zero_copy_only=False)
        who = zip(*(batch[name].to_pylist() for name in ("run", "node", "life")), strict=True)
        keys = np.array([f"{run} {node} {life}" for run, node, life in who], dtype=object)
        t = own.astype(np.float64)
        offsets = np.zeros(len(t))
        for key in dict.fromkeys(keys.tolist()):
            if key in knots:
                where = keys == key
                offsets[where] = offset_at(t[where], *knots[key])
        right = own - np.rint(offsets).astype(np.int64)
        at = batch.schema.get_field_index("t")
        moved = batch.set_column(at, "t", pa.array(right, pa.int64()))
        yield moved.append_column("own", pa.array(own, pa.int64()))


def merged(rows: DataFrame, knots: Knots) -> DataFrame:
    """All nodes' rows as one log: by one clock, in order, of each event the first publication."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    right = _set_right(rows, knots)
    order = ["t", "node", "file", "place"]
    of_event = Window.partitionBy("run", "event").orderBy(*order)
    said = right.where("kind = 'publish'").withColumn("nth", F.row_number().over(of_event))
    kept = right.where("kind != 'publish'").unionByName(said.where("nth = 1").drop("nth"))
    placed = kept.withColumn("seq", F.row_number().over(Window.partitionBy("run").orderBy(*order)).cast("bigint") - 1)
    return placed.select([field.name for field in schemas.LOG.fields] + ["seq"])
