"""Logs of real nodes, through Spark Structured Streaming, into the laboratory's tables.

Nodes write files of their log (net/rotation.py), which are brought to one folder. A whole file is linked to where Spark
looks. A file that is not whole (yet) is named once as a warning and looked at again each time. Spark takes in every
file once, as it comes, and keeps what it took in: a process that was killed goes on when it is started again.

    OUT/whole/              links to the files that are whole
    OUT/raw/batch=N/        rows as they came, with the file and the place in it
    OUT/checkpoint/         which files were taken in
    OUT/clocks/             run, node, life, t, offset_us: by how much a node's clock was ahead, when it showed t
    OUT/log/RUN.parquet     all nodes' rows in one log, by one clock, in order
    OUT/runs/, metrics/, summary/     the tables (schemas.py), as a campaign has them: `roamcast query OUT "…"`

Other than in simulations, an event can have several publish rows: a node that restarts publishes again what is valid
still. The first one counts.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from roamcast import files
from roamcast.errors import InputError
from roamcast.lab.code import version
from roamcast.lab.field.clocks import Knots, clocks, merged
from roamcast.lab.measure.metrics import measured
from roamcast.lab.spark.frames import struct
from roamcast.lab.tables import schemas
from roamcast.lab.tables.endings import LOG, Ending, put_endings
from roamcast.lab.tables.folder import Folder
from roamcast.lab.tables.write import write_tables
from roamcast.log import reader
from roamcast.log.schema import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_S = 0.2


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
        self._reported: dict[Path, bool] = {}
        self.left_out: list[str] = []  # files that are not whole

    # ---- taking in

    def ingest(self, report: Callable[[Live], None], until: Event | None = None, every_s: float = 10.0) -> list[Live]:
        """Take in the files there are, or those that come until `until` is set; `report` is called after each batch."""
        from pyspark.errors import StreamingQueryException

        with self.folder.held():
            self._claim()

            def take(batch: DataFrame, number: int) -> None:
                try:
                    batch.write.mode("overwrite").parquet(str(self.raw / f"batch={number}"))
                    for live in self._look().lives:
                        report(live)
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
        present = place.read_bytes() if place.exists() else ours
        if present != ours:
            why = "holds the logs of another field test" if b'"form"' in present else "was made by an earlier version"
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
                if path not in self._reported:
                    logging.getLogger("roamcast.lab").warning("%s; %s", error, what_then)
                self._reported[path] = True
                self.left_out.append(str(path))
            else:
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)

    def _stream(self, take: Callable[[DataFrame, int], None], follow: bool, every_s: float) -> Any:
        rows = (
            self.spark.readStream.schema(struct(schemas.LOG))
            .option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.parquet")
            .option("maxFileAge", "36500d")  # however late it is brought
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
        with measured(log, runs, simulated=False) as metrics:
            tally = metrics.cache()
            self._latest = Standing(knots, log, runs, tally, _lives(log, runs, tally))
        return self._latest

    # ---- tables

    def _write_tables(self, latest: Standing) -> None:
        import pyarrow.parquet as pq

        schema = arrow_schema()
        endings = []
        for live in latest.lives:
            one = latest.log.where(latest.log.run == live.run).orderBy("seq").drop("seq").toArrow()
            target = self.folder.path / LOG / f"{live.run}.parquet"
            target.parent.mkdir(exist_ok=True)
            with files.completed(target) as draft:
                pq.write_table(one.cast(schema).replace_schema_metadata(schema.metadata), draft, compression="zstd")
            groups = pq.ParquetFile(target).num_row_groups
            endings.append(Ending(live.run, "{}", None, None, target.name, target.stat().st_size, 0, groups))
        put_endings(self.folder.storage, endings, "field.parquet")
        runs = {row.run: row.asDict() for row in latest.runs.orderBy("run").collect()}
        metrics = {row.run: row.asDict() for row in latest.tally.orderBy("run").collect()}
        tables = {
            "runs": ([*runs.values()], schemas.runs({})),
            "metrics": ([{**runs[run], **tally} for run, tally in metrics.items()], schemas.metrics({})),
            "summary": ([], schemas.summary({})),
            "clocks": (_clock_rows(latest.knots), schemas.CLOCKS),
        }
        write_tables(self.folder, tables)

    def _runs(self, log: DataFrame) -> DataFrame:
        """What a campaign's table of runs would say; nothing is known of a scenario."""
        from pyspark.sql import functions as F

        about = log.groupBy("run").agg(
            F.countDistinct("node").cast("int").alias("nodes"), ((F.max("t") - F.min("t")) / 1e6).alias("sim_s")
        )
        known = {
            "campaign": F.lit("field"),
            "preset": F.lit("field"),
            "reading": F.lit(""),
            "cell": F.lit(0),
            "protocol": F.lit("field"),
            "label": F.lit("field"),
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


def _clock_rows(knots: Knots) -> list[dict[str, Any]]:
    return [
        {"run": run, "node": int(node), "life": life, "t": int(t), "offset_us": float(offset)}
        for key, (times, offsets) in sorted(knots.items())
        for run, node, life in [key.rsplit(" ", 2)]
        for t, offset in zip(times, offsets, strict=True)
    ]


def _lives(log: DataFrame, runs: DataFrame, tally: DataFrame) -> list[Live]:
    rows = {row.run: row["count"] for row in log.groupBy("run").count().collect()}
    nodes = {row.run: row.nodes for row in runs.collect()}
    return [Live(row.run, nodes[row.run], rows[row.run], row.asDict(recursive=True)) for row in tally.collect()]
