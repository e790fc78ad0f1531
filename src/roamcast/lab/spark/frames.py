"""The laboratory's schemas and rows as Spark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.lab.tables import schemas
from roamcast.lab.tables.folder import Folder
from roamcast.lab.tables.write import table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@cache
def struct(schema: pa.Schema) -> StructType:
    """A schema of the laboratory as Spark has it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
    """The driver's own rows as a DataFrame, by way of Arrow: a list would pass through Python workers of its own."""
    return spark.createDataFrame(table_of(rows, schema), struct(schema))


def read_log(spark: SparkSession, folder: Folder, runs: Sequence[str]) -> DataFrame:
    """The logs of these runs, with `seq`, each row's place in its run."""
    from pyspark.sql.types import LongType, StructField, StructType

    log = struct(schemas.LOG)
    if not runs:
        return spark.createDataFrame([], StructType([*log.fields, StructField("seq", LongType())]))
    paths = [str(folder.log_of(run).absolute()) for run in runs]  # Java may have been started elsewhere
    read = spark.read.schema(log).option("parquet.page.verify-checksum.enabled", "true")
    return read.parquet(*paths).selectExpr("*", "_metadata.row_index as seq")
