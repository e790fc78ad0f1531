"""What a figure shows: each panel's series with their means and intervals, from the rows of the metrics table.

A point is the mean over seeds with Student's 95 % interval. Where several cells fall on one point (a grid that the
plot does not distinguish) they are averaged seed by seed, as the checks of claims do, and the panel says how many.
A series that does not have the parameter on the x axis (flooding has no probability) is a level, drawn across.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from roamcast.errors import NoData
from roamcast.judging.runs import coordinate, samples, selected
from roamcast.judging.student import ALPHA, interval
from roamcast.log.metric import Row
from roamcast.papers.experiments import Plot
from roamcast.show import cells

X = float | str


class Point(msgspec.Struct, frozen=True):
    """`half` is None for a single run, which has no interval; `x` is None on a level."""

    x: X | None
    mean: float
    half: float | None
    runs: int


class Series(msgspec.Struct, frozen=True):
    name: str
    points: list[Point]

    @property
    def level(self) -> bool:
        return self.points[0].x is None


class Mark(msgspec.Struct, frozen=True):
    """A published value. `series` is its place among the panel's series, None if it belongs to none of them."""

    x: X
    y: float
    label: str
    series: int | None


class Panel(msgspec.Struct, frozen=True):
    """`categories` are the values of an x axis that has no numbers; `merged` is how many cells a point has at most."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    marks: list[Mark] = []
    categories: list[str] = []
    log_y: bool = False
    merged: int = 1
    smooth: bool = False


def panel(plot: Plot, rows: Sequence[Row]) -> Panel:
    """NoData if the experiment has no runs that the plot shows."""
    chosen = selected(rows, plot.where)
    series: list[Series] = []
    merged = 1
    for name, members in _grouped(chosen, lambda row: coordinate(row, plot.series)).items():
        shown = _series_name(plot.series, name)
        points: list[Point] = []
        for x, there in _grouped(members, lambda row: coordinate(row, plot.x)).items():
            point = _point(None if x is None else _number(x), there, plot.y)
            if point is not None:
                points.append(point)
                merged = max(merged, len({row["cell"] for row in there}))
        series += [Series(shown, part) for part in _parts(points)]
    if not series:
        raise NoData(f"no run has a {plot.y}")
    return _complete(plot, series, merged)


def _complete(plot: Plot, series: list[Series], merged: int) -> Panel:
    names = {one.name: k for k, one in reversed(list(enumerate(series)))}
    marks = [
        Mark(_number(s.x), s.y, s.label, names.get(s.label, names.get(_series_name(plot.series, s.label))))
        for s in plot.published
    ]
    xs = [p.x for one in series for p in one.points if p.x is not None] + [mark.x for mark in marks]
    by_name = any(isinstance(x, str) for x in xs)
    if by_name:
        marks = [msgspec.structs.replace(mark, x=_text(mark.x)) for mark in marks]
        series = [_named(one) for one in series]
        xs = [_text(x) for x in xs]
    else:
        series = [msgspec.structs.replace(one, points=sorted(one.points, key=_place)) for one in series]
    return Panel(
        title=plot.title,
        x_label=plot.x_label,
        y_label=plot.y_label,
        series=series,
        marks=marks,
        categories=list(dict.fromkeys(str(x) for x in xs)) if by_name else [],
        log_y=plot.log_y,
        merged=merged,
    )


def mean_and_half(values: Sequence[float]) -> tuple[float, float | None]:
    """With Student's 95 % interval, which a single value does not have."""
    estimate = interval(values, ALPHA)
    if estimate is None:
        return values[0], None
    mean, low, _ = estimate
    return mean, mean - low


def _point(x: X | None, rows: Sequence[Row], metric: str) -> Point | None:
    try:
        by_seed = samples(rows, metric)
    except NoData:
        return None  # nothing was delivered there, so that latency and overhead do not exist
    mean, half = mean_and_half([*by_seed.values()])
    return Point(x, mean, half, len(by_seed))


def _parts(points: list[Point]) -> list[list[Point]]:
    """A level and a curve are drawn differently, also if they have one name."""
    curve, level = [p for p in points if p.x is not None], [p for p in points if p.x is None]
    return [part for part in (curve, level) if part]


def _grouped(rows: Sequence[Row], key: Callable[[Row], str | None]) -> dict[str | None, list[Row]]:
    """In the order in which the experiment's file has them."""
    groups: dict[str | None, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["cell"], row["seed"])):
        groups.setdefault(key(row), []).append(row)
    return groups


def _series_name(series: str, value: str | None) -> str:
    if value is None:
        return "others"
    if series in ("label", "protocol", "preset", "campaign"):
        return value
    name, unit = cells.split_unit(series)
    return f"{name.replace('_', ' ')} = {cells.shown(series, _text(_number(value)))} {unit}".rstrip()


def _named(series: Series) -> Series:
    points = [p if p.x is None else msgspec.structs.replace(p, x=_text(p.x)) for p in series.points]
    return msgspec.structs.replace(series, points=points)


def _number(x: X) -> X:
    try:
        return float(x)
    except ValueError:
        return x


def _text(x: X) -> str:
    return f"{x:g}" if isinstance(x, float) else str(x)


def _place(point: Point) -> float:
    return point.x if isinstance(point.x, float) else 0.0
