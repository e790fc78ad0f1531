"""`roamcast campaign`: thousands of runs on Spark, resumable; `plan` shows them first, `status` how far they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roamcast.cli.help import Verbs
from roamcast.cli.options import Conf, Master, import_from_here, start_spark
from roamcast.cli.screen import Screen, duration

if TYPE_CHECKING:
    from roamcast.lab.campaign import Campaign
    from roamcast.lab.plan import Run
    from roamcast.lab.tables.laboratory import Laboratory

app = typer.Typer(
    cls=Verbs,
    help="Run a campaign of simulations on Spark. Stopped at any moment, it goes on where it was.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
MOST_FAILURES = 10
FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The campaign, a TOML file.")]


@app.command()
def run(
    file: FILE,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go.", show_default="out/ and the file's name")
    ] = None,
    master: Master = "local[*]",
    conf: Conf = None,
    ui: Annotated[bool, typer.Option("--ui", help="Serve Spark's own pages and say where.")] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Go on in a folder whose campaign was another one; keep what fits.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try runs again that have failed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Run what is left of a campaign, and show what came of it."""
    from roamcast.cli.build import warn_if_stale
    from roamcast.lab import campaign, conduct
    from roamcast.lab.tables.folder import Folder

    warn_if_stale()
    import_from_here()
    loaded = campaign.load(file)
    folder = Folder(out or Path("out") / file.stem)
    with Screen(loaded.name) as screen:
        screen.stage("starting Spark")
        spark = start_spark(folder.path, master, conf, ui)
        if ui:
            screen.say(f"Spark's pages: {spark.sparkContext.uiWebUrl}")
        try:
            laboratory = conduct.conduct([loaded], folder, spark, screen, extend=extend, retry=retry)
        except KeyboardInterrupt:
            spark.sparkContext.cancelAllJobs()
            screen.say("stopped; the same command goes on from here")
            raise typer.Exit(130) from None
    show(laboratory, json)


@app.command()
def plan(file: FILE) -> None:
    """Show the runs of a campaign and about how long they take, without running any."""
    import os

    from roamcast.lab import campaign
    from roamcast.lab import plan as planning

    import_from_here()
    loaded = campaign.load(file)
    _show_plan(loaded, planning.runs(loaded), os.cpu_count() or 1)


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign's folder.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How far a campaign is, and what failed."""
    import msgspec

    from roamcast.lab import progress
    from roamcast.lab.tables.folder import Folder

    state = progress.status(Folder(folder))
    if json:
        print(msgspec.json.encode(state).decode())
        return
    console = Console(highlight=False)
    left = state.planned - state.finished - len(state.failed)
    done = f"{state.finished:,} of {state.planned:,} runs finished, {left:,} to do"
    console.print(f"{', '.join(state.campaigns)}: {done}", soft_wrap=True)
    if state.failed:
        show_failures(console, list(state.failed.values()))
    console.print("tables are written" if state.measured else "tables are written when all runs have ended")


# ---- for people


def show(laboratory: Laboratory, json: bool) -> None:
    """What a campaign came to."""
    rows = laboratory.summary.where("metric in ('delivery', 'overhead', 'latency_p50_s')").collect()
    failed = [row.asDict() for row in laboratory.runs.where("status = 'failed'").collect()]
    if json:
        _print_json(laboratory, rows, failed)
        return
    console = Console(highlight=False)
    console.print(_summary(rows))
    if failed:
        show_failures(console, failed)
    place = laboratory.folder.path
    console.print(f"tables are in {place}; ask them: roamcast query {place} SQL", soft_wrap=True)


def _print_json(laboratory: Laboratory, rows: list[Any], failed: list[dict[str, Any]]) -> None:
    import json

    cells = [row.asDict() for row in rows]
    print(json.dumps({"out": str(laboratory.folder.path), "summary": cells, "failed": failed}))


def _summary(rows: list[Any]) -> Table:
    """A line a cell; what all cells have in common is left out."""
    cells: dict[int, dict[str, Any]] = {}
    for row in rows:
        cells.setdefault(row.cell, {"about": row})[row.metric] = row
    settings = sorted({name for cell in cells.values() for name in {**cell["about"].world, **cell["about"].params}})
    table = Table("protocol", *settings, "runs", "delivery", "overhead", "latency ms")
    for k in sorted(cells):
        cell = cells[k]
        about = {**cell["about"].world, **cell["about"].params}
        table.add_row(
            escape(cell["about"].label),
            *(escape(about.get(name, "")) for name in settings),
            str(cell["about"].n),
            interval(cell.get("delivery"), 3),
            interval(cell.get("overhead"), 2),
            interval(cell.get("latency_p50_s"), 1, 1000.0),
        )
    return table


def interval(row: Any, digits: int, factor: float = 1.0) -> str:
    if row is None:
        return "–"
    spread = f" ± {row.half_width * factor:.{digits}f}" if row.half_width is not None else ""
    return f"{row.mean * factor:,.{digits}f}{spread}"


def show_failures(console: Console, failed: list[dict[str, Any]]) -> None:
    """A line for the error, and one for the command that shows it again, to be copied whole."""
    console.print(f"{len(failed)} failed:", markup=False)
    for failure in failed[:MOST_FAILURES]:
        console.print(f"  {failure['error']}", markup=False, soft_wrap=True)
        console.print(f"    {failure['command']}", markup=False, soft_wrap=True)
    if len(failed) > MOST_FAILURES:
        console.print(f"  … and {len(failed) - MOST_FAILURES} more", markup=False)


def _show_plan(campaign: Campaign, runs: list[Run], cores: int) -> None:
    console = Console(highlight=False)
    settings = sorted({name for cell in campaign.cells for name in {**cell.world, **cell.given}})
    table = Table("protocol", *settings, "runs", "about", title=escape(f"{campaign.name} ({campaign.preset})"))
    for cell in campaign.cells:
        mine = [run for run in runs if run.cell is cell]
        about = {**cell.world, **cell.given}
        values = (escape(str(about.get(name, ""))) for name in settings)
        table.add_row(escape(cell.label), *values, str(len(mine)), duration(sum(run.cost_s for run in mine)))
    console.print(table)
    total_s = sum(run.cost_s for run in runs)
    until = campaign.until
    more = f", more until {until.metric} is within ± {until.half_width:g}" if until else ""
    time = f"{duration(total_s)} of processor time, {duration(total_s / cores)} on {cores} cores"
    console.print(f"{len(runs):,} runs{more}; very roughly {time}", soft_wrap=True)
