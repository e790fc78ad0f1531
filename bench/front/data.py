"""The points of all protocols as a table (CSV): mean and 95 % interval of what the pages show, and more."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.front.pareto import Point, Row

from roamcast.judging.student import ALPHA, interval

Measure = Callable[[Row], float | None]


def _of(name: str) -> Measure:
    return lambda row: row[name]


def _per_delivery(name: str) -> Measure:
    return lambda row: row[name] / row["deliveries"] if row["deliveries"] else None


def _per_node(name: str) -> Measure:
    return lambda row: row[name] / row["nodes"]


MEASURES: Mapping[str, Measure] = {
    "delivered of the possible": _of("of_possible"),
    "air of a node in an hour, s": _of("airtime_s_per_hour"),
    "frames a delivery": _per_delivery("frames_sent"),
    "bytes a delivery": _per_delivery("bytes_sent"),
    "half within, s": _of("latency_p50_s"),
    "95 % within, s": _of("latency_p95_s"),
    "energy of a node, J": _per_node("energy_j"),
    "memory of a node, bytes": _of("memory_bytes"),
}


def write(path: Path, measured: Mapping[str, Mapping[str, Point]]) -> None:
    """`measured`: the points of each world, by protocol."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["world", "protocol", "measure", "runs", "mean", "low", "high"])
        for world, every in measured.items():
            for protocol, point in every.items():
                lines.writerows([world, protocol, *cells] for cells in _cells(point))


def _cells(point: Point) -> Iterator[list[str]]:
    """A measure that fewer than two runs have is left out."""
    for name, measure in MEASURES.items():
        values = [value for row in point.rows.values() if (value := measure(row)) is not None]
        estimate = interval(values, ALPHA)
        if estimate is not None:
            yield [name, str(len(values)), *(f"{value:.4g}" for value in estimate)]
