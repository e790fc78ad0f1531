"""Figures of runs and studies: for notebooks and scripts, drawn like those of the report."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from roamcast.api.study import Texts, paired
from roamcast.show import figures
from roamcast.show import run as shown
from roamcast.show.markup import Html, tag, trusted
from roamcast.show.panels import Panel, Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from roamcast.api.simulation import Simulation
    from roamcast.api.study import Study

POINTS = 200
"""Of a curve that has one step for each delivery."""


def plot(panel: Panel) -> Axes:
    """Drawn on a figure of its own, which a notebook shows; `.figure.savefig(…)` for a file."""
    return figures.plotted(panel)


def latencies(simulation: Simulation) -> Panel:
    """Which share of all (event, interested node) pairs was served within which time."""
    waited = sorted(simulation.result.latencies_us)
    pairs = simulation.metrics["interested"]
    every = max(1, len(waited) // POINTS)
    served = [Point(us / 1e6, (k + 1) / pairs, None, 1) for k, us in enumerate(waited) if k % every == 0]
    if waited:
        served.append(Point(waited[-1] / 1e6, len(waited) / pairs, None, 1))
    start = Point(0.0, 0.0, None, 1)
    return Panel(
        title="",
        x_label="seconds since publication",
        y_label="share of pairs served",
        series=[Series(simulation.protocol, [start, *served])],
        smooth=True,
    )


def simulation_html(simulation: Simulation) -> str:
    """A table and a small figure; without matplotlib the table alone."""
    listed = shown.lines(simulation.metrics)
    rows = [tag("tr", tag("th", title), tag("td", value), tag("td", note)) for title, value, note in listed]
    table = tag("table", tag("caption", simulation.title), rows)
    sparse = shown.sparse(simulation.metrics)
    note = tag("p", sparse) if sparse else None
    command = tag("code", simulation.command) if simulation.command else None
    return str(tag("div", table, note, _picture(latencies(simulation)), command))


def _picture(panel: Panel) -> Html | None:
    if find_spec("matplotlib") is None:
        return None
    drawn = figures.inline(figures.draw(panel).svg, "roamcast", panel.y_label)
    return tag("div", trusted(drawn), style="max-width: 30em")


def study_html(study: Study) -> str:
    """Means, paired differences and a figure."""
    differences = study.compared()
    pairs = _table("delivery, difference seed by seed", paired(differences)) if differences else None
    return str(tag("div", _table(study.title, study.table()), pairs, _picture(study.panel())))


def _table(caption: str, texts: Texts) -> Html:
    headings, lines = texts
    return tag(
        "table",
        tag("caption", caption),
        tag("tr", [tag("th", heading) for heading in headings]),
        [tag("tr", tag("th", line[0]), [tag("td", text) for text in line[1:]]) for line in lines],
    )
