"""Traces of movement and contacts: read, their contacts computed, summarised, converted. Here, or on Spark.

trace        a whole trace: read once, checked, with its names and its malformed lines
contacts     from positions to contacts, over time slices and grid cells
statistics   durations, times between contacts, degrees, reachability
summary      these in one object
convert      from one format to another

They are rules about tables (table.py), each written once, and do not know where a table is:

here         in the memory of this process
in_spark     on Spark's workers; source.py is `spark.read.format("roamcast-trace")`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("roamcast-trace")` known to a session, whoever started it."""
    from roamcast.lab.traces import source

    source.register(spark)
