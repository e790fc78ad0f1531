"""A whole trace: read once, checked, with its names and its malformed lines.

Malformed lines are counted and left out, unless `strict`. Refused, with one line that names the place: time running
backwards, a node at two places at one time or in two files at once, and degrees that would be read as metres. The
reader checks that within a part of a file (world/traces/watch.py); here it is checked across parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np

from roamcast.errors import InputError
from roamcast.lab.traces.columns import Array
from roamcast.lab.traces.schemas import BYTE, INT, LONG, TEXT, schema
from roamcast.lab.traces.table import Columns, Table, rule
from roamcast.world.traces import formats
from roamcast.world.traces.names import counted
from roamcast.world.traces.plan import SPLIT_BYTES, Options, Part, plan
from roamcast.world.traces.record import EXTENT, PROBLEM, REFUSAL, SPAN, seconds
from roamcast.world.traces.watch import DEGREES, are_degrees

SHOWN = 5
"""Malformed lines that are shown; all are counted."""


@dataclass(frozen=True)
class Malformed:
    count: int
    first: list[str]
    """`FILE, line N: what is wrong` of the first few."""


class Place(Protocol):
    """Where traces are read to: `here.Here`, `in_spark.InSpark`."""

    def read(self, parts: list[Part]) -> tuple[Table, Table]:
        """The rows of a trace (POSITIONS or CONTACTS), and the RECORDS that are about them."""

    def close(self) -> None:
        """Forget what was read."""


@dataclass(frozen=True)
class Trace:
    """Times are those of the file; a simulation of it begins at `begin_us`."""

    kind: formats.Kind
    format: str
    rows: Table
    """With the schema POSITIONS or CONTACTS."""
    names: dict[int, str]
    """Number to name, in natural order."""
    malformed: Malformed
    begin_us: int
    end_us: int
    resolution_us: int
    absent: tuple[int, int]
    """How many nodes are absent at the beginning or the end, and how many come back."""
    place: Place

    @property
    def stays(self) -> bool:
        return formats.get(self.format).stays

    def close(self) -> None:
        self.place.close()


def read(
    place: Place,
    paths: list[str],
    options: Options | None = None,
    *,
    strict: bool = False,
    split_bytes: int = SPLIT_BYTES,
) -> Trace:
    """The trace in these files, until `close`."""
    options = options or Options()
    parts = plan(paths, options, split_bytes)
    format = formats.get(parts[0].format)
    rows, about = place.read(parts)
    try:
        malformed = _malformed(about.of_kind(PROBLEM, REFUSAL), strict)
        _check_extents(about.of_kind(EXTENT).columns(), parts, options.units)
        nodes = _nodes(about.of_kind(SPAN), across=len(parts) > 1 and format.kind == "positions")
        if not nodes:
            what = f"; {malformed.count} malformed, the first: {malformed.first[0]}" if malformed.count else ""
            raise InputError(f"{paths[0]}: has no {format.kind}{what}")
    except BaseException:
        place.close()
        raise
    first, last = min(node.t_us for node in nodes.values()), max(node.until_us for node in nodes.values())
    begin = first if format.begins == "first" else min(0, first)
    absent = (0, 0) if format.stays else _absent(nodes.values(), begin, last)
    names = {number: node.name for number, node in nodes.items()}
    return Trace(format.kind, format.name, rows, names, malformed, begin, last, parts[0].resolution_us, absent, place)


# ---- malformed lines


def _malformed(bad: Table, strict: bool) -> Malformed:
    faults = bad.mapped(faults_of).reduced(first_faults)
    count = {kind: _total(faults, kind) for kind in (PROBLEM, REFUSAL)}
    if count[REFUSAL]:
        raise InputError(_places(faults, REFUSAL)[0])
    first = _places(faults, PROBLEM)
    if strict and first:
        raise InputError(first[0])
    return Malformed(count[PROBLEM], first)


FAULTS = schema(kind=BYTE, file=TEXT, line=LONG, text=TEXT, count=LONG)


@rule(FAULTS)
def faults_of(rows: Columns) -> Iterator[list[Array]]:
    yield [*(rows[name] for name in ("kind", "file", "line", "text")), np.ones(len(rows["kind"]), np.int64)]


@rule(FAULTS)
def first_faults(rows: Columns) -> Iterator[list[Array]]:
    """The first few of each kind; the first one has the count of all."""
    order = sorted(range(len(rows["kind"])), key=lambda k: (rows["kind"][k], rows["file"][k], rows["line"][k]))
    chosen: list[int] = []
    totals: list[int] = []
    for _, same_kind in groupby(order, key=lambda k: rows["kind"][k]):
        places = list(same_kind)
        shown = places[:SHOWN]
        chosen += shown
        totals += [int(rows["count"][places].sum()), *[0] * (len(shown) - 1)]
    yield [*(rows[name][chosen] for name in ("kind", "file", "line", "text")), np.array(totals, np.int64)]


def _total(faults: Columns, kind: int) -> int:
    return int(faults["count"][faults["kind"] == kind].sum())


def _places(faults: Columns, kind: int) -> list[str]:
    """`FILE, line N: what is wrong`."""
    of_kind = faults["kind"] == kind
    columns = (faults[name][of_kind] for name in ("file", "line", "text"))
    return [f"{file}, line {line}: {text}" for file, line, text in zip(*columns, strict=True)]


# ---- the order of time, and units


def _check_extents(extents: Columns, parts: list[Part], units: str) -> None:
    """Check the order of time over the parts of a file, and that coordinates are not degrees."""
    rows = sorted(zip(extents["file"], extents["part"], extents["text"], strict=True), key=itemgetter(0, 1))
    before = {"": 0}
    for file, part, text in rows:
        if text:
            began, now = (int(t_us) for t_us in text.split())
            if began < before.get(file, began):
                late, soon = seconds(before[file]), seconds(began)
                raise InputError(
                    f"{file}, line {part}: time runs backwards: {soon}, after {late} in an earlier line; "
                    "sort the lines by time"
                )
            before[file] = now
    moves, fast = int(extents["t_us"].sum()), int(extents["until_us"].sum())
    widest_x, widest_y = float(extents["x_m"].max()), float(extents["y_m"].max())
    if units != "metres" and parts[0].origin is None and are_degrees(moves, fast, widest_x, widest_y):
        raise InputError(f"{parts[0].path}: {DEGREES} (--units degrees, --units metres)")


# ---- nodes


class Node(NamedTuple):
    """From when to when it is in the trace, and in how many segments, less one."""

    name: str
    t_us: int
    until_us: int
    segment: int


NODES = schema(
    ("wrong",), node=LONG, name=TEXT, t_us=LONG, until_us=LONG, segment=INT, wrong=TEXT, file=TEXT, line=LONG
)
"""`wrong`: why the whole trace is refused, and the place in the trace that decides which reason is given."""


def _nodes(spans: Table, across: bool) -> dict[int, Node]:
    """By number, in natural order of the names."""
    rows = spans.grouped(nodes_of, ["node"], ["file", "part"], across=across).columns()
    ordered = sorted(zip(*rows.values(), strict=True), key=lambda row: (row[6], row[7]))
    for *_, wrong, _, _ in ordered:
        if wrong is not None:
            raise InputError(wrong)
    order = counted([row[1] for row in ordered])
    by_name = {row[1]: (int(row[0]), Node(row[1], int(row[2]), int(row[3]), int(row[4]))) for row in ordered}
    return dict(by_name[name] for name in order)


class Span(NamedTuple):
    """A node in a part of a file: columns of RECORDS. `peer_name` is its first place and `text` the last."""

    node: int
    file: str
    part: int
    line: int
    name: str | None
    t_us: int
    until_us: int
    segment: int
    peer_name: str | None
    text: str | None

    @property
    def label(self) -> str:
        return self.name or str(self.node)


@rule(NODES)
def nodes_of(rows: Columns, across: bool) -> Iterator[list[Any]]:
    """SPANs of whole nodes, by file and part, to one row for each node."""
    spans = (Span(*row) for row in zip(*(rows[name].tolist() for name in Span._fields), strict=True))
    nodes = [_node(list(own), across) for _, own in groupby(spans, key=lambda span: span.node)]
    yield [list(column) for column in zip(*nodes, strict=True)] or [[]] * len(NODES)


def _node(spans: list[Span], across: bool) -> tuple[Any, ...]:
    file, line, wrong = next(_contradictions(spans, across), (spans[0].file, spans[0].line, None))
    begin, end = min(span.t_us for span in spans), max(span.until_us for span in spans)
    return (spans[0].node, spans[0].label, begin, end, max(span.segment for span in spans), wrong, file, line)


def _contradictions(spans: Sequence[Span], across: bool) -> Iterator[tuple[str, int, str]]:
    """(file, line, what is wrong) about a node."""
    for span in spans:
        if span.label != spans[0].label:
            labels = f"{spans[0].label!r} and {span.label!r}"
            yield span.file, span.line, f"nodes {labels} have the same number; rename one"
    if across:
        yield from _within_file(spans)
        yield from _over_files(spans)


def _within_file(spans: Sequence[Span]) -> Iterator[tuple[str, int, str]]:
    for before, after in pairwise(spans):
        if before.file != after.file:
            continue
        now, place = seconds(after.t_us), f"{after.file}, line {after.line}"
        if after.t_us < before.until_us:
            late = seconds(before.until_us)
            what = f"time runs backwards for node {after.label}: {now}, after {late}; sort the lines by time"
            yield after.file, after.line, f"{place}: {what}"
        elif after.t_us == before.until_us and after.peer_name != before.text:
            yield after.file, after.line, f"{place}: node {after.label} is at two places at {now}"


def _over_files(spans: Sequence[Span]) -> Iterator[tuple[str, int, str]]:
    by_file = [list(own) for _, own in groupby(spans, key=lambda span: span.file)]
    whole = sorted((min(s.t_us for s in own), max(s.until_us for s in own), own[0].file) for own in by_file)
    for (_, until_us, other), (t_us, _, file) in pairwise(whole):
        if t_us <= until_us:
            yield file, 0, f"node {spans[0].label} is in {other} and in {file} at {seconds(t_us)}"


def _absent(nodes: Iterable[Node], begin: int, end: int) -> tuple[int, int]:
    at_ends = gaps = 0
    for node in nodes:
        at_ends += node.t_us > begin or node.until_us < end
        gaps += node.segment > 0
    return at_ends, gaps
