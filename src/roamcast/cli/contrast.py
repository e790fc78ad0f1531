"""`roamcast compare DIR DIR`: two campaigns on the terminal, before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from roamcast.cli.tables import Column, print_fitting
from roamcast.errors import InputError
from roamcast.extras import need
from roamcast.show import numbers

if TYPE_CHECKING:
    from roamcast.lab.contrast import Contrast, Row

MOST_LINES = 40


def are_campaigns(places: Sequence[str]) -> bool:
    return len(places) == 2 and all((Path(place) / "campaign.json").exists() for place in places)


def show(before: str, after: str, metric: str, others: Sequence[str], json: bool) -> None:
    """`others` are options that were typed and have no meaning here."""
    if others:
        raise InputError(f"{others[0]}: has no meaning for two campaigns, which have been run")
    need("comparing campaigns", "pyarrow")
    from roamcast import lab

    contrast = lab.open_campaign(before).against(lab.open_campaign(after), metric)
    if json:
        print(msgspec.json.encode(contrast).decode())
        return
    console = Console(highlight=False)
    _show_plan(console, contrast, before, after)
    _show_results(console, contrast, metric)


def _show_plan(console: Console, contrast: Contrast, before: str, after: str) -> None:
    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    say(f"before: {before}, after: {after}")
    for change in contrast.changes[:MOST_LINES]:
        cells = numbers.several(change.cells, "cell")
        say(f"plan: {change.what} was {change.before}, is {change.after} ({cells})")
    for place, names in ((before, contrast.only_before), (after, contrast.only_after)):
        if names:
            more = f" and {len(names) - MOST_LINES} more" if len(names) > MOST_LINES else ""
            say(f"only in {place}: {'; '.join(names[:MOST_LINES])}{more}")
    if not (contrast.changes or contrast.only_before or contrast.only_after):
        say("the plans are the same")


def _show_results(console: Console, contrast: Contrast, metric: str) -> None:
    rows = contrast.rows
    if not rows:
        console.print(f"no seed of both has a {metric}", markup=False)
        return
    console.print(f"\n{metric}, after − before, seed by seed:", markup=False)
    print_fitting(console, _columns(rows))
    runs, same = sum(row["n"] for row in rows), sum(row["same"] for row in rows)
    console.print(f"{same:,} of {runs:,} runs are the same, event by event", markup=False)


def _columns(rows: Sequence[Row]) -> list[Column]:
    return [
        Column("cell", [row["name"] for row in rows], text=True),
        Column("seeds", [f"{row['n']:,}" for row in rows]),
        Column("before", numbers.column([(row["before"], None) for row in rows])),
        Column("after", numbers.column([(row["after"], None) for row in rows])),
        Column("difference", numbers.column([(row["difference"], row.get("half_width")) for row in rows])),
        Column("effect", numbers.column([(row["effect"], None) if "effect" in row else None for row in rows])),
        Column("p", [numbers.p_value(row["pvalue_holm"]) for row in rows]),
    ]
