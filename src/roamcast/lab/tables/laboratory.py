"""A campaign's folder as Spark tables.

from roamcast import lab

opened = lab.open("out/speed")
opened.metrics.groupBy("protocol").avg("delivery").show()
opened.sql("select label, seed, delivery from metrics where delivery < 0.5").show()
opened.better("delivery", "proximity", "gossip")          # paired by seed
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.errors import InputError, one_line, unknown
from roamcast.lab import summarise
from roamcast.lab.spark.session import session
from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import schemas
from roamcast.lab.tables.folder import Folder, tally_in
from roamcast.log.catalogue import AVERAGED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = ("runs", "log", "metrics", "summary")


class Laboratory:
    """The tables of a campaign that has run: `runs`, `log`, `metrics` and `summary`."""

    def __init__(self, path: Path, spark: SparkSession | None = None) -> None:
        self.folder = Folder(path)
        self.campaigns = self.folder.campaigns()
        if not self.folder.has_tables():
            raise InputError(f"{path}: the campaign has not been measured yet; run `roamcast campaign` to its end")
        self.spark = spark or session()

    @cached_property
    def runs(self) -> DataFrame:
        return self._table("runs", schemas.RUNS)

    @cached_property
    def metrics(self) -> DataFrame:
        return self._table("metrics", schemas.METRICS)

    @cached_property
    def summary(self) -> DataFrame:
        return self._table("summary", schemas.SUMMARY)

    @cached_property
    def log(self) -> DataFrame:
        finished = [row.run for row in self.runs.where("status = 'finished' and level != 'summary'").collect()]
        return read_log(self.spark, self.folder, finished)

    def sql(self, query: str) -> DataFrame:
        """Spark SQL over the tables."""
        for name in TABLES:
            if re.search(
                rf"\b{name}\b", query, re.IGNORECASE
            ):  # a log of thousands of files is opened only if asked for
                getattr(self, name).createOrReplaceTempView(name)
        return self.spark.sql(query)

    def ask(self, query: str, limit: int) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows of an answer; what Spark does not understand is an InputError of one line."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            answer = self.sql(query)
            return answer.columns, [list(row) for row in answer.limit(limit).collect()]
        except (PySparkException, Py4JJavaError) as error:
            why = str(getattr(error, "java_exception", error)).strip().splitlines()[0]  # and then the plan
            raise InputError(f"query: {why[:300]}") from None

    def better(self, metric: str, label: str, other: str) -> DataFrame:
        """`label` minus `other`, seed by seed, wherever both were run in the same world."""
        from pyspark.sql import functions as F

        about = self.metrics.select("campaign", "cell", "label", F.to_json("world").alias("world"))
        cells = about.distinct().orderBy("campaign", "cell").collect()
        labels = sorted({row.label for row in cells})
        if metric not in AVERAGED:
            raise unknown("metric", metric, AVERAGED)
        for asked in (label, other):
            if asked not in labels:
                raise unknown("label", asked, labels)
        mine, others = ([row for row in cells if row.label == asked] for asked in (label, other))
        same = [(a, b) for a in mine for b in others if (a.campaign, a.world) == (b.campaign, b.world)]
        if not same:
            raise InputError(f"{label} and {other} were never run in the same world")
        tables = [
            summarise.differences(self.metrics.where(F.col("campaign") == a.campaign), a.cell, b.cell) for a, b in same
        ]
        result = tables[0]
        for more in tables[1:]:
            result = result.unionByName(more)
        return result.where(F.col("metric") == metric)

    def _table(self, name: str, schema: Any) -> DataFrame:
        return self.spark.read.schema(schema).parquet(str((self.folder.path / name).absolute()))


def read_log(spark: SparkSession, folder: Folder, runs: list[str]) -> DataFrame:
    """The logs of these runs, with `seq`, each row's place in its run."""
    from pyspark.sql.types import LongType, StructField, StructType

    if not runs:
        return spark.createDataFrame([], StructType([*schemas.LOG.fields, StructField("seq", LongType())]))
    paths = [str(folder.log_of(run).absolute()) for run in runs]  # Java may have been started elsewhere
    read = spark.read.schema(schemas.LOG).option("parquet.page.verify-checksum.enabled", "true")
    return read.parquet(*paths).selectExpr("*", "_metadata.row_index as seq")


# ---- what the runs themselves counted


COUNTED = "run string, tally string, error string"


def tally_table(spark: SparkSession, folder: Folder, runs: list[str], cores: int, all_rows: bool = False) -> DataFrame:
    """run, tally (JSON), error: what each finished run's file says of itself, or why it (or a row) cannot be read."""
    rows = schemas.table(spark, [(run, str(folder.log_of(run).absolute())) for run in runs], schemas.FILES)
    spread = rows.repartition(max(1, min(4 * cores, len(runs) // 50)))
    return spread.mapInArrow(stage(f"{__name__}:read_tallies", all_rows=all_rows), COUNTED)


def read_tallies(batches: Iterator[pa.RecordBatch], all_rows: bool) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            tally, error = None, None
            try:
                tally = tally_in(row["path"])
                if all_rows:
                    _read_through(row["path"])
            except InputError as wrong:
                error = str(wrong)
            yield pa.RecordBatch.from_pydict(
                {"run": [row["run"]], "tally": pa.array([tally], pa.string()), "error": pa.array([error], pa.string())}
            )


def _read_through(path: str) -> None:
    """An InputError if there is a row that cannot be read."""
    import pyarrow.parquet as pq

    try:
        for _ in pq.ParquetFile(path, page_checksum_verification=True).iter_batches():
            pass
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise InputError(f"{path} is damaged: {one_line(error)}") from None
