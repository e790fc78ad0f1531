"""What each setting of a campaign does: every metric against it, a line for each combination of the other settings.

Cells are never averaged. If there are more combinations than lines that people can distinguish, some of the other
settings are held at one value, and the figure says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec

from roamcast.log.metric import SHARE, Metric, Row
from roamcast.show import cells
from roamcast.show.cells import Cells
from roamcast.show.league import columns
from roamcast.show.panels import Panel, along, curves

MOST_LINES = 6
"""Of one protocol in one panel."""
MOST_TOGETHER = 8
"""Protocols in one panel, if each has one line."""
MOST_FIGURES = 12
"""Settings times protocols for which every metric is drawn."""
WIDE = 50.0
"""An axis is logarithmic if its largest value is that many times its smallest one."""


class Sweep(msgspec.Struct, frozen=True):
    """The figure of one setting: by metric its panels, one for each protocol or one for several.

    `tied` are settings that change together with it; `held` says, by label, which values of other settings are shown
    if not all are.
    """

    setting: str
    tied: list[str]
    held: dict[str, str]
    panels: dict[str, list[Panel]]

    def all_panels(self) -> list[Panel]:
        return [panel for panels in self.panels.values() for panel in panels]


def metrics(varied: Cells, rows: Sequence[Row] = ()) -> Sequence[Metric]:
    """Those that are drawn: the columns of tables, or only delivery, its costs, and what only some worlds have, if
    there are many figures."""
    many = len(varied.swept()) * len(varied.labels) > MOST_FIGURES
    shown = columns(rows)
    return [m for m in shown if m.cost or m.beside or m.name == "delivery"] if many else shown


def sweeps(rows: Sequence[Row], varied: Cells) -> list[Sweep]:
    """One for each setting with several values; settings that always change together have one figure."""
    figures: list[Sweep] = []
    for setting in varied.swept():
        by_label = {label: [row for row in rows if row["label"] == label] for label in varied.labels}
        curved = {label: members for label, members in by_label.items() if len(_values(members, setting)) > 1}
        tied = [each for each in varied.swept() if each != setting and _follows(curved, setting, each)]
        if any(other.setting in tied and setting in other.tied for other in figures):
            continue
        sweep = _sweep(setting, tied, curved, varied, metrics(varied, rows))
        if sweep.panels:
            figures.append(sweep)
    return figures


def _sweep(
    setting: str, tied: list[str], by_label: dict[str, list[Row]], varied: Cells, metrics: Sequence[Metric]
) -> Sweep:
    chosen: dict[str, list[Row]] = {}
    lines: dict[str, list[str]] = {}
    held: dict[str, str] = {}
    for label, members in by_label.items():
        others = [each for each in varied.swept() if each != setting and each not in tied]
        chosen[label], lines[label], held[label] = _few(
            [each for each in others if _values(members, each)[1:]], members
        )
    groups = _groups(chosen, lines, varied)
    panels: dict[str, list[Panel]] = {}
    for metric in metrics:
        drawn = [_panel(setting, metric, group) for group in groups]
        shown = [panel for panel in drawn if panel is not None]
        if any(p.mean for panel in shown for series in panel.series for p in series.points):
            panels[metric.name] = _comparable(shown, metric)
    return Sweep(setting, tied, {label: text for label, text in held.items() if text}, panels)


class Group(msgspec.Struct, frozen=True):
    """The runs of one panel. `lines` are the settings whose combinations are lines; without any, labels are."""

    title: str
    lines: list[str]
    rows: list[Row]


def _groups(chosen: dict[str, list[Row]], lines: dict[str, list[str]], varied: Cells) -> list[Group]:
    """A group for each protocol, or for several that have one line each."""
    if any(lines.values()):
        several = len(varied.labels) > 1
        return [Group(label if several else "", lines[label], rows) for label, rows in chosen.items()]
    members = list(chosen.values())
    parts = [members[k : k + MOST_TOGETHER] for k in range(0, len(members), MOST_TOGETHER)]
    return [Group("", [], [row for rows in part for row in rows]) for part in parts]


# ---- which lines


def _values(rows: Sequence[Row], setting: str) -> list[str]:
    """In the campaign's order."""
    ordered = sorted(rows, key=lambda row: int(row["cell"]))
    have = (cells.settings(row).get(setting) for row in ordered)
    return list(dict.fromkeys(value for value in have if value is not None))


