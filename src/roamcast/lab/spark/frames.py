"""The laboratory's schemas and rows as Spark's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from roamcast import storage as storages
from roamcast.lab.tables import logs, schemas
from roamcast.lab.tables.folder import Folder
from roamcast.lab.tables.write import table_of
from roamcast.log.arrays import numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

LOG_WITH_SEQ = schemas.LOG.append(pa.field("seq", pa.int64()))
NUMBERED_PARTS = schemas.PARTS.insert(0, pa.field("partition", pa.int32()))


@cache
def struct(schema: pa.Schema) -> StructType:
    """A schema of the laboratory as Spark has it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
    """The driver's own rows as a DataFrame, by way of Arrow: a list would pass through Python workers of its own."""
    return spark.createDataFrame(table_of(rows, schema), struct(schema))


def read_log(spark: SparkSession, folder: Folder, runs: Sequence[str]) -> DataFrame:
    """The logs of these runs, with `seq`, each row's place in its run.

    Workers read them through the storage layer, so Java needs to know nothing of where they are.
    """
    from roamcast.lab.spark.worker import stage

    parts = [logs.facts(part) for part in logs.parts(folder, runs)]
    if not parts:
        return spark.createDataFrame([], struct(LOG_WITH_SEQ))
    listed = frame(spark, [{"partition": k, **part} for k, part in enumerate(parts)], NUMBERED_PARTS)
    spread = _of_unknown_size(listed).repartitionById(len(parts), "partition")
    return spread.mapInArrow(stage(f"{__name__}:read_parts", url=folder.runs.url), struct(LOG_WITH_SEQ))


def _of_unknown_size(few: DataFrame) -> DataFrame:
    """The same rows, which Spark may not count. It takes what workers make of rows to be as small as the rows: a log
    that it knows by the names of its parts alone, it would send to all workers whole to join it there."""
    from pyspark.sql import DataFrame

    session: Any = few.sparkSession
    rows: Any = few
    return DataFrame(session._jsparkSession.createDataFrame(rows._jdf.toJavaRDD(), rows._jdf.schema()), session)


# ---- on a worker


def read_parts(batches: Iterator[pa.RecordBatch], url: str) -> Iterator[pa.RecordBatch]:
    storage = storages.at(url)
    for batch in batches:
        for row in batch.to_pylist():
            for rows, seq in logs.batches(storage, logs.part_of(row)):
                places = numbers(np.arange(seq, seq + rows.num_rows))
                plain = [column.cast(field.type) for column, field in zip(rows.columns, schemas.LOG, strict=True)]
                yield pa.RecordBatch.from_arrays([*plain, places], schema=LOG_WITH_SEQ)
