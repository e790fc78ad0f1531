"""The league on the page: its worlds, the Pareto fronts in each, and standings that fit a phone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roamcast.log.metric import SHARE, Metric
from roamcast.show import legend, page, parts
from roamcast.show.league import COLUMNS, Entrant, Front
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, several, spread

FRONT = "Filled marks are on the front, which the dotted line follows; bars are 95 % intervals."


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


def heading(metric: Metric) -> str:
    """Of a column, with its unit."""
    return f"{metric.column} [{SHARE}]" if metric.unit == SHARE else metric.column


def value(entrant: Entrant, metric: Metric, best: bool) -> Html:
    """A cell: the mean with its interval, marked if it is on a Pareto front."""
    mean = entrant.of(metric.name)
    text = spread(mean.mean, mean.half, metric.shown_unit[1]) if mean else NOTHING
    return parts.cell(parts.interval(text), heading(metric), best)


def league(contests: Sequence[Contest], opened: bool = False) -> Html:
    worlds, protocols = len(contests), len({e.name for c in contests for e in c.entrants})
    return parts.part(
        "league",
        "The league",
        tag(
            "p",
            "The papers never compared themselves with each other. Here every protocol runs in every paper's world and "
            "in a common one, with the parameters that its own paper recommends, and is measured in the same way. A "
            "star marks the protocols on the Pareto front of delivery against that cost: no other delivers as much for "
            "less. Pareto fronts are of means; where intervals overlap, the order may be chance.",
        ),
        _overview(contests),
        [contest(c) for c in contests],
        brief=f"{several(protocols, 'protocol')} in {several(worlds, 'world')}: who delivers most for least?",
        opened=opened,
    )


def contest(c: Contest) -> Html:
    return joined(
        tag("h3", c.title, id=c.id),
        tag("p", c.about, class_="soft"),
        tag("p", tag("strong", "Cut: "), c.cut) if c.cut else None,
        front(f"fig-{c.id}", "", c.fronts, c.drawings) if c.drawings else None,
        _standings(c),
        _parameters(c),
    )


def front(place: str, where: str, fronts: Sequence[Front], drawings: Sequence[Html], more: str = "") -> Html:
    """The figure of a world's Pareto fronts, one for each cost."""
    title = f"Delivery against cost{', ' if where else ''}{where}."
    caption = tag("span", FRONT + more, class_="soft")
    return page.framed(place, title, caption, tag("div", drawings, class_="panels three"), legend.of_fronts(fronts))


def _overview(contests: Sequence[Contest]) -> Html:
    """Which protocol is on which Pareto front in which world."""
    names = list(dict.fromkeys(e.name for c in contests for e in c.entrants))
    lines = []
    for name in names:
        fronts = [[f.short for f in c.fronts if any(f.entrants[k].name == name for k in f.best)] for c in contests]
        cells = [parts.cell(", ".join(on) or NOTHING, c.name) for c, on in zip(contests, fronts, strict=True)]
        lines.append(parts.line(name, [*cells, parts.cell(str(sum(map(len, fronts))), "fronts")]))
    heads: list[Child] = ["protocol", *(tag("a", c.name, href=f"#{c.id}") for c in contests), "fronts"]
    caption = "The Pareto fronts that each protocol is on, world by world."
    return tag("div", parts.table(heads, lines, "fronts by protocol", caption), class_="words")


def _standings(c: Contest) -> Html:
    best = {front.cost: {id(front.entrants[k]) for k in front.best} for front in c.fronts}
    lines = []
    for e in c.entrants:
        cells = [value(e, metric, id(e) in best.get(metric.name, set())) for metric in COLUMNS]
        lines.append(parts.line(_called(e), [parts.cell(f"{e.runs:,}", "runs"), *cells]))
    return parts.table(["protocol", "runs", *map(heading, COLUMNS)], lines, f"standings: {c.name}")


def _called(e: Entrant) -> Html:
    return joined(e.name, tag("span", e.settings, class_="where soft") if e.settings else None)


def _parameters(c: Contest) -> Html | None:
    """Those that were in effect, as the runs have them."""
    known = [e for e in c.entrants if e.params]
    if not known:
        return None
    lines = [joined(tag("dt", _called(e)), tag("dd", e.params)) for e in known]
    return tag("details", tag("summary", "the parameters"), tag("dl", lines, class_="facts"))
