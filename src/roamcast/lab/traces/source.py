"""The Spark data source `roamcast-trace`.

    spark.dataSource.register(TraceSource)
    spark.read.format("roamcast-trace").load("tij.dat")

| option       |                                                                                                     |
|--------------|-----------------------------------------------------------------------------------------------------|
| table        | `positions`, `contacts` or `records`; what the trace has, if it is not said                          |
| trace        | the format (`formats.py`); found by contents and name, if it is not said                             |
| units        | `degrees`: coordinates are longitude and latitude; `metres`: they are not, whatever they look like   |
| origin       | LAT,LON of (0, 0) for degrees; the first position, if it is not said                                 |
| resolution_s | of contact lists                                                                                     |
| gap_s        | a node that is silent for longer was absent                                                          |
| strict       | `true`: a malformed line is an error; otherwise it is left out                                       |
| split_bytes  | how large a part of a file may be, where files can be read in parts                                  |

Each file is a partition, and so is each range of a large file in a format whose lines stand alone. Paths must be there
for every worker. Refusals within a partition are errors here; what shows only over several partitions is refused by
`trace.read`, which also counts malformed lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from roamcast.errors import InputError, unknown
from roamcast.lab.traces.schemas import TABLES
from roamcast.world.traces import formats
from roamcast.world.traces.names import NAMED, number_of
from roamcast.world.traces.plan import SPLIT_BYTES, Options, Part, plan
from roamcast.world.traces.record import MEETING, POINT, PROBLEM, REFUSAL, Record

NAME: Final = "roamcast-trace"
BATCH: Final = 8192
KNOWN: Final = frozenset(
    ("path", "paths", "table", "trace", "units", "origin", "resolution_s", "gap_s", "strict", "split_bytes", "parts")
)


class TraceSource(DataSource):
    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        for option in options:
            if option.lower() not in KNOWN:
                raise unknown("option", option, KNOWN - {"parts", "path", "paths"})

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return TABLES[self.table()]

    def reader(self, schema: StructType) -> DataSourceReader:
        parts = parts_of(self.options)
        table = self.table()
        kind = formats.get(parts[0].format).kind
        if table not in ("records", kind):
            raise InputError(f"table={table}: {parts[0].path} has {kind}")
        return TraceReader(parts, table, self.options.get("strict", "").lower() == "true")

    def table(self) -> str:
        table = self.options.get("table") or formats.get(parts_of(self.options)[0].format).kind
        if table not in TABLES:
            raise unknown("table", table, TABLES)
        return table


def parts_of(options: Any) -> list[Part]:
    """As planned before (`parts`), or planned now."""
    if "parts" in options:
        return [_part(fields) for fields in json.loads(options["parts"])]
    paths = json.loads(options["paths"]) if "paths" in options else [options["path"]] if "path" in options else []
    if not paths:
        raise InputError("a trace needs a path: .load(PATH)")
    wanted = Options(
        format=options.get("trace", ""),
        units=options.get("units", ""),
        origin=options.get("origin", ""),
        resolution_s=_number(options, "resolution_s", 0.0),
        gap_s=_number(options, "gap_s", 0.0),
    )
    return plan(paths, wanted, int(_number(options, "split_bytes", SPLIT_BYTES)))


def packed(parts: list[Part]) -> str:
    """For the option `parts`: what is planned once need not be planned again."""
    return json.dumps([asdict(part) for part in parts])


def _part(fields: dict[str, Any]) -> Part:
    origin = fields.pop("origin")
    return Part(origin=tuple(origin) if origin else None, **fields)


def _number(options: Any, name: str, default: float) -> float:
    try:
        return float(options.get(name, default))
    except ValueError:
        raise InputError(f"{name}={options[name]}: must be a number") from None


class TracePartition(InputPartition):
    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.part = part


class TraceReader(DataSourceReader):
    def __init__(self, parts: list[Part], table: str, strict: bool) -> None:
        self.parts = parts
        self.table = table
        self.strict = strict

    def partitions(self) -> Sequence[InputPartition]:
        return [TracePartition(part) for part in self.parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TracePartition)
        part = partition.part
        records = part.records()
        if self.table == "records":
            return _batches(records, lambda batch: _records(batch, part))
        wanted = POINT if self.table == "positions" else MEETING
        rows = (record for record in self._judged(records, part.path) if record[0] == wanted)
        return _batches(rows, _positions if self.table == "positions" else _contacts)

    def _judged(self, records: Iterator[Record], path: str) -> Iterator[Record]:
        for record in records:
            if record[0] == REFUSAL or (self.strict and record[0] == PROBLEM):
                raise InputError(f"{path}, line {record[1]}: {record[10]}")
            yield record


def _batches(records: Iterator[Record], convert: Any) -> Iterator[pa.RecordBatch]:
    while batch := list(islice(records, BATCH)):
        yield convert(batch)


@cache
def arrow(table: str) -> pa.Schema:
    return to_arrow_schema(TABLES[table])


class _Numbers(dict[str, int]):
    def __missing__(self, name: str) -> int:
        number = self[name] = number_of(name)
        return number


def _positions(batch: list[Record]) -> pa.RecordBatch:
    _, _, names, _, t_us, _, x, y, z, segments, _ = zip(*batch, strict=True)
    numbers = _Numbers()
    arrays = [
        pa.array([numbers[name] for name in names], pa.int64()),
        pa.array(t_us, pa.int64()),
        pa.array(x, pa.float64()),
        pa.array(y, pa.float64()),
        pa.array(z, pa.float64(), from_pandas=True),
        pa.array(segments, pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow("positions"))


def _contacts(batch: list[Record]) -> pa.RecordBatch:
    _, _, names, peers, from_us, until_us, *_ = zip(*batch, strict=True)
    numbers = _Numbers()
    pairs = [(numbers[i], numbers[j]) for i, j in zip(names, peers, strict=True)]
    arrays = [
        pa.array([min(pair) for pair in pairs], pa.int64()),
        pa.array([max(pair) for pair in pairs], pa.int64()),
        pa.array(from_us, pa.int64()),
        pa.array(until_us, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow("contacts"))


class _Called(dict[str, str | None]):
    """A name that its number does not say."""

    def __missing__(self, name: str) -> str | None:
        told = self[name] = name if name and number_of(name) >= NAMED else None
        return told


def _records(batch: list[Record], part: Part) -> pa.RecordBatch:
    """A meeting is turned so that the smaller number comes first. Of a SPAN, the peer is its first place."""
    kinds, lines, names, peers, t_us, until_us, x, y, z, segments, texts = zip(*batch, strict=True)
    count = len(batch)
    numbers, called = _Numbers({"": 0}), _Called()
    own = [numbers[name] for name in names]
    other = [0] * count
    own_names = [called[name] for name in names]
    other_names: list[str | None] = [None] * count
    if any(peers):
        for k, peer in enumerate(peers):
            if kinds[k] != MEETING:
                other_names[k] = peer or None
                continue
            other[k], other_names[k] = numbers[peer], called[peer]
            if own[k] > other[k]:
                own[k], other[k] = other[k], own[k]
                own_names[k], other_names[k] = other_names[k], own_names[k]
    arrays = [
        pa.array(kinds, pa.int8()),
        pa.repeat(pa.scalar(part.path, pa.string()), count),
        pa.repeat(pa.scalar(part.first_line, pa.int64()), count),
        pa.array(lines, pa.int64()),
        pa.array(own, pa.int64()),
        pa.array(own_names, pa.string()),
        pa.array(other, pa.int64()),
        pa.array(other_names, pa.string()),
        pa.array(t_us, pa.int64()),
        pa.array(until_us, pa.int64()),
        pa.array(x, pa.float64()),
        pa.array(y, pa.float64()),
        pa.array(z, pa.float64(), from_pandas=True),
        pa.array(segments, pa.int32()),
        pa.array([text or None for text in texts] if any(texts) else [None] * count, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow("records"))
