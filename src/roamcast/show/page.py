"""The parts of the report, as HTML: papers, league, campaigns, provenance (the scorecard has a file of its own)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roamcast.judging.verdicts import Verdict
from roamcast.papers import presets, readings
from roamcast.papers.experiments import Experiment, cited
from roamcast.protocols import registry
from roamcast.show import scorecard
from roamcast.show.league import COLUMNS, Entrant, Front
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, number, several, spread
from roamcast.show.panels import Panel


class Shown(msgspec.Struct, frozen=True):
    """A figure: `drawings` are its panels as SVG, None where there were no runs; `data` what they show."""

    id: str
    number: str
    title: str
    about: str
    drawings: list[Html | None]
    data: list[Panel]
    missing: list[str] = []


class Contest(msgspec.Struct, frozen=True):
    """A world of the league: its entrants, the Pareto fronts, and these as SVG."""

    id: str
    name: str
    title: str
    about: str
    entrants: list[Entrant]
    fronts: list[Front]
    drawings: list[Html]
    cut: str = ""


# ---- figures


def figure_id(name: str) -> str:
    return f"fig-{slug(name)}"


def section_id(name: str) -> str:
    """Of the part of the page about a campaign."""
    return f"at-{slug(name)}"


def slug(name: str) -> str:
    """For ids and names of files."""
    return "".join(c if c.isalnum() else "-" for c in name)


def figure(shown: Shown) -> Html:
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("strong", f"{shown.number}. "),
            shown.title,
            tag("span", shown.about, class_="soft"),
        ),
        tag("div", [drawing for drawing in shown.drawings if drawing], class_="panels"),
        [tag("p", line, class_="noruns") for line in shown.missing],
        tag("details", tag("summary", "the numbers"), [numbers_of(panel) for panel in shown.data])
        if shown.data
        else None,
        id=shown.id,
    )


def described(panel: Panel) -> str:
    """A panel in a sentence, for people who cannot see it."""
    parts = []
    for series in panel.series:
        first, last = series.points[0], series.points[-1]
        if series.level or first is last:
            parts.append(f"{series.name} {number(first.mean)}")
        else:
            parts.append(
                f"{series.name} from {number(first.mean)} at {_x(first.x)} to {number(last.mean)} at {_x(last.x)}"
            )
    published = f"; {several(len(panel.marks), 'value')} stated in the paper" if panel.marks else ""
    title = f"{panel.title}: " if panel.title else ""
    key = f" by {panel.key}" if panel.key else ""
    return f"{title}{panel.y_label} against {panel.x_label}{key}: {'; '.join(parts)}{published}."


def numbers_of(panel: Panel) -> Html:
    """All that a panel shows, as a table."""
    rows = []
    for series in panel.series:
        every = max(1, len(series.points) // 12) if panel.smooth else 1
        for p in series.points[::every]:
            runs = str(p.runs) if p.runs else NOTHING
            rows.append((series.name, _x(p.x), spread(p.mean, p.half), runs))
    for mark in panel.marks:
        rows.append((f"stated in the paper{': ' + mark.label if mark.label else ''}", _x(mark.x), number(mark.y), ""))
    head = (panel.key or "series", panel.x_label, panel.y_label, "pairs" if panel.smooth else "runs")
    return _table(head, rows, panel.title)


def _x(x: float | str | None) -> str:
    return "any" if x is None else f"{x:g}" if isinstance(x, float) else x


def _table(head: Sequence[str], rows: Sequence[Sequence[Child]], caption: str = "") -> Html:
    """The first column names the row, the others are numbers."""
    lines = [
        tag("tr", tag("th", row[0], scope="row"), [tag("td", cell, class_="num") for cell in row[1:]]) for row in rows
    ]
    heads = [tag("th", name, scope="col", class_="num" if k else None) for k, name in enumerate(head)]
    table = tag(
        "table", tag("caption", caption) if caption else None, tag("thead", tag("tr", heads)), tag("tbody", lines)
    )
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption or "numbers")


# ---- papers


def paper(name: str, verdicts: Sequence[Verdict], figures: Sequence[Shown], finding: Html | None) -> Html:
    own = readings.SYSTEMS.get(name, ())
    return tag(
        "section",
        tag("p", cited(name), class_="kicker"),
        tag("h2", _title(name), id=f"paper-{name}"),
        tag("p", _authors(name), class_="soft"),
        scorecard.outcome(verdicts),
        scorecard.world(name, verdicts),
        tag("h3", "Figures") if figures else None,
        [figure(shown) for shown in figures],
        tag("h3", "Findings") if finding else None,
        tag("div", finding, class_="findings") if finding else None,
        tag("h3", "Readings"),
        tag("p", "What the paper leaves open, and how it is read here. Each reading has a test."),
        _readings(own),
        aria_labelledby=f"paper-{name}",
        class_="part",
    )


def _readings(protocols: Sequence[str]) -> list[Html]:
    by_module: dict[str, list[str]] = {}
    for name in protocols:
        by_module.setdefault(registry.get(name).__module__, []).append(name)
    sections = []
    for names in by_module.values():
        protocol = registry.get(names[0])
        items = [joined(tag("dt", name), tag("dd", text)) for name, text in readings.numbered(protocol)]
        title = joined([joined(" · " if k else None, tag("code", name)) for k, name in enumerate(names)])
        summary = tag("summary", title, f" {several(len(items), 'reading')}")
        about = tag("p", readings.headline(protocol))
        sections.append(tag("details", summary, about, tag("dl", items, class_="readings"), class_="printed"))
    return sections


def _cited_in_full(paper: str) -> str:
    return next((presets.load(name).paper for name in presets.names() if name.startswith(paper)), cited(paper))


def _title(paper: str) -> str:
    return _cited_in_full(paper).partition(": ")[2].partition(", ")[0] or cited(paper)


def _authors(paper: str) -> str:
    authors, _, rest = _cited_in_full(paper).partition(": ")
    return f"{authors}. {rest.partition(', ')[2]}"


# ---- league and campaigns


def league(contests: Sequence[Contest]) -> Html:
    return tag(
        "section",
        tag("h2", "The league", id="league"),
        tag(
            "p",
            "The papers never compared themselves with each other. Here every protocol runs in every paper's world and "
            "in a common one, with the parameters that its own paper recommends, and is measured in the same way. A "
            "star marks the protocols on the Pareto front of delivery against that cost: no other delivers as much for "
            "less. Pareto fronts are of means; where intervals overlap, the order may be chance.",
        ),
        _overview(contests),
        [contest(c) for c in contests],
        aria_labelledby="league",
        class_="part",
    )


def contest(c: Contest) -> Html:
    drawings = tag("div", c.drawings, class_="panels three")
    caption = tag("figcaption", tag("strong", "Delivery against cost. "), tag("span", FRONT, class_="soft"))
    return joined(
        tag("h3", c.title, id=c.id),
        tag("p", c.about, class_="soft"),
        tag("p", tag("strong", "Cut: "), c.cut) if c.cut else None,
        tag("figure", caption, drawings) if c.drawings else None,
        _standings(c),
        _parameters(c),
    )


FRONT = "Filled marks are on the front, which the dotted line follows; bars are 95 % intervals."


def _overview(contests: Sequence[Contest]) -> Html:
    """Which protocol is on which Pareto front in which world."""
    names = list(dict.fromkeys(e.name for c in contests for e in c.entrants))
    rows: list[list[Child]] = []
    for name in names:
        cells: list[Child] = [name]
        total = 0
        for c in contests:
            on = [f.short for f in c.fronts if any(f.entrants[k].name == name for k in f.best)]
            total += len(on)
            cells.append(", ".join(on) or NOTHING)
        rows.append([*cells, str(total)])
    places = [tag("a", c.name, href=f"#{c.id}") for c in contests]
    head = tag(
        "tr",
        tag("th", "protocol", scope="col"),
        [tag("th", p, scope="col") for p in places],
        tag("th", "fronts", scope="col", class_="num"),
    )
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [tag("td", cell) for cell in row[1:-1]],
            tag("td", row[-1], class_="num"),
        )
        for row in rows
    ]
    caption = tag("caption", "The Pareto fronts that each protocol is on, world by world.")
    table = tag("table", caption, tag("thead", head), tag("tbody", body))
    return tag("div", table, class_="scroll names", tabindex=0, role="region", aria_label="fronts by protocol")


def _standings(c: Contest) -> Html:
    best = {front.cost: {id(front.entrants[k]) for k in front.best} for front in c.fronts}
    rows = []
    for e in c.entrants:
        cells = []
        for metric in COLUMNS:
            mean = e.of(metric.name)
            text = spread(mean.mean, mean.half, metric.shown_unit[1]) if mean else NOTHING
            on_front = id(e) in best.get(metric.name, set())
            cells.append(tag("td", text, class_="num best" if on_front else "num"))
        rows.append(tag("tr", tag("th", _called(e), scope="row"), tag("td", str(e.runs), class_="num"), cells))
    head = [tag("th", metric.column, scope="col", class_="num") for metric in COLUMNS]
    head = [tag("th", "protocol", scope="col"), tag("th", "runs", scope="col", class_="num"), *head]
    table = tag("table", tag("thead", tag("tr", head)), tag("tbody", rows))
    return tag("div", table, class_="scroll names", tabindex=0, role="region", aria_label=f"standings: {c.name}")


def _called(e: Entrant) -> Html:
    return joined(e.name, tag("span", e.settings, class_="where soft") if e.settings else None)


def _parameters(c: Contest) -> Html | None:
    """Those that were in effect, as the runs have them."""
    known = [e for e in c.entrants if e.params]
    if not known:
        return None
    lines = [joined(tag("dt", _called(e)), tag("dd", e.params)) for e in known]
    return tag("details", tag("summary", "the parameters"), tag("dl", lines, class_="facts"))


# ---- where it comes from


def provenance(
    facts: Sequence[tuple[str, str]], campaigns: Sequence[Sequence[str]], failed: Sequence[Sequence[str]]
) -> Html:
    head = ("campaign", "preset", "cells", "runs", "seeds", "simulated", "processor time")
    return tag(
        "section",
        tag("h2", "Provenance", id="provenance"),
        tag("dl", [joined(tag("dt", name), tag("dd", value)) for name, value in facts], class_="facts"),
        _failures(failed) if failed else None,
        tag("h3", "Campaigns"),
        _table(head, campaigns, "Every run is decided by its scenario, its parameters, its seed and the code."),
        aria_labelledby="provenance",
        class_="part",
    )


def _failures(failed: Sequence[Sequence[str]]) -> Html:
    items = [tag("li", error, tag("br"), tag("code", command)) for error, command in failed]
    return joined(tag("h3", f"{several(len(failed), 'run')} failed"), tag("ul", items))


# ---- the page


def about(experiment: Experiment, merged: int, seeds: tuple[int, int]) -> str:
    """What stands below a figure's title."""
    low, high = seeds
    runs = several(high, "run") if low == high else f"{low} to {high} runs"
    sentences = [f"Parameters: {experiment.source}.", f"Means over {runs} with 95 % intervals (Student)."]
    if merged > 1:
        sentences.append(f"A point is the mean of up to {several(merged, 'setting')}.")
    if experiment.note:
        sentences.append(experiment.note)
    return " ".join(sentences)


def contents(entries: Sequence[tuple[str, str]]) -> Html:
    items = [tag("li", tag("a", text, href=f"#{place}")) for place, text in entries]
    return tag("nav", tag("ol", items), class_="contents", aria_label="contents")
