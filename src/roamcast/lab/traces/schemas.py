"""The tables of traces: explicit schemas, with one version for all of them. They are Arrow's; Spark has the same."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

VERSION: Final = 1
LONG, INT, BYTE, DOUBLE, TEXT = pa.int64(), pa.int32(), pa.int8(), pa.float64(), pa.string()


def schema(nullable: tuple[str, ...] = (), **columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, name in nullable) for name, kind in columns.items()])


POSITIONS: Final = schema(("z_m",), node=LONG, t_us=LONG, x_m=DOUBLE, y_m=DOUBLE, z_m=DOUBLE, segment=INT)
"""Rows of a node with one segment number are joined by straight legs; between segments the node is absent."""

CONTACTS: Final = schema(i=LONG, j=LONG, from_us=LONG, until_us=LONG)
"""i < j hear each other on the closed interval."""

RECORDS: Final = schema(
    ("name", "peer_name", "z_m", "text"),
    kind=BYTE,
    file=TEXT,
    part=LONG,
    line=LONG,
    node=LONG,
    name=TEXT,
    peer=LONG,
    peer_name=TEXT,
    t_us=LONG,
    until_us=LONG,
    x_m=DOUBLE,
    y_m=DOUBLE,
    z_m=DOUBLE,
    segment=INT,
    text=TEXT,
)
"""Everything that a reader yields (world/traces/record.py says what), with the file, the first line
of the part and the line it comes from. A name is null where the number says it already."""

LEGS: Final = schema(node=LONG, from_us=LONG, until_us=LONG, x_m=DOUBLE, y_m=DOUBLE, vx_mpus=DOUBLE, vy_mpus=DOUBLE)
"""From (x, y) with a constant velocity, in metres per microsecond."""

BUCKETED: Final = pa.schema([*LEGS, *schema(slice=LONG, cx=LONG, cy=LONG, cx0=LONG, cy0=LONG)])
"""A leg in one slice of time and one cell of the grid, with the first cell that it covers in that slice."""

COUNTED: Final = schema(value=LONG, count=LONG)
"""How often a value occurs; or a sum of something for each value."""

TABLES: Final = {"positions": POSITIONS, "contacts": CONTACTS, "records": RECORDS}