def _follows(by_label: dict[str, list[Row]], setting: str, other: str) -> bool:
    """Whether a value of the setting decides the value of the other one, wherever both vary."""
    several = [members for members in by_label.values() if _values(members, other)[1:]]
    return bool(several) and all(
        len(_values([row for row in members if cells.settings(row).get(setting) == value], other)) <= 1
        for members in several
        for value in _values(members, setting)
    )


def _few(others: list[str], rows: list[Row]) -> tuple[list[Row], list[str], str]:
    """The runs to be shown, the settings whose combinations are lines, and what the others are held at."""
    lines = list(others)
    held: list[str] = []
    while len(lines) > 1 and prod(len(_values(rows, each)) for each in lines) > MOST_LINES:
        last = lines.pop()
        values = _values(rows, last)
        middle = values[len(values) // 2]
        rows = [row for row in rows if cells.settings(row).get(last) == middle]
        held.append(f"{last} = {cells.plain(middle)}")
    if lines and len(values := _values(rows, lines[0])) > MOST_LINES:
        steps = [round(k * (len(values) - 1) / (MOST_LINES - 1)) for k in range(MOST_LINES)]
        rows = [row for row in rows if cells.settings(row).get(lines[0]) in {values[k] for k in steps}]
        held.append(f"{MOST_LINES} of {len(values)} values of {lines[0]}")
    return rows, lines, " and ".join(held)


# ---- panels


def _panel(setting: str, metric: Metric, group: Group) -> Panel | None:
    unit, factor = metric.shown_unit

    def x(row: Row) -> str | None:
        value = cells.settings(row).get(setting)
        return None if value is None else cells.in_unit(setting, value)

    def name(row: Row) -> str:
        have = cells.settings(row)
        values = [cells.shown(each, have[each]) if each in have else "preset's" for each in group.lines]
        return ", ".join(values) or str(row["label"])

    series, _ = curves(group.rows, x, name, metric.name, factor)
    if not series:
        return None
    series, _, categories = along(series, [])
    xs = [p.x for each in series for p in each.points if isinstance(p.x, float)]
    return Panel(
        title=group.title,
        x_label=cells.heading(setting),
        y_label=_axis(metric, unit),
        series=series,
        categories=categories,
        key=", ".join(map(cells.heading, group.lines)),
        log_x=not categories and len(set(xs)) > 2 and _wide(xs),
        small=True,
    )


def _axis(metric: Metric, unit: str) -> str:
    if metric.unit == SHARE or "[" in metric.column or "per" in metric.column.split():
        return metric.column
    return f"{metric.column.removeprefix(unit).strip()} [{unit}]"


def _wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) >= WIDE * min(values)


def _comparable(panels: list[Panel], metric: Metric) -> list[Panel]:
    """With one y axis for all. Intervals of two runs can be longer than all that there is to see: they may be cut."""
    points = [p for panel in panels for series in panel.series for p in series.points]
    most = max(p.mean for p in points)
    if metric.unit != SHARE and _wide([p.mean for p in points]):
        return [msgspec.structs.replace(panel, log_y=True) for panel in panels]
    top = 1.05 * max(min(p.mean + (p.half or 0.0), 1.5 * most) for p in points)
    if metric.unit == SHARE:
        top = 1.04 if most > 0.5 else min(top, 1.04)
    return [msgspec.structs.replace(panel, top=top) for panel in panels]
