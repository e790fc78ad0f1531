"""The laboratory's tables: explicit schemas, versioned together (`folder.TABLES_VERSION`): no change without a new one.

runs      one row a run of the campaign: what it is and how it ended
log       one row a thing that happened (log/schema.py), with `seq`, the row's place in its run
metrics   one row a finished run: its coordinates and every metric (log/catalogue.py says what each means)
summary   one row a cell and metric: mean and confidence interval over the seeds
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import (
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME, WHOLE, Metric

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNTS = MapType(StringType(), LongType(), valueContainsNull=False)
TEXTS = MapType(StringType(), StringType(), valueContainsNull=False)


def _table(**columns: object) -> StructType:
    return StructType([StructField(name, kind, nullable=True) for name, kind in columns.items()])  # type: ignore[arg-type]


def _kind(metric: Metric) -> DataType:
    if metric.kind == BY_NAME:
        return COUNTS
    return LongType() if metric.kind in WHOLE else DoubleType()


COORDINATES = _table(
    run=StringType(),  # digest of all that decides the run
    campaign=StringType(),
    preset=StringType(),
    reading=StringType(),  # another reading of the preset's paper; empty for the joint one
    cell=IntegerType(),  # place of the experiment in the campaign
    protocol=StringType(),
    label=StringType(),  # what the campaign calls protocol and parameters
    params=TEXTS,  # what the campaign set
    world=TEXTS,  # what the campaign changed in the preset's scenario
    seed=LongType(),
    nodes=IntegerType(),
)

RUNS = StructType(
    [
        *COORDINATES.fields,
        *_table(
            sim_s=DoubleType(),
            level=StringType(),
            scenario=StringType(),  # every field of it, as JSON
            all_params=StringType(),  # every parameter in effect, as JSON
            code=StringType(),  # version of the program
            status=StringType(),  # finished, failed, or planned
            error=StringType(),  # of a failed run, in one line
            command=StringType(),  # what to type to see it again
            wall_s=DoubleType(),
            cpu_s=DoubleType(),
        ).fields,
    ]
)

PLAN = _table(  # what a worker gets of a run
    partition=IntegerType(),
    run=StringType(),
    protocol=StringType(),
    params=StringType(),
    scenario=StringType(),
    seed=LongType(),
    level=StringType(),
    command=StringType(),
)

FILES = _table(run=StringType(), path=StringType())

LOG = _table(
    run=StringType(),
    t=LongType(),
    node=IntegerType(),
    kind=StringType(),
    event=LongType(),
    frame=LongType(),
    peer=IntegerType(),
    bytes=IntegerType(),
    value=LongType(),
    reason=StringType(),
)

TALLY = StructType(
    [
        StructField("run", StringType()),
        *(StructField(metric.name, _kind(metric)) for metric in catalogue.METRICS),
    ]
)

METRICS = StructType([*COORDINATES.fields, *TALLY.fields[1:], StructField("fingerprint", StringType())])

SUMMARY = StructType(
    [
        *(field for field in COORDINATES.fields if field.name not in ("run", "seed")),
        *_table(
            metric=StringType(),
            n=IntegerType(),  # runs that have the metric
            mean=DoubleType(),
            sd=DoubleType(),
            half_width=DoubleType(),  # of the 95 % interval, Student's t
            low=DoubleType(),
            high=DoubleType(),
        ).fields,
    ]
)

DIFFERENCES = _table(
    cell=IntegerType(),
    label=StringType(),
    other_cell=IntegerType(),
    other_label=StringType(),
    metric=StringType(),
    n=IntegerType(),  # seeds that both have
    difference=DoubleType(),  # mean of (the one - the other), pairwise by seed
    half_width=DoubleType(),
    low=DoubleType(),
    high=DoubleType(),
    p_value=DoubleType(),  # two-sided, paired t-test
)


def table(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: StructType) -> DataFrame:
    """The driver's own rows as a DataFrame, by way of Arrow: a list would pass through Python workers of its own."""
    from pyspark.sql.pandas.types import to_arrow_schema

    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, to_arrow_schema(schema), strict=True)]
    return spark.createDataFrame(pa.table(arrays, schema.names), schema)
