"""The league: every protocol in the same worlds, and which is best at what.

Delivery costs something: frames, time, energy. A protocol is on a Pareto front if no other delivers at least as much at
no more cost, and better in one of the two. Fronts are of means; how sure those are, the intervals say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from roamcast.errors import NoData
from roamcast.judging import settings
from roamcast.judging.runs import samples
from roamcast.log import catalogue
from roamcast.log.metric import SHARE, Cost, Metric
from roamcast.papers.experiments import LEAGUE
from roamcast.show.panels import mean_and_half

Row = dict[str, Any]

COLUMNS = tuple(
    sorted((m for m in catalogue.BY_SECTION if m.column and not m.beside), key=lambda m: (m.unit != SHARE, not m.cost))
)
"""The metrics that standings show: shares, then costs, then the rest."""
ALSO = tuple(m for m in catalogue.BY_SECTION if m.column and m.beside)
"""Those that are shown where they are known."""


def columns(rows: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """The metrics to show of these runs."""
    return [*COLUMNS, *(m for m in ALSO if any(row.get(m.beside) is not None for row in rows))]


class Mean(msgspec.Struct, frozen=True):
    mean: float
    half: float | None


class Entrant(msgspec.Struct, frozen=True):
    """A cell of a campaign; `settings` distinguishes it from others of its name, `params` are all its parameters."""

    name: str
    settings: str
    runs: int
    means: dict[str, Mean]
    params: str = ""

    @property
    def called(self) -> str:
        return f"{self.name} {self.settings}".rstrip()

    def of(self, metric: str) -> Mean | None:
        return self.means.get(metric)


class Front(msgspec.Struct, frozen=True):
    """All entrants, and the places of those that no other beats, cheapest first."""

    entrants: list[Entrant]
    cost: str
    short: str
    label: str
    factor: float
    log: bool
    best: list[int]

    def corners(self) -> list[tuple[float, float]]:
        """(cost as people read it, delivery) along the front."""
        corners = []
        for k in self.best:
            cost, delivery = self.entrants[k].means[self.cost], self.entrants[k].means["delivery"]
            corners.append((cost.mean * self.factor, delivery.mean))
        return corners


def is_league(campaign: str) -> bool:
    return campaign.startswith(f"{LEAGUE}/")


def entrants(rows: Sequence[Row], params: Mapping[str, str] | None = None) -> list[Entrant]:
    """The cells of a campaign, in its order. `params` are the parameters in effect, as JSON, by run."""
    cells: dict[int, list[Row]] = {}
    for row in rows:
        cells.setdefault(row["cell"], []).append(row)
    listed = [_entrant(cells[k], params or {}) for k in sorted(cells)]
    names = [entrant.name for entrant in listed]
    return [e if names.count(e.name) > 1 else msgspec.structs.replace(e, settings="") for e in listed]


def fronts(listed: list[Entrant]) -> list[Front]:
    """One for each cost."""
    return [
        _front(listed, metric, metric.cost)
        for metric in catalogue.BY_SECTION
        if metric.cost is not None and any(entrant.of(metric.name) for entrant in listed)
    ]


def _front(listed: list[Entrant], metric: Metric, cost: Cost) -> Front:
    unit, factor = metric.shown_unit
    best = _best(listed, metric.name)
    return Front(listed, metric.name, cost.short, f"{cost.axis} [{unit}]", factor, cost.log, best)


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which of (cost, benefit) no other beats, by cost. Equal points do not beat each other, so both stay."""
    order = sorted(range(len(points)), key=lambda k: (points[k][0], -points[k][1], k))
    best: list[int] = []
    for k in order:
        if not best or points[k][1] > points[best[-1]][1] or points[k] == points[best[-1]]:
            best.append(k)
    return best


def _best(listed: list[Entrant], cost: str) -> list[int]:
    able = [k for k, e in enumerate(listed) if e.of(cost) and e.of("delivery") and e.means["delivery"].mean > 0]
    chosen = pareto([(listed[k].means[cost].mean, listed[k].means["delivery"].mean) for k in able])
    return [able[k] for k in chosen]


def _entrant(rows: list[Row], params: Mapping[str, str]) -> Entrant:
    first = rows[0]
    means: dict[str, Mean] = {}
    for metric in columns(rows):
        try:
            means[metric.name] = Mean(*mean_and_half([*samples(rows, metric.name).values()]))
        except NoData:
            continue  # what delivers nothing has no latency
    in_effect: dict[str, Any] = json.loads(params.get(first["run"]) or "{}")
    return Entrant(
        first["label"],
        listed_values({**settings.world(first), **settings.params(first)}),
        len(rows),
        means,
        listed_values(in_effect),
    )


def listed_values(values: Mapping[str, Any]) -> str:
    """Parameters as a page lists them."""
    return ", ".join(f"{name} = {_plain(value)}" for name, value in values.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
