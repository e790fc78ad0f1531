"""The Spark data source `roamcast-trace`.

    roamcast.lab.traces.register(spark)
    spark.read.format("roamcast-trace").load("tij.dat")

| option       |                                                                                                     |
|--------------|-----------------------------------------------------------------------------------------------------|
| table        | `positions`, `contacts` or `records`; by default what the trace has                                  |
| trace        | the format (`formats.py`); by default recognised by contents and name                                |
| units        | `degrees`: coordinates are longitude and latitude; `metres`: they are not, whatever they look like   |
| origin       | LAT,LON of (0, 0) for degrees; by default the first position                                         |
| resolution_s | of contact lists                                                                                     |
| gap_s        | a node without lines for longer was absent                                                           |
| columns      | what the cells of a line are, such as `i,j,start,end` (world/traces/columns.py)                      |
| time_unit    | of numbers of time: `us`, `ms`, `s` (the default), `min`, `h`                                        |
| strict       | `true`: a malformed line is an error; by default it is left out                                      |
| split_bytes  | the size of the parts of large files, in formats that can be read in parts                           |

Each file is a partition, and so is each range of a large file in a format whose lines can be read independently. Paths
must exist on every worker. Refusals within a partition are errors here; errors that only several partitions show are
found by `trace.read`, which also counts malformed lines.

Source and reader are sent to workers by value: they import the rest of roamcast (reading.py does the work) after
`worker.find_package` has found it there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from roamcast.lab import code
from roamcast.lab.spark import session, worker
from roamcast.lab.spark.worker import find_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME: Final = "roamcast-trace"


def _reading(version: str, archive: str) -> Any:
    find_package(version, archive)
    from roamcast.lab.traces import reading

    return reading


def register(spark: SparkSession) -> None:
    """Make `roamcast-trace` known to a session, also to one that roamcast did not start.

    Such a session takes `python3` for its workers unless somebody has said otherwise. Where they run on this machine,
    they need what this process has: the same interpreter.
    """
    context = spark.sparkContext
    named = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if str(context.master).startswith("local") and not named:
        context.pythonExec = sys.executable
    spark.dataSource.register(TraceSource)


class TraceSource(DataSource):
    package = (code.whole(), session.ARCHIVE)

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        _reading(*self.package).check(options)

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        reading = _reading(*self.package)
        from roamcast.lab.spark.frames import struct

        return struct(reading.schema(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        return TraceReader(self.package, *_reading(*self.package).planned(self.options))


class TraceReader(DataSourceReader):
    """`parts` are the fields of parts: plain values, because a reader is sent to workers."""

    def __init__(self, package: tuple[str, str], parts: list[dict[str, Any]], table: str, strict: bool) -> None:
        self.package = package
        self.parts = parts
        self.table = table
        self.strict = strict

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in self.parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = _reading(*self.package).read(partition.value, self.table, self.strict)
        return batches


for _module in (worker, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]
