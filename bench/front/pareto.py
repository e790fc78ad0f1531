"""Points of protocols in a world, and which of two dominates the other.

One protocol *dominates* another if it delivers no less (by at most 0.005), takes no more air (by at most 5 %), and is
better in one of the two, each by the 95 % interval of the differences seed by seed (of air: of logarithms). Two that
dominate each other by this are *equal*.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import exp, log, nan
from typing import Any

from roamcast.judging.student import ALPHA, interval, mean

LESS = 0.005
MORE = 1.05
Row = Mapping[str, Any]


def delivered(row: Row) -> float | None:
    value: float | None = row["of_possible"]
    return value


def air_s(row: Row) -> float:
    """Of a node in an hour."""
    return float(row["airtime_s_per_hour"])


class Point:
    """A protocol in a world: its runs by seed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = {row["seed"]: row for row in rows if delivered(row) is not None}

    def only(self, seeds: Collection[int]) -> Point:
        """The same with these seeds."""
        return Point([row for seed, row in self.rows.items() if seed in seeds])

    def values(self, name: str) -> list[float]:
        return [row[name] for row in self.rows.values() if row[name] is not None]

    def mean(self, name: str) -> float:
        return mean(self.values(name) or [nan])

    @property
    def delivered(self) -> float:
        return self.mean("of_possible")

    @property
    def air_s(self) -> float:
        return self.mean("airtime_s_per_hour")

    def per_delivery(self, name: str) -> float:
        shares = [row[name] / row["deliveries"] for row in self.rows.values() if row["deliveries"]]
        return mean(shares or [nan])


def points(rows: Sequence[Row]) -> dict[str, Point]:
    by_label: dict[str, list[Row]] = {}
    for row in rows:
        by_label.setdefault(row["label"], []).append(row)
    return {label: Point(of_one) for label, of_one in by_label.items()}


def differences(a: Point, b: Point) -> tuple[list[float], list[float]]:
    """Seed by seed, a less b: of what is delivered, and of the logarithms of air."""
    seeds = sorted(a.rows.keys() & b.rows.keys())
    more = [a.rows[s]["of_possible"] - b.rows[s]["of_possible"] for s in seeds]
    return more, [log(air_s(a.rows[s]) / air_s(b.rows[s])) for s in seeds]


def dominates(a: Point, b: Point) -> bool:
    delivered_more, air_more = differences(a, b)
    more, air = interval(delivered_more, ALPHA), interval(air_more, ALPHA)
    if more is None or air is None:
        return False
    no_less, no_more = more[1] >= -LESS, exp(air[2]) <= MORE
    return no_less and no_more and (more[1] > 0 or air[2] < 0)


def beats(a: Point, b: Point) -> bool:
    """It dominates, and the other one does not: they are not equal."""
    return dominates(a, b) and not dominates(b, a)


def beside(roam: Point, other: Point) -> str:
    if beats(roam, other):
        return "is dominated"
    if beats(other, roam):
        return "**dominates**"
    return "equal" if dominates(roam, other) else ""


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those points (air, delivered) that deliver more than all with less air."""
    best: list[tuple[float, float]] = []
    for air, share in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or share > best[-1][1]:
            best.append((air, share))
    return best


def curve_at(curve: Sequence[tuple[float, float]], air: float) -> float | None:
    """What is delivered for this air, on straight lines between the points of the front; None below the first one."""
    curve = front(curve)
    if air < curve[0][0]:
        return None
    for (x, y), (x2, y2) in pairwise(curve):
        if x <= air < x2:
            return y + (air - x) / (x2 - x) * (y2 - y)
    return curve[-1][1]
