"""A campaign's folder as tables: Spark's DataFrames, or without Java as pandas, Arrow or rows.

opened = rc.open("out/speed")
opened.metrics.groupBy("protocol").avg("delivery").show()
opened.sql("select label, seed, delivery from metrics where delivery < 0.5").show()
opened.better("delivery", "proximity", "gossip")          # paired by seed
opened.pandas("summary")                                  # starts no Java
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.errors import InputError, unknown
from roamcast.extras import need
from roamcast.judging import paired, settings
from roamcast.lab import summarise
from roamcast.lab.contrast import Contrast, contrast
from roamcast.lab.spark.frames import frame, read_log, struct
from roamcast.lab.spark.session import session
from roamcast.lab.tables import export, read, schemas
from roamcast.lab.tables.folder import Folder
from roamcast.log import catalogue

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import DataFrame, SparkSession

    from roamcast.lab.campaign import Campaign

TABLES = ("runs", "log", "metrics", "summary", "provenance")


class Laboratory:
    """The tables of a campaign that has run: `runs`, `log`, `metrics`, `summary`, `provenance`. Spark starts with the
    first DataFrame, unless a session was given."""

    def __init__(self, path: str | Path, spark: SparkSession | None = None) -> None:
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
        return f"<campaign {names} in {self.folder}: tables {', '.join(TABLES)}>"

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

    def export(self, table: str, path: str | Path) -> Path:
        """Write a table as `.csv`, `.arrow` or `.parquet`. CSV has a column for each key of a map."""
        place = Path(path).expanduser()
        export.check(place)
        return export.write(self.arrow(table), place)

    def differences(self, metric: str, label: str, other: str) -> list[dict[str, Any]]:
        """`label` minus `other`, seed by seed, wherever both were run in the same world: intervals, effect sizes, and
        p-values, also corrected by Holm's method for all these rows (docs/reference/tables.md)."""
        catalogue.averaged(metric)
        metrics = self.rows("metrics")
        cells = {(row["campaign"], row["cell"]): row for row in metrics}
        labels = sorted({row["label"] for row in cells.values()})
        for asked in (label, other):
            if asked not in labels:
                raise unknown("label", asked, labels)
        mine, others = ([row for row in cells.values() if row["label"] == asked] for asked in (label, other))
        same = [(a, b) for a in mine for b in others if a is not b and _world(a) == _world(b)]
        if not same:
            raise InputError(f"{label} and {other} were never run in the same world")
        by_cell: dict[Any, list[dict[str, Any]]] = {}
        for row in metrics:
            by_cell.setdefault((row["campaign"], row["cell"]), []).append(row)
        pairs = ((a["campaign"], a["cell"], b["cell"]) for a, b in same)
        compared = [
            row
            for name, one, two in pairs
            for row in summarise.differences([*by_cell[name, one], *by_cell[name, two]], one, two, [metric])
        ]
        return paired.corrected(compared)

    def against(self, after: Laboratory, *metrics: str) -> Contrast:
        """This campaign and a later one, as before and after a change of the code: the same cells paired by seed, what
        differs in plan and in results, and which cells only one of them has. By default about delivery."""
        before, later = ((opened.rows("runs"), opened.rows("metrics")) for opened in (self, after))
        return contrast(before, later, metrics or ("delivery",))

    # ---- with Spark

    @cached_property
    def runs(self) -> DataFrame:
        return self._table("runs")

    @cached_property
    def metrics(self) -> DataFrame:
        return self._table("metrics")

    @cached_property
    def summary(self) -> DataFrame:
        return self._table("summary")

    @cached_property
    def provenance(self) -> DataFrame:
        return frame(self.spark, self.rows("provenance"), schemas.PROVENANCE)

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
        with _in_one_line():
            answer = self.sql(query)
            return answer.columns, [list(row) for row in answer.limit(limit).collect()]

    def save(self, query: str, path: str | Path) -> Path:
        """Write the whole answer to a file: `.csv`, `.arrow` or `.parquet`."""
        place = Path(path).expanduser()
        export.check(place)
        with _in_one_line():
            answer = self.sql(query).toArrow()
        return export.write(answer, place)

    def tables(self) -> dict[str, int]:
        """The names of the tables, and how many columns each has."""
        read_here = {name: self.arrow(name).num_columns for name in TABLES if name != "log"}
        return {name: read_here.get(name, len(schemas.LOG) + 1) for name in TABLES}

    def cancel(self) -> None:
        """End what Spark is doing, if it was started."""
        if self._spark is not None or "spark" in self.__dict__:
            self.spark.sparkContext.cancelAllJobs()

    def better(self, metric: str, label: str, other: str) -> DataFrame:
        """`label` minus `other`, seed by seed, wherever both were run in the same world; see `differences`."""
        rows = self.differences(metric, label, other)
        schema = schemas.differences(self.arrow("metrics").schema)
        telling = [field for field in schema if any(row.get(field.name) is not None for row in rows)]
        return frame(self.spark, rows, pa.schema(telling))

    def _table(self, name: str) -> DataFrame:
        table = self.arrow(name)
        if self.folder.storage.path is None:  # Java knows nothing of object stores
            return self.spark.createDataFrame(table, struct(table.schema))
        path = self.folder.storage.path / read.check(self.folder)[name]
        return self.spark.read.schema(struct(table.schema)).parquet(str(path.absolute()))


def _world(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["campaign"], settings.world(row)


@contextmanager
def _in_one_line() -> Iterator[None]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        why = str(getattr(error, "java_exception", error)).strip().splitlines()[0]  # and then the plan
        raise InputError(f"query: {why[:300]}") from None
