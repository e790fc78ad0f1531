"""The part of the report about a campaign that belongs to no paper: what each setting does, costs, all cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from roamcast.show import cells, page
from roamcast.show.album import Album
from roamcast.show.cells import Cells, Row
from roamcast.show.league import COLUMNS, Entrant, Front, entrants, fronts
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, several, spread
from roamcast.show.sweeps import Sweep, all_series, sweeps

MOST_WORLDS = 3
"""Whose Pareto fronts are drawn; with more, those of the one in the middle."""
MOST_OPEN = 60
"""Cells in a table that is not folded."""


class World(msgspec.Struct, frozen=True):
    """Cells that can be compared, and their Pareto fronts. `name` is empty if all cells have the same world."""

    name: str
    fronts: list[Front]


def section(name: str, rows: Sequence[Row], params: Mapping[str, str], album: Album) -> Html:
    known = cells.distinct(rows)
    varied = cells.compare(known)
    listed = _entrants(rows, known, varied, params)
    worlds = _worlds(listed, known, varied)
    return tag(
        "section",
        tag("h2", name, id=page.section_id(name)),
        tag("p", _about(known, varied, listed), class_="soft"),
        _sweeps(name, sweeps(rows, varied), album),
        _fronts(name, worlds, album),
        _table(known, varied, listed, worlds),
        _parameters(listed, varied),
        class_="part",
        aria_labelledby=page.section_id(name),
    )


def _about(known: Sequence[Row], varied: Cells, listed: Sequence[Entrant]) -> str:
    first = known[0]
    reading = f", read as {first['reading']}" if first.get("reading") else ""
    same = len({entrant.runs for entrant in listed}) == 1
    each = f", {several(listed[0].runs, 'run')} each" if same else ""
    sentences = [f"Preset {first['preset']}{reading}; {several(len(known), 'cell')}{each}."]
    if varied.common:
        sentences.append(f"All cells: {cells.listed(varied.common)}.")
    sentences += [f"{label}: {cells.listed(settings)}." for label, settings in varied.fixed.items() if settings]
    return " ".join(sentences)


def _entrants(rows: Sequence[Row], known: Sequence[Row], varied: Cells, params: Mapping[str, str]) -> list[Entrant]:
    """The cells, with what distinguishes those of one label."""
    settings = [varied.full_name(row).removeprefix(row["label"]).strip() for row in known]
    listed = entrants([dict(row) for row in rows], params)
    return [msgspec.structs.replace(e, settings=text) for e, text in zip(listed, settings, strict=True)]


# ---- what each setting does


def _sweeps(name: str, drawn: Sequence[Sweep], album: Album) -> Html | None:
    if not drawn:
        return None
    return joined(tag("h3", "What each setting does"), [_sweep(name, sweep, album) for sweep in drawn])


def _sweep(name: str, sweep: Sweep, album: Album) -> Html:
    own = f"{name}-{sweep.setting}"
    caption = tag(
        "figcaption",
        tag("strong", f"{cells.heading(sweep.setting)}. "),
        tag("span", _caption(sweep), class_="soft"),
    )
    drawings: list[list[Child]] = []
    for number, panels in enumerate(sweep.panels, 1):
        drawings.append([album.panel(f"{own}-{number}-{k}", panel) for k, panel in enumerate(panels, 1)])
    if all(len(panels) == 1 for panels in drawings):
        drawings = [[drawing for panels in drawings for drawing in panels]]
    return tag(
        "figure",
        caption,
        [tag("div", panels, class_="panels three") for panels in drawings],
        tag(
            "details",
            tag("summary", "the numbers"),
            [page.numbers_of(panel) for panels in sweep.panels for panel in panels],
        ),
        id=page.figure_id(own),
    )


def _caption(sweep: Sweep) -> str:
    counts = [p.runs for series in all_series(sweep) for p in series.points]
    low, high = min(counts), max(counts)
    runs = several(high, "run") if low == high else f"{low} to {high} runs"
    sentences = [f"Means over {runs} with 95 % intervals (Student)."]
    if sweep.tied:
        sentences.append(f"{', '.join(sweep.tied)} {'changes' if len(sweep.tied) == 1 else 'change'} with it.")
    for label, text in sweep.held.items():
        sentences.append(f"{label}: only {text}; the other cells are in the table.")
    return " ".join(sentences)


# ---- costs


def _worlds(listed: Sequence[Entrant], known: Sequence[Row], varied: Cells) -> list[World]:
    """Only cells in the same world compete."""
    fields = [name for name in varied.columns if any(name in row["world"] for row in known)]
    members: dict[str, list[Entrant]] = {}
    for entrant, row in zip(listed, known, strict=True):
        world = cells.listed({name: row["world"][name] for name in fields if name in row["world"]})
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
        number = worlds.index(world) + 1
        drawings = [album.front(f"{name}-{number}-{front.short}", front) for front in world.fronts]
        title = f"Delivery against cost{', ' if world.name else ''}{world.name}. "
        caption = tag("figcaption", tag("strong", title), tag("span", page.FRONT + only, class_="soft"))
        figures.append(tag("figure", caption, tag("div", drawings, class_="panels three")))
    return joined(tag("h3", "What delivery costs"), figures)


# ---- all cells


def _table(known: Sequence[Row], varied: Cells, listed: Sequence[Entrant], worlds: Sequence[World]) -> Html:
    best = {(front.cost, id(front.entrants[k])) for world in worlds for front in world.fronts for k in front.best}
    shown = [metric for metric in COLUMNS if any(entrant.of(metric.name) for entrant in listed)]
    lines = []
    for row, entrant in zip(known, listed, strict=True):
        values = cells.settings(row)
        named = [cells.shown(name, values[name]) if name in values else NOTHING for name in varied.columns]
        means = []
        for metric in shown:
            mean = entrant.of(metric.name)
            text = spread(mean.mean, mean.half, metric.shown_unit[1]) if mean else NOTHING
            means.append(tag("td", text, class_="num best" if (metric.name, id(entrant)) in best else "num"))
        settings = [tag("td", text, class_="num") for text in [*named, str(entrant.runs)]]
        lines.append(tag("tr", tag("th", varied.name(row) or row["label"], scope="row"), settings, means))
    heads = [*map(cells.heading, varied.columns), "runs", *(metric.column for metric in shown)]
    head = [tag("th", "protocol", scope="col"), [tag("th", text, scope="col", class_="num") for text in heads]]
    table = tag("table", tag("thead", tag("tr", head)), tag("tbody", lines))
    scrolled = tag("div", table, class_="scroll names", tabindex=0, role="region", aria_label="all cells")
    title = tag("h3", "All cells")
    about = tag(
        "p", "A star marks a cell on the Pareto front of its world: no other cell there delivers as much for less."
    )
    explained = about if worlds else None
    if len(known) <= MOST_OPEN:
        return joined(title, explained, scrolled)
    return joined(title, explained, tag("details", tag("summary", f"all {several(len(known), 'cell')}"), scrolled))


def _parameters(listed: Sequence[Entrant], varied: Cells) -> Html | None:
    """Those that were in effect in all cells of a label."""
    lines = []
    for label in varied.labels:
        texts = [entrant.params.split(", ") for entrant in listed if entrant.name == label and entrant.params]
        if texts:
            same = [text for text in texts[0] if all(text in each for each in texts)]
            lines.append(joined(tag("dt", label), tag("dd", ", ".join(same))))
    if not lines:
        return None
    summary = tag("summary", "the other parameters" if varied.swept() else "the parameters")
    return tag("details", summary, tag("dl", lines, class_="facts"))
