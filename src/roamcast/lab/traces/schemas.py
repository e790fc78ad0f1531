"""The tables of traces: explicit schemas, with one version for all of them."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

VERSION: Final = 1


def table(*columns: tuple[str, DataType], nullable: tuple[str, ...] = ()) -> StructType:
    return StructType([StructField(name, kind, name in nullable) for name, kind in columns])


POSITIONS: Final = table(
    ("node", LongType()),
    ("t_us", LongType()),
    ("x_m", DoubleType()),
    ("y_m", DoubleType()),
    ("z_m", DoubleType()),
    ("segment", IntegerType()),
    nullable=("z_m",),
)
"""Rows of a node with one segment number are joined by straight legs; between segments the node is absent."""

CONTACTS: Final = table(("i", LongType()), ("j", LongType()), ("from_us", LongType()), ("until_us", LongType()))
"""i < j hear each other on the closed interval."""

RECORDS: Final = table(
    ("kind", ByteType()),
    ("file", StringType()),
    ("part", LongType()),
    ("line", LongType()),
    ("node", LongType()),
    ("name", StringType()),
    ("peer", LongType()),
    ("peer_name", StringType()),
    ("t_us", LongType()),
    ("until_us", LongType()),
    ("x_m", DoubleType()),
    ("y_m", DoubleType()),
    ("z_m", DoubleType()),
    ("segment", IntegerType()),
    ("text", StringType()),
    nullable=("name", "peer_name", "z_m", "text"),
)
"""Everything that a reader yields (world/traces/record.py says what), with the file, the first line
of the part and the line it comes from. A name is null where the number says it already."""

LEGS: Final = table(
    ("node", LongType()),
    ("from_us", LongType()),
    ("until_us", LongType()),
    ("x_m", DoubleType()),
    ("y_m", DoubleType()),
    ("vx_mpus", DoubleType()),
    ("vy_mpus", DoubleType()),
)
"""From (x, y) with a constant velocity, in metres per microsecond."""

BUCKETED: Final = StructType(
    LEGS.fields + [StructField(name, LongType(), False) for name in ("slice", "cx", "cy", "cx0", "cy0")]
)
"""A leg in one slice of time and one cell of the grid, with the first cell that it covers in that slice."""

TABLES: Final = {"positions": POSITIONS, "contacts": CONTACTS, "records": RECORDS}
