"""The parts of the report, as HTML: figures, papers, provenance (scorecard and league have files of their own)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roamcast.judging.verdicts import Verdict
from roamcast.papers import presets, readings
from roamcast.papers.experiments import Experiment, cited
from roamcast.protocols import registry
from roamcast.show import claims, legend, parts, scorecard
from roamcast.show.claims import Drawn, Entry
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, number, plain, several, spread
from roamcast.show.panels import Panel


class Shown(msgspec.Struct, frozen=True):
    """A figure: `drawings` are its panels as SVG, `data` what they show; `missing` says which panels have no runs."""

    name: str
    number: str
    title: str
    about: str
    drawings: list[Html]
    data: list[Panel]
    missing: list[str] = []

    @property
    def id(self) -> str:
        return figure_id(self.name)


# ---- figures


def figure_id(name: str) -> str:
    return f"fig-{slug(name)}"


def section_id(name: str) -> str:
    """Of the part of the page about a campaign."""
    return f"at-{slug(name)}"


def slug(name: str) -> str:
    """For ids and names of files."""
    return "".join(c if c.isalnum() else "-" for c in name)


def figure(shown: Shown, about: Sequence[Html] = ()) -> Html:
    """`about` are the claims about it."""
    return framed(
        shown.id,
        f"{shown.number}.",
        joined(shown.title, tag("span", shown.about, class_="soft")),
        tag("div", shown.drawings, class_="panels"),
        legend.of_panels(shown.data),
        [tag("p", line, class_="noruns") for line in shown.missing],
        unfolded([numbers_of(panel) for panel in shown.data]),
        tag("div", tag("h4", "What the paper says about it"), about, class_="claims") if about else None,
    )


def framed(place: str, title: str, caption: Child, *content: Child) -> Html:
    """A figure with an address, which its title is a link to."""
    name = tag("strong", tag("a", title, href=f"#{place}", class_="anchor"))
    return tag("figure", tag("figcaption", name, " ", caption), content, id=place)


def unfolded(tables: Sequence[Html]) -> Html | None:
    return tag("details", tag("summary", "the numbers"), tables) if tables else None


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
            runs = f"{p.runs:,}" if p.runs else NOTHING
            rows.append((series.name, _x(p.x), spread(p.mean, p.half), runs))
    for mark in panel.marks:
        rows.append((f"stated in the paper{': ' + mark.label if mark.label else ''}", _x(mark.x), number(mark.y), ""))
    head = (panel.key or "series", panel.x_label, panel.y_label, "pairs" if panel.smooth else "runs")
    return _table(head, rows, panel.title)


def _x(x: float | str | None) -> str:
    return "any" if x is None else plain(x) if isinstance(x, float) else x


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


def paper(
    number: str,
    judged: Sequence[Entry],
    figures: Sequence[Shown],
    finding: Html | None,
    replay: Html | None = None,
    opened: bool = False,
) -> Html:
    """`replay` is a run of the paper's system to look at."""
    verdicts = [entry.verdict for entry in judged]
    return parts.part(
        f"paper-{number}",
        _title(number),
        tag("p", _authors(number), class_="soft"),
        tag("div", _systems(number), replay, class_="system"),
        _all_claims(number, verdicts),
        _figures(judged, figures),
        scorecard.world(number, verdicts),
        tag("h3", "Findings") if finding else None,
        tag("div", finding, class_="findings") if finding else None,
        tag("h3", "Readings"),
        tag("p", "What the paper leaves open, and how it is read here. Each reading has a test."),
        _readings(readings.SYSTEMS.get(number, ())),
        kicker=cited(number),
        brief=scorecard.outcome(verdicts),
        opened=opened,
    )


def drawn(number: str, figures: Sequence[Shown]) -> list[Drawn]:
    """A paper's figures, for claims to find them."""
    return [Drawn(shown.name, shown.id, shown.number, number) for shown in figures]


def _all_claims(number: str, verdicts: Sequence[Verdict]) -> Html | None:
    if not verdicts:
        return None
    link = tag("a", "in the scorecard", href="#scorecard", data_paper=number)
    return tag("p", "Its claims stand with the figures that they are about, and together ", link, ".")


def _figures(judged: Sequence[Entry], figures: Sequence[Shown]) -> Html:
    """Each with the claims about it; then the claims that no figure shows."""
    about: dict[str, list[Html]] = {shown.id: [] for shown in figures}
    others: list[Html] = []
    for entry in judged:
        shown_in = claims.figures_of(entry.verdict, drawn(entry.verdict.paper, figures))
        text = claims.claim(entry, shown_in[1:])
        (about[shown_in[0].id] if shown_in else others).append(text)
    return joined(
        tag("h3", "Figures and claims") if figures else None,
        [figure(shown, about[shown.id]) for shown in figures],
        tag("h3", "Claims without a figure") if others else None,
        tag("div", others, class_="claims") if others else None,
    )


def _systems(number: str) -> Html:
    """What the paper proposes, in a sentence for each protocol."""
    protocols = readings.SYSTEMS.get(number, ())
    lines = [
        joined(tag("dt", tag("code", name)), tag("dd", readings.headline(registry.get(name)))) for name in protocols
    ]
    idea = readings.IDEAS.get(number)
    return tag("div", tag("h3", "The system"), tag("p", idea) if idea else None, tag("dl", lines, class_="systems"))


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


# ---- where it comes from


def provenance(
    facts: Sequence[tuple[str, str]],
    campaigns: Sequence[Sequence[str]],
    failed: Sequence[Sequence[str]],
    brief: str,
) -> Html:
    heads = ("campaign", "preset", "cells", "runs", "seeds", "simulated", "processor time")
    lines = [
        parts.line(row[0], [parts.cell(text, head) for head, text in zip(heads[1:], row[1:], strict=True)])
        for row in campaigns
    ]
    caption = "Every run is decided by its scenario, its parameters, its seed and the code."
    return parts.part(
        "provenance",
        "Provenance",
        tag("dl", [joined(tag("dt", name), tag("dd", value)) for name, value in facts], class_="facts"),
        _failures(failed) if failed else None,
        tag("h3", "Campaigns"),
        parts.table(heads, lines, "campaigns", caption),
        brief=brief,
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
