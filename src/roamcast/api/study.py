"""The runs of a study, and what people ask of them: means with intervals, paired differences, figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from roamcast.errors import unknown
from roamcast.extras import need
from roamcast.judging import settings
from roamcast.judging.paired import corrected
from roamcast.lab import summarise
from roamcast.lab.campaign import Campaign
from roamcast.log import catalogue
from roamcast.log.catalogue import AVERAGED
from roamcast.papers.experiments import Plot
from roamcast.show import cells, numbers
from roamcast.show.panels import Panel, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

Row = dict[str, Any]
Texts = tuple[list[str], list[list[str]]]
"""Headings and lines of a table."""
SHOWN = ("delivery", "overhead", "latency_p50_s")
"""The metrics that people see unless they ask for others."""
ESTIMATE = ("metric", "n", "mean", "half_width", "low", "high")
DIFFERENCE = (
    *("metric", "n", "difference", "half_width", "low", "high", "effect", "effect_low", "effect_high"),
    *("pvalue", "pvalue_rank", "pvalue_holm"),
)


class Study:
    """`campaign` is what was run: its cells and its seeds. `rows` has one dictionary for each run, in the columns of a
    campaign's metrics table (docs/reference/tables.md)."""

    def __init__(self, campaign: Campaign, rows: list[Row]) -> None:
        self.campaign = campaign
        self.rows = rows
        self._cells = cells.compare(cells.distinct(rows))

    @cached_property
    def summary(self) -> list[Row]:
        """One dictionary a cell and metric, in the columns of a campaign's table `summary`."""
        return summarise.summary(self.rows)

    # ---- as tables

    def pandas(self) -> DataFrame:
        """One row a run: protocol, what varies, the seed, and every metric."""
        return _frame({**self._about(row), "seed": row["seed"], **_only(row, AVERAGED)} for row in self.rows)

    def means(self, *metrics: str) -> DataFrame:
        """One row a cell and metric: the mean over the seeds, and its 95 % interval from `low` to `high`."""
        wanted = [catalogue.averaged(metric).name for metric in metrics] or SHOWN
        return _frame({**self._about(row), **_only(row, ESTIMATE)} for row in self.summary if row["metric"] in wanted)

    def differences(self, metric: str = "delivery", than: str = "") -> DataFrame:
        """Every cell minus another one, seed by seed: what the worlds of one seed have in common cancels out.

        The other one is the first cell in the same world, or the first with the label `than`.
        """
        return _frame(self.compared(metric, than))

    def compared(self, metric: str = "delivery", than: str = "") -> list[Row]:
        """The rows of `differences`."""
        catalogue.averaged(metric)
        if than and than not in self._cells.labels:
            raise unknown("label", than, self._cells.labels)
        compared: list[Row] = []
        for group in self._worlds():
            baseline = next((cell for cell in group if than in ("", cell["label"])), None)
            for cell in (cell for cell in group if baseline is not None and cell is not baseline):
                assert baseline is not None
                pairs = {"cell": self._name(cell), "than": self._name(baseline)}
                differences = summarise.differences(self.rows, cell["cell"], baseline["cell"], [metric])
                compared += [{**pairs, **_only(row, DIFFERENCE)} for row in differences]
        return corrected(compared)

    def _worlds(self) -> list[list[Row]]:
        """One row of each cell; those of one world together."""
        groups: dict[tuple[tuple[str, Any], ...], list[Row]] = {}
        for row in cells.distinct(self.rows):
            groups.setdefault(tuple(sorted(settings.world(row).items())), []).append(dict(row))
        return list(groups.values())

    # ---- for people

    def plot(self, x: str = "", y: str = "delivery") -> Axes:
        """A metric against a setting, with 95 % intervals; a line for each combination of what else varies.

        Without x: against the setting that varies, or else a point for each protocol.
        """
        from roamcast.api import drawing

        return drawing.plot(self.panel(x, y))

    def panel(self, x: str = "", y: str = "delivery") -> Panel:
        """What `plot` draws."""
        varies = self._cells.swept()
        x = x or (varies[0] if varies else "label")
        if x != "label" and x not in varies:
            raise unknown("setting that varies", x, ["label", *varies])
        metric = catalogue.averaged(y)
        axis = "" if x == "label" else cells.heading(x)
        plot = Plot(x=x, y=y, x_label=axis, y_label=metric.column or y, series="campaign")
        return panel(plot, [{**row, "campaign": self._line(row, x)} for row in self.rows])  # one campaign a line

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and lines: the name of each cell, and its most important metrics with their intervals."""
        by_cell = {(row["cell"], row["metric"]): row for row in self.summary}
        listed = cells.distinct(self.rows)
        headings = [""]
        columns = [[self._name(cell) for cell in listed]]
        for name in SHOWN:
            metric = catalogue.metric(name)
            estimates = [by_cell.get((cell["cell"], name)) for cell in listed]
            intervals = [None if row is None else (row["mean"], row.get("half_width")) for row in estimates]
            headings.append(metric.column or name)
            columns.append(numbers.column(intervals, metric.shown_unit[1]))
        return headings, [list(line) for line in zip(*columns, strict=True)]

    @property
    def title(self) -> str:
        """What all cells have in common."""
        seeds = numbers.several(len(self.campaign.seeds), "seed")
        start = cells.start(self.campaign.preset, self.campaign.reading) if self.campaign.preset else "a scenario"
        parts = [start, cells.listed(self._cells.common), seeds]
        return ", ".join(part for part in parts if part)

    def __repr__(self) -> str:
        texts = [self.title, *_aligned(self.table())]
        differences = self.compared()
        if differences:
            texts += [f"{SHOWN[0]}, difference seed by seed:", *_aligned(paired(differences))]
        return "\n".join(texts)

    def _repr_html_(self) -> str:
        from roamcast.api import drawing

        return drawing.study_html(self)

    # ---- names

    def _name(self, row: Mapping[str, Any]) -> str:
        return self._cells.full_name(row)

    def _about(self, row: Mapping[str, Any]) -> Row:
        """The label and what varies, as values rather than texts."""
        have = cells.values(row)
        return {"label": row["label"], **{name: have.get(name) for name in self._cells.swept()}}

    def _line(self, row: Mapping[str, Any], x: str) -> str:
        """The name of the line that a run belongs to: everything that varies except x."""
        have = cells.settings(row)
        others = [f"{name}={cells.plain(have[name])}" for name in self._cells.swept() if name != x and name in have]
        label = [row["label"]] if x != "label" and len(self._cells.labels) > 1 else []
        return ", ".join([*label, *others]) or row["label"]


def paired(differences: list[Row]) -> Texts:
    """The rows of `compared` for people: an interval of a mean does not show what the same seeds have in common."""
    spreads = numbers.column([(row["difference"], row["half_width"]) for row in differences])
    names = [f"{row['cell']} − {row['than']}" for row in differences]
    effects = numbers.column([_effect(row) for row in differences])
    p_values = [numbers.p_value(row["pvalue_holm"]) for row in differences]
    heads = ["", "mean", "effect", "p"]
    return heads, [list(line) for line in zip(names, spreads, effects, p_values, strict=True)]


def _effect(row: Row) -> tuple[float, float | None] | None:
    return None if row["effect"] is None else (row["effect"], None)


def _aligned(texts: Texts) -> list[str]:
    headings, lines = texts
    widths = [max(len(line[k]) for line in [headings, *lines]) for k in range(len(headings))]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in [headings, *lines]]


def _only(row: Mapping[str, Any], names: Iterable[str]) -> Row:
    return {name: row.get(name) for name in names}


def _frame(rows: Iterable[Row]) -> DataFrame:
    need("a DataFrame", "pandas")
    from pandas import DataFrame

    return DataFrame(list(rows))
