"""What a figure shows: each panel's series with their means and intervals, from the rows of the metrics table.

A point is the mean over seeds with Student's 95 % interval. Where several cells fall on one point (a grid that the
plot does not distinguish) they are averaged seed by seed, as the checks of claims do, and the panel says how many.
A series that does not have the parameter on the x axis (flooding has no probability) is a level, drawn across.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from roamcast.errors import NoData
from roamcast.judging.runs import coordinate, samples, selected
from roamcast.judging.student import ALPHA, interval
from roamcast.log.catalogue import METRICS
from roamcast.log.metric import WHOLE, Row
from roamcast.papers.experiments import Plot
from roamcast.show import cells

X = float | str
Key = TypeVar("Key", str, str | None)


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
    """`categories` are the values of an x axis that has no numbers; `merged` is how many cells a point has at most.

    `key` says what the names of the series are values of. `top` is where the y axis ends, 0 if the values decide. A
    `small` panel stands beside others with the same axes. `names` are the series of all panels that share its legend.
    `counted` is an axis of whole numbers.
    """

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    marks: list[Mark] = []
    categories: list[str] = []
    log_y: bool = False
    merged: int = 1
    smooth: bool = False
    key: str = ""
    top: float = 0.0
    log_x: bool = False
    small: bool = False
    names: list[str] = []
    counted: bool = False

    def place(self, name: str) -> int:
        """Of a series in the legend, which decides how it looks."""
        return (self.names or list(dict.fromkeys(series.name for series in self.series))).index(name)


def together(panels: Sequence[Panel]) -> list[Panel]:
    """Panels of one figure: a series looks the same in all of them, so that one legend is enough."""
    names: dict[str, dict[str, None]] = {}
    for each in panels:
        names.setdefault(each.key, {}).update(dict.fromkeys(series.name for series in each.series))
    return [msgspec.structs.replace(each, names=list(names[each.key])) for each in panels]


def panel(plot: Plot, rows: Sequence[Row]) -> Panel:
    """NoData if the experiment has no runs that the plot shows."""
    series, merged = curves(
        selected(rows, plot.where),
        lambda row: coordinate(row, plot.x),
        lambda row: _series_name(plot.series, coordinate(row, plot.series)),
        plot.y,
    )
    if not series:
        raise NoData(f"no run has a {plot.y}")
    names = {each.name: k for k, each in reversed(list(enumerate(series)))}
    marks = [
        Mark(_number(s.x), s.y, s.label, names.get(s.label, names.get(_series_name(plot.series, s.label))))
        for s in plot.published
    ]
    series, marks, categories = along(series, marks)
    return Panel(
        title=plot.title,
        x_label=plot.x_label,
        y_label=plot.y_label,
        series=series,
        marks=marks,
        categories=categories,
        log_y=plot.log_y,
        merged=merged,
        counted=counted(plot.y),
    )


def counted(metric: str) -> bool:
    """Whether a metric is a whole number."""
    return any(m.name == metric and m.kind in WHOLE for m in METRICS)


def curves(
    rows: Sequence[Row],
    x: Callable[[Row], str | None],
    name: Callable[[Row], str],
    metric: str,
    factor: float = 1.0,
) -> tuple[list[Series], int]:
    """A series for each name, and how many cells a point has at most."""
    series: list[Series] = []
    merged = 1
    for called, members in _grouped(rows, name).items():
        points: list[Point] = []
        for at, there in _grouped(members, x).items():
            point = _point(None if at is None else _number(at), there, metric, factor)
            if point is not None:
                points.append(point)
                merged = max(merged, len({row["cell"] for row in there}))
        series += [Series(called, part) for part in _parts(points)]
    return series, merged


def along(series: list[Series], marks: list[Mark]) -> tuple[list[Series], list[Mark], list[str]]:
    """Both in the order of the x axis, and its categories if not all of its values are numbers."""
    xs = [p.x for each in series for p in each.points if p.x is not None] + [mark.x for mark in marks]
    if not any(isinstance(x, str) for x in xs):
        return [msgspec.structs.replace(each, points=sorted(each.points, key=_place)) for each in series], marks, []
    marks = [msgspec.structs.replace(mark, x=_text(mark.x)) for mark in marks]
    return [_named(each) for each in series], marks, list(dict.fromkeys(_text(x) for x in xs))


def mean_and_half(values: Sequence[float]) -> tuple[float, float | None]:
    """With Student's 95 % interval, which a single value does not have."""
    estimate = interval(values, ALPHA)
    if estimate is None:
        return values[0], None
    mean, low, _ = estimate
    return mean, mean - low


def _point(x: X | None, rows: Sequence[Row], metric: str, factor: float) -> Point | None:
    try:
        by_seed = samples(rows, metric)
    except NoData:
        return None  # nothing was delivered there, so that latency and overhead do not exist
    mean, half = mean_and_half([factor * value for value in by_seed.values()])
    return Point(x, mean, half, len(by_seed))


def _parts(points: list[Point]) -> list[list[Point]]:
    """A level and a curve are drawn differently, also if they have one name."""
    curve, level = [p for p in points if p.x is not None], [p for p in points if p.x is None]
    return [part for part in (curve, level) if part]


def _grouped(rows: Sequence[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """In the order in which the experiment's file has them."""
    groups: dict[Key, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["cell"], row["seed"])):
        groups.setdefault(key(row), []).append(row)
    return groups


def _series_name(series: str, value: str | None) -> str:
    if value is None:
        return "others"
    if series in ("label", "protocol", "preset", "campaign"):
        return value
    name, unit = cells.split_unit(series)
    return f"{cells.in_words(name)} = {cells.shown(series, _text(_number(value)))} {unit}".rstrip()


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
