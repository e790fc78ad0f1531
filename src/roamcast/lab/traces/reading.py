"""From files to record batches: the work of Spark's data source, and of `here.py` in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa

from roamcast.errors import InputError, unknown
from roamcast.lab.traces.columns import repeated, to_arrow
from roamcast.lab.traces.schemas import CONTACTS, POSITIONS, RECORDS, TABLES
from roamcast.world.traces import formats
from roamcast.world.traces.names import NAMED, number_of
from roamcast.world.traces.plan import SPLIT_BYTES, Options, Part, plan
from roamcast.world.traces.record import CONTACT, POINT, PROBLEM, REFUSAL, Record

BATCH: Final = 8192
KNOWN: Final = frozenset(
    (
        *("path", "paths", "table", "trace", "units", "origin", "resolution_s", "gap_s"),
        *("columns", "time_unit", "strict", "split_bytes", "parts"),
    )
)


def check(options: Any) -> None:
    for option in options:
        if option.lower() not in KNOWN:
            raise unknown("option", option, KNOWN - {"parts", "path", "paths"})


def schema(options: Any) -> pa.Schema:
    return TABLES[_table(options, parts_of(options))]


def planned(options: Any) -> tuple[list[dict[str, Any]], str, bool]:
    """Fields of the parts, the table, whether malformed lines are errors."""
    parts = parts_of(options)
    table, kind = _table(options, parts), kind_of(parts)
    if table not in ("records", kind):
        raise InputError(f"table={table}: {parts[0].path} has {kind}")
    return [asdict(part) for part in parts], table, options.get("strict", "").lower() == "true"


def _table(options: Any, parts: list[Part]) -> str:
    table: str = options.get("table") or kind_of(parts)
    if table not in TABLES:
        raise unknown("table", table, TABLES)
    return table


def kind_of(parts: list[Part]) -> formats.Kind:
    return formats.get(parts[0].format).kind


def parts_of(options: Any) -> list[Part]:
    """The parts from an earlier plan (`parts`), or a new plan."""
    if "parts" in options:
        return [_part(fields) for fields in json.loads(options["parts"])]
    paths = json.loads(options["paths"]) if "paths" in options else [options["path"]] if "path" in options else []
    if not paths:
        raise InputError("a trace needs a path: .load(PATH)")
    chosen = Options(
        format=options.get("trace", ""),
        units=options.get("units", ""),
        origin=options.get("origin", ""),
        resolution_s=_number(options, "resolution_s", 0.0),
        gap_s=_number(options, "gap_s", 0.0),
        columns=options.get("columns", ""),
        time_unit=options.get("time_unit", "s"),
    )
    return plan(paths, chosen, int(_number(options, "split_bytes", SPLIT_BYTES)))


def packed(parts: list[Part]) -> str:
    """For the option `parts`, so that a plan is made only once."""
    return json.dumps([asdict(part) for part in parts])


def _part(fields: dict[str, Any]) -> Part:
    origin = fields["origin"]
    return Part(**{**fields, "origin": tuple(origin) if origin else None})


def _number(options: Any, name: str, default: float) -> float:
    try:
        return float(options.get(name, default))
    except ValueError:
        raise InputError(f"{name}={options[name]}: must be a number") from None


def read(fields: dict[str, Any], table: str, strict: bool) -> Iterator[pa.RecordBatch]:
    """A part as rows of a table."""
    part = _part(fields)
    records = part.records()
    if table == "records":
        return _batches(records, lambda batch: _records(batch, part))
    wanted = POINT if table == "positions" else CONTACT
    rows = (record for record in _accepted(records, part.path, strict) if record[0] == wanted)
    return _batches(rows, _positions if table == "positions" else _contacts)


def separated(part: Part) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """A part as rows of its table, and the records that are about them."""
    convert = _positions if kind_of([part]) == "positions" else _contacts
    rows: list[pa.RecordBatch] = []
    about: list[Record] = []
    records = part.records()
    while batch := list(islice(records, BATCH)):
        own = [record for record in batch if record[0] in (POINT, CONTACT)]
        about += [record for record in batch if record[0] not in (POINT, CONTACT)]
        if own:
            rows.append(convert(own))
    return rows, [_records(about, part)] if about else []


def _accepted(records: Iterator[Record], path: str, strict: bool) -> Iterator[Record]:
    for record in records:
        if record[0] == REFUSAL or (strict and record[0] == PROBLEM):
            raise InputError(f"{path}, line {record[1]}: {record[10]}")
        yield record


def _batches(records: Iterator[Record], convert: Any) -> Iterator[pa.RecordBatch]:
    while batch := list(islice(records, BATCH)):
        yield convert(batch)


class _Numbers(dict[str, int]):
    def __missing__(self, name: str) -> int:
        number = self[name] = number_of(name)
        return number


def _positions(batch: list[Record]) -> pa.RecordBatch:
    _, _, names, _, t_us, _, x, y, z, segments, _ = zip(*batch, strict=True)
    numbers = _Numbers()
    arrays = [
        to_arrow([numbers[name] for name in names], pa.int64()),
        to_arrow(t_us, pa.int64()),
        to_arrow(x, pa.float64()),
        to_arrow(y, pa.float64()),
        to_arrow(z, pa.float64(), with_nulls=True),
        to_arrow(segments, pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=POSITIONS)


def _contacts(batch: list[Record]) -> pa.RecordBatch:
    _, _, names, peers, from_us, until_us, *_ = zip(*batch, strict=True)
    numbers = _Numbers()
    pairs = [(numbers[i], numbers[j]) for i, j in zip(names, peers, strict=True)]
    arrays = [
        to_arrow([min(pair) for pair in pairs], pa.int64()),
        to_arrow([max(pair) for pair in pairs], pa.int64()),
        to_arrow(from_us, pa.int64()),
        to_arrow(until_us, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=CONTACTS)


class _Called(dict[str, str | None]):
    """The name of a node, or None if it is the same as its number."""

    def __missing__(self, name: str) -> str | None:
        own = self[name] = name if name and number_of(name) >= NAMED else None
        return own


def _records(batch: list[Record], part: Part) -> pa.RecordBatch:
    """In a contact the smaller number comes first. In a SPAN, `peer` is its first place."""
    kinds, lines, names, peers, t_us, until_us, x, y, z, segments, texts = zip(*batch, strict=True)
    count = len(batch)
    numbers, called = _Numbers({"": 0}), _Called()
    own = [numbers[name] for name in names]
    other = [0] * count
    own_names = [called[name] for name in names]
    other_names: list[str | None] = [None] * count
    if any(peers):
        for k, peer in enumerate(peers):
            if kinds[k] != CONTACT:
                other_names[k] = peer or None
                continue
            other[k], other_names[k] = numbers[peer], called[peer]
            if own[k] > other[k]:
                own[k], other[k] = other[k], own[k]
                own_names[k], other_names[k] = other_names[k], own_names[k]
    arrays = [
        to_arrow(kinds, pa.int8()),
        repeated(part.path, count),
        to_arrow(np.full(count, part.first_line), pa.int64()),
        to_arrow(lines, pa.int64()),
        to_arrow(own, pa.int64()),
        to_arrow(own_names, pa.string()),
        to_arrow(other, pa.int64()),
        to_arrow(other_names, pa.string()),
        to_arrow(t_us, pa.int64()),
        to_arrow(until_us, pa.int64()),
        to_arrow(x, pa.float64()),
        to_arrow(y, pa.float64()),
        to_arrow(z, pa.float64(), with_nulls=True),
        to_arrow(segments, pa.int32()),
        to_arrow([text or None for text in texts] if any(texts) else [None] * count, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RECORDS)
