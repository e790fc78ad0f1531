"""The cells of a campaign on the terminal: before they run, and what they gave.

Settings that all cells share are printed once, above the table; a line names what distinguishes its cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from roamcast.cli.tables import Column, fits, table
from roamcast.log import catalogue
from roamcast.log.metric import SHARE
from roamcast.show import cells, numbers
from roamcast.show.cells import Cells, Row

METRICS = ("delivery", "overhead", "latency_p50_s")
"""What is printed of a cell, the most important first."""
MOST_CELLS = 40
"""A page."""


def show_summary(console: Console, rows: Sequence[Row], place: str) -> None:
    """The means of each cell, from rows of the table `summary`."""
    known = cells.distinct(rows)
    if not known:
        console.print("no run has finished, so there is nothing to show")
        return
    varied = cells.compare(known)
    by_cell = {(row["campaign"], row["cell"], row["metric"]): row for row in rows}
    runs = [
        max(by_cell[key]["n"] for metric in METRICS if (key := (row["campaign"], row["cell"], metric)) in by_cell)
        for row in known
    ]
    _show_shared(console, known[0], varied, _same_runs(runs))
    page = known[:MOST_CELLS]
    columns = [] if len(set(runs)) == 1 else [Column("runs", [str(n) for n in runs[:MOST_CELLS]])]
    columns += [_metric(name, page, by_cell) for name in METRICS]
    left_out = _show_cells(console, varied, page, columns)
    if left_out:
        console.print(f"no room for {left_out}; use a wider terminal, or --json", markup=False, soft_wrap=True)
    if len(known) > len(page):
        console.print(
            f"the first {len(page)} of {len(known):,} cells; all of them: roamcast report {place}, or\n"
            f"  roamcast query {place} \"select * from summary where metric = 'delivery'\" --limit {len(known)}",
            markup=False,
            soft_wrap=True,
        )


def show_planned(console: Console, rows: Sequence[Row], times: Sequence[str], seeds: int, file: str) -> None:
    """The cells of a campaign that is to be run, and about how long each takes."""
    varied = cells.compare(rows)
    _show_shared(console, rows[0], varied, _same_runs([seeds]))
    page = rows[:MOST_CELLS]
    time = [] if len(set(times)) == 1 else [Column("processor\ntime", list(times[:MOST_CELLS]))]
    if len(rows) > 1:
        _show_cells(console, varied, page, time)
    if len(rows) > len(page):
        more = f"the first {len(page)} of {len(rows):,} cells; all of them: roamcast campaign plan {file} --json"
        console.print(more, markup=False, soft_wrap=True)


def _same_runs(runs: Sequence[int]) -> str:
    return f"{numbers.several(runs[0], 'run')} each" if len(set(runs)) == 1 else ""


def _show_shared(console: Console, first: Row, varied: Cells, runs: str) -> None:
    """What all cells have in common, and what all cells of a protocol have."""
    label = varied.labels[0] if len(varied.labels) == 1 else ""
    parts = [cells.start(first["preset"], first.get("reading") or ""), label, cells.listed(varied.common), runs]
    console.print(f"all cells: {', '.join(part for part in parts if part)}", markup=False)
    fixed = [
        (label, settings) for label, settings in varied.fixed.items() if not label.endswith(cells.listed(settings))
    ]
    for label, settings in fixed[:MOST_CELLS]:
        console.print(f"{label}: {cells.listed(settings)}", markup=False)
    console.print()


def _metric(name: str, page: Sequence[Row], by_cell: dict[tuple[str, int, str], Row]) -> Column:
    metric = catalogue.metric(name)
    rows = [by_cell.get((cell["campaign"], cell["cell"], name)) for cell in page]
    intervals = [None if row is None else (row["mean"], row.get("half_width")) for row in rows]
    least = 3 if metric.unit == SHARE else 0
    return Column(metric.column, numbers.column(intervals, metric.shown_unit[1], least))


def _show_cells(console: Console, varied: Cells, page: Sequence[Row], numbered: list[Column]) -> str:
    """A line for each cell; returns the headings of what there is no room for."""
    wanted = list(numbered)
    named = _named(varied, page)
    if not fits([*named, *wanted], console.width):
        named = [Column("cell", [varied.full_name(row) for row in page], text=True)]
    while wanted and not fits([*named, *wanted], console.width):
        wanted.pop()
    console.print(table([*named, *wanted]))
    return ", ".join(column.heading for column in numbered[len(wanted) :])


def _named(varied: Cells, page: Sequence[Row]) -> list[Column]:
    """What distinguishes the cells: a column for each setting that all protocols have, and one for the rest."""
    names = [varied.name(row) for row in page]
    if not varied.columns and not any(names):
        names = [row["label"] for row in page]  # a single cell
    first = [Column("protocol", names, text=True)] if any(names) else []
    return first + [_setting(name, page) for name in varied.columns]


def _setting(name: str, page: Iterable[Row]) -> Column:
    values = [cells.settings(row).get(name) for row in page]
    word, unit = cells.split_unit(name)
    texts = [numbers.NOTHING if value is None else cells.shown(name, value) for value in values]
    numeric = all(value is None or cells.as_number(value) is not None for value in values)
    return Column(f"{word}\n[{unit}]" if unit else word, texts, text=not numeric)
