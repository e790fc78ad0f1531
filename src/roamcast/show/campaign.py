"""The part of the report about a campaign that belongs to no paper: what each setting does, costs, all cells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from roamcast.judging import settings
from roamcast.log.metric import Metric
from roamcast.show import cells, legend, page, parts, standings
from roamcast.show.album import Album
from roamcast.show.cells import Cells, Row
from roamcast.show.league import ALSO, COLUMNS, Entrant, Front, columns, entrants, fronts, listed_values
from roamcast.show.markup import Html, joined, tag
from roamcast.show.numbers import NOTHING, several
from roamcast.show.panels import together
from roamcast.show.parts import Place
from roamcast.show.sweeps import Sweep, metrics, sweeps

MOST_WORLDS = 3
"""Whose Pareto fronts are drawn; with more, those of the one in the middle."""
MOST_OPEN = 60
"""Cells in a table that is not folded."""


class World(msgspec.Struct, frozen=True):
    """Cells that can be compared, and their Pareto fronts. `name` is empty if all cells have the same world."""

    name: str
    fronts: list[Front]


def section(
    name: str, rows: Sequence[Row], params: Mapping[str, str], album: Album, opened: bool = False
) -> tuple[Place, Html]:
    """With its entry in the contents."""
    known = cells.distinct(rows)
    varied = cells.compare(known)
    listed = _entrants(rows, known, varied)
    worlds = _worlds(listed, known, varied)
    swept = sweeps(rows, varied)
    place = page.section_id(name)
    body = parts.part(
        place,
        name,
        tag("p", _about(known, varied, listed), class_="soft"),
        _sweeps(name, swept, metrics(varied, rows), columns(rows), album),
        _fronts(name, worlds, album),
        _table(known, varied, listed, worlds),
        _parameters(known, varied, params),
        brief=f"{several(len(known), 'cell')}, {several(sum(e.runs for e in listed), 'run')}",
        opened=opened,
    )
    below = [Place(page.figure_id(f"{name}-{each.setting}"), cells.heading(each.setting)) for each in swept]
    return Place(place, name, below), body


def _about(known: Sequence[Row], varied: Cells, listed: Sequence[Entrant]) -> str:
    first = known[0]
    reading = f", read as {first['reading']}" if first.get("reading") else ""
    each = f", {several(listed[0].runs, 'run')} each" if _same_runs(listed) else ""
    sentences = [f"Preset {first['preset']}{reading}; {several(len(known), 'cell')}{each}."]
    if varied.common:
        sentences.append(f"All cells: {cells.listed(varied.common)}.")
    sentences += [f"{label}: {cells.listed(settings)}." for label, settings in varied.fixed.items() if settings]
    return " ".join(sentences)


def _same_runs(listed: Sequence[Entrant]) -> bool:
    return len({entrant.runs for entrant in listed}) == 1


def _entrants(rows: Sequence[Row], known: Sequence[Row], varied: Cells) -> list[Entrant]:
    """The cells, with what distinguishes those of one label."""
    listed = entrants([dict(row) for row in rows])
    return [msgspec.structs.replace(e, settings=varied.varying(row)) for e, row in zip(listed, known, strict=True)]


# ---- what each setting does


def _sweeps(
    name: str, drawn: Sequence[Sweep], shown: Sequence[Metric], known: Sequence[Metric], album: Album
) -> Html | None:
    if not drawn:
        return None
    only = f"Of many figures, only those of {', '.join(m.column for m in shown)}; the table has all metrics."
    return joined(
        tag("h3", "What each setting does"),
        tag("p", only) if len(shown) < len(known) else None,
        [_sweep(name, sweep, album) for sweep in drawn],
    )


def _sweep(name: str, sweep: Sweep, album: Album) -> Html:
    own = f"{name}-{sweep.setting}"
    drawn = iter(together(sweep.all_panels()))
    by_metric = {metric: [next(drawn) for _ in panels] for metric, panels in sweep.panels.items()}
    drawings = [album.panels(f"{own}-{metric}", panels) for metric, panels in by_metric.items()]
    if all(len(panels) == 1 for panels in drawings):
        drawings = [[drawing for panels in drawings for drawing in panels]]
    shown = [panel for panels in by_metric.values() for panel in panels]
    return page.framed(
        page.figure_id(own),
        cells.heading(sweep.setting),
        tag("span", _caption(sweep), class_="soft"),
        [tag("div", panels, class_="panels three") for panels in drawings],
        legend.of_panels(shown),
        page.unfolded([page.numbers_of(panel) for panel in shown]),
    )


def _caption(sweep: Sweep) -> str:
    counts = [p.runs for panel in sweep.all_panels() for series in panel.series for p in series.points]
    low, high = min(counts), max(counts)
    runs = several(high, "run") if low == high else f"{low} to {high} runs"
    sentences = [f"Means over {runs} with 95 % intervals (Student)."]
    if any(panel.key for panel in sweep.all_panels()):
        sentences.append("A line is a combination of the other settings.")
    if sweep.tied:
        sentences.append(f"{', '.join(sweep.tied)} {'changes' if len(sweep.tied) == 1 else 'change'} with it.")
    for label, text in sweep.held.items():
        sentences.append(f"{label}: only {text}; the other cells are in the table.")
    return " ".join(sentences)


# ---- costs


def _worlds(listed: Sequence[Entrant], known: Sequence[Row], varied: Cells) -> list[World]:
    """Only cells in the same world compete."""
    worlds = [settings.world(row) for row in known]
    fields = [name for name in varied.columns if any(name in world for world in worlds)]
    members: dict[str, list[Entrant]] = {}
    for entrant, fixed in zip(listed, worlds, strict=True):
        world = cells.listed({name: settings.text(fixed[name]) for name in fields if name in fixed})
        members.setdefault(world, []).append(entrant)
    return [World(name, fronts(competing)) for name, competing in members.items() if len(competing) > 1]


def _fronts(name: str, worlds: Sequence[World], album: Album) -> Html | None:
    if not worlds:
        return None
    drawn = worlds if len(worlds) <= MOST_WORLDS else [worlds[len(worlds) // 2]]
    only = (
        f" One of {len(worlds)} worlds; stars in the table are about all of them." if len(drawn) < len(worlds) else ""
    )
    figures = []
    for world in drawn:
        own = f"{name}-{world.name}" if world.name else name
        drawings = [album.front(f"{own}-{front.short}", front) for front in world.fronts]
        figures.append(standings.front(f"{page.figure_id(own)}-cost", world.name, world.fronts, drawings, only))
    return joined(tag("h3", "What delivery costs"), figures)


# ---- all cells


def _table(known: Sequence[Row], varied: Cells, listed: Sequence[Entrant], worlds: Sequence[World]) -> Html:
    best = {(front.cost, id(front.entrants[k])) for world in worlds for front in world.fronts for k in front.best}
    same_runs = _same_runs(listed)
    shown = [metric for metric in (*COLUMNS, *ALSO) if any(entrant.of(metric.name) for entrant in listed)]
    heads = [*map(cells.heading, varied.columns), *([] if same_runs else ["runs"])]
    lines = []
    for row, entrant in zip(known, listed, strict=True):
        values = cells.settings(row)
        named = [cells.shown(name, values[name]) if name in values else NOTHING for name in varied.columns]
        named += [] if same_runs else [f"{entrant.runs:,}"]
        settings = [parts.cell(text, head) for head, text in zip(heads, named, strict=True)]
        means = [standings.value(entrant, metric, (metric.name, id(entrant)) in best) for metric in shown]
        lines.append(parts.line(varied.name(row) or row["label"], [*settings, *means]))
    table = parts.table(["protocol", *heads, *map(standings.heading, shown)], lines, "all cells")
    title = tag("h3", "All cells")
    about = tag(
        "p", "A star marks a cell on the Pareto front of its world: no other cell there delivers as much for less."
    )
    explained = about if worlds else None
    if len(known) <= MOST_OPEN:
        return joined(title, explained, table)
    return joined(title, explained, tag("details", tag("summary", f"all {several(len(known), 'cell')}"), table))


def _parameters(known: Sequence[Row], varied: Cells, params: Mapping[str, str]) -> Html | None:
    """Those that were in effect in all cells of a label."""
    lines = []
    for label in varied.labels:
        in_effect = [json.loads(params.get(row["run"]) or "{}") for row in known if row["label"] == label]
        same = {name: value for name, value in in_effect[0].items() if all(e.get(name) == value for e in in_effect)}
        if same:
            lines.append(joined(tag("dt", label), tag("dd", listed_values(same))))
    if not lines:
        return None
    summary = tag("summary", "the other parameters" if varied.swept() else "the parameters")
    return tag("details", summary, tag("dl", lines, class_="facts"))
