"""A campaign's folder as tables: Spark's DataFrames, or without Java as pandas, Arrow or rows.

opened = rc.open("out/speed")
opened.metrics.groupBy("protocol").avg("delivery").show()
opened.sql("select label, seed, delivery from metrics where delivery < 0.5").show()
opened.better("delivery", "proximity", "gossip")          # paired by seed
opened.pandas("summary")                                  # starts no Java
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.errors import InputError, unknown
from roamcast.extras import need
from roamcast.lab import summarise
from roamcast.lab.spark.frames import frame, read_log, struct
from roamcast.lab.spark.session import session
from roamcast.lab.tables import read, schemas
from roamcast.lab.tables.folder import Folder
from roamcast.log import catalogue

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import DataFrame, SparkSession

    from roamcast.lab.campaign import Campaign

TABLES = ("runs", "log", "metrics", "summary")


class Laboratory:
    """The tables of a campaign that has run: `runs`, `log`, `metrics` and `summary`. Spark starts with the first
    DataFrame, unless a session was given."""

    def __init__(self, path: Path, spark: SparkSession | None = None) -> None:
        self.folder = Folder(path)
        self.folder.check_claimed()
        read.check(self.folder)
        self._spark = spark

    @cached_property
    def campaigns(self) -> list[Campaign]:
        """What was run. This needs the code of all parts of their worlds, which the tables do not."""
        return self.folder.campaigns()

    def __repr__(self) -> str:
        names = ", ".join(repr(campaign.name) for campaign in self.campaigns)
        return f"<campaign {names} in {self.folder.path}: tables {', '.join(TABLES)}>"

    @cached_property
    def spark(self) -> SparkSession:
        return self._spark or session()

    # ---- without Spark

    def arrow(self, table: str = "metrics") -> pa.Table:
        return read.table(self.folder, table)

    def pandas(self, table: str = "metrics") -> PandasFrame:
        """The rows of a table; its maps are dictionaries."""
        need("a DataFrame", "pandas")
        frame: PandasFrame = self.arrow(table).to_pandas(maps_as_pydicts="strict")
        return frame

    def rows(self, table: str = "metrics") -> list[dict[str, Any]]:
        """The rows of a table; its maps are dictionaries."""
        rows: list[dict[str, Any]] = self.arrow(table).to_pylist(maps_as_pydicts="strict")
        return rows

    # ---- with Spark

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
        runs = self.rows("runs")
        logged = [row["run"] for row in runs if row["status"] == "finished" and row["level"] != "summary"]
        return read_log(self.spark, self.folder, logged)

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
        catalogue.averaged(metric)
        metrics = self.rows("metrics")
        cells = {(row["campaign"], row["cell"]): row for row in metrics}
        labels = sorted({row["label"] for row in cells.values()})
        for asked in (label, other):
            if asked not in labels:
                raise unknown("label", asked, labels)
        mine, others = ([row for row in cells.values() if row["label"] == asked] for asked in (label, other))
        same = [(a, b) for a in mine for b in others if (a["campaign"], a["world"]) == (b["campaign"], b["world"])]
        if not same:
            raise InputError(f"{label} and {other} were never run in the same world")
        differences = [
            row
            for a, b in same
            for row in summarise.differences(
                (row for row in metrics if row["campaign"] == a["campaign"]), a["cell"], b["cell"]
            )
        ]
        return frame(self.spark, [row for row in differences if row["metric"] == metric], schemas.DIFFERENCES)

    def _table(self, name: str, schema: pa.Schema) -> DataFrame:
        return self.spark.read.schema(struct(schema)).parquet(str((self.folder.path / name).absolute()))
