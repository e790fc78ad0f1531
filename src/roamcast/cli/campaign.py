"""`roamcast campaign`: many runs, on Spark or on this machine; `plan` shows them first, `status` how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console

from roamcast.cli import examples
from roamcast.cli.help import HELP, Verbs
from roamcast.cli.options import EMBEDDED, Conf, Master, import_from_here, start_spark
from roamcast.errors import InputError
from roamcast.extras import need

if TYPE_CHECKING:
    from roamcast.cli.screen import Screen
    from roamcast.lab.campaign import Campaign
    from roamcast.lab.tables.laboratory import Laboratory

app = typer.Typer(
    cls=Verbs,
    context_settings=HELP,
    epilog=examples.text("roamcast campaign"),
    help="Run a campaign of simulations, on Spark or with --local. Stopped at any moment, it goes on where it was.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
MOST_FAILURES = 10
MOST_STARTS = 5
FILE = Annotated[Path, typer.Argument(metavar="FILE", help="The campaign, a TOML file.")]
OUT = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Where results go: a folder, or s3://bucket/name, gs://…, hdfs://….",
        show_default="out/ and the file's name",
    ),
]
LIMIT = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        min=0.001,
        help="A run that takes longer has failed.",
        show_default="as the file says (limit_s), else long for what it should take",
    ),
]


@app.command()
def run(
    file: FILE,
    out: OUT = None,
    local: Annotated[
        bool | None,
        typer.Option(
            "--local/--spark",
            help="On processes of this machine, which starts at once; or on Spark, for what outgrows it.",
            show_default="as the file says, else Spark",
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With --local: how many.", show_default="one for each core")
    ] = None,
    master: Master = EMBEDDED,
    conf: Conf = None,
    ui: Annotated[bool, typer.Option("--ui", help="Serve Spark's own pages and say where.")] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Go on in a folder whose campaign was another one; keep what fits.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try runs again that have failed.")] = False,
    limit: LIMIT = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Run what is left of a campaign, and show the results."""
    from roamcast import lab
    from roamcast.cli.build import warn_if_stale
    from roamcast.cli.screen import Screen
    from roamcast.lab import campaign

    warn_if_stale()
    import_from_here()
    loaded = campaign.load(file)
    local = _is_local(file, local, _given_about_spark(master, conf, ui), processes)
    from roamcast.lab import conduct  # here, because it loads Arrow, which may be missing
    from roamcast.lab.tables.folder import Folder

    place = out or str(Path("out") / file.stem)
    folder = Folder(place)
    limit_s = campaign.limit_of(file) if limit is None else campaign.check_limit(limit)
    with Screen(loaded.name) as screen, _stoppable(screen):
        engine = _pool(processes) if local else _spark(place, master, conf, ui, screen)
        conduct.conduct([loaded], folder, engine, screen, extend=extend, retry=retry, limit_s=limit_s)
    if show(lab.open_campaign(place), json):
        raise typer.Exit(1)


@contextmanager
def _stoppable(screen: Screen) -> Iterator[None]:
    """Ctrl-C is one line."""
    try:
        yield
    except KeyboardInterrupt:
        screen.say("stopped; the same command goes on from here")
        raise typer.Exit(130) from None


def _given_about_spark(master: str, conf: list[str] | None, ui: bool) -> list[str]:
    about_spark = {"--master": master != EMBEDDED, "--conf": bool(conf), "--ui": ui}
    return [option for option, given in about_spark.items() if given]


def _is_local(file: Path, local: bool | None, on_spark: list[str], processes: int | None) -> bool:
    """Whether to do without Spark: what is typed decides, then the campaign's file."""
    from roamcast.lab import campaign

    if local and on_spark:
        raise InputError(f"{on_spark[0]} is about Spark: it must not be given with --local")
    if local is None:
        local = not on_spark and campaign.asks_for_local(file)
    if processes and not local:
        raise InputError(f"--processes {processes}: must come with --local")
    if local:
        need("campaign --local", "pyarrow")
    else:
        _need_spark()
    return local


def _need_spark() -> None:
    need("campaign without --local", "pyspark", "pyarrow")
    from roamcast.lab.spark.session import java_version

    try:
        java_version()
    except InputError as error:
        raise InputError(f"{error}; or add --local, which does without Java") from None


def _pool(processes: int | None) -> Any:
    from roamcast.lab.local.engine import PoolEngine

    return PoolEngine(processes or 0)


def _spark(folder: str, master: str, conf: list[str] | None, ui: bool, screen: Screen) -> Any:
    screen.stage("starting Spark")
    spark = start_spark(folder, master, conf, ui)
    if ui:
        screen.say(f"Spark's pages: {spark.sparkContext.uiWebUrl}")
    from roamcast.lab.spark.engine import SparkEngine

    return SparkEngine(spark)


@app.command()
def plan(
    file: FILE, json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with all cells.")] = False
) -> None:
    """Show the runs of a campaign and about how long they take, without running any."""
    import os

    from roamcast.lab import campaign

    import_from_here()
    loaded = campaign.load(file)
    cores = os.cpu_count() or 1
    if json:
        _print_plan(loaded, cores)
    else:
        _show_plan(loaded, cores, file)


@app.command()
def status(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A campaign's folder, or its URL.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How far a campaign is, and what failed."""
    from roamcast.judging import made
    from roamcast.lab import progress
    from roamcast.lab.tables.folder import Folder

    import_from_here()
    state = progress.status(Folder(folder))
    if json:
        print(msgspec.json.encode({**msgspec.to_builtins(state), "provenance": made.records(folder)}).decode())
        return
    console = Console(highlight=False)
    left = state.planned - state.finished - len(state.failed)
    done = f"{state.finished:,} of {state.planned:,} runs finished, {left:,} to do"
    console.print(f"{', '.join(state.campaigns)}: {done}", soft_wrap=True)
    if state.failed:
        show_failures(console, list(state.failed.values()))
    console.print("tables are written" if state.measured else "tables are written when all runs have ended")
    for record in made.records(folder)[-MOST_STARTS:]:
        console.print(made.line(record), markup=False, soft_wrap=True)


@app.command()
def log(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A campaign's folder, or its URL.")],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, as the table runs has it.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the log goes.", show_default="RUN.parquet")
    ] = None,
) -> None:
    """Take the log of one run out of a campaign, for `roamcast why` and `roamcast replay`."""
    need("campaign log", "pyarrow")
    from roamcast.lab.tables import logs
    from roamcast.lab.tables.folder import Folder

    target = out or Path(f"{run}.parquet")
    campaign = Folder(folder)
    campaign.check_claimed()
    rows = logs.take_out(campaign, run, target)
    print(f"{target}: {rows:,} rows; ask it: roamcast why {target}")


# ---- for people


def show(laboratory: Laboratory, json: bool) -> int:
    """The results of a campaign: what each cell gave, and what failed. Returns how many did."""
    import pyarrow.compute as pc

    from roamcast.cli import cells

    rows = [row for row in laboratory.rows("summary") if row["metric"] in cells.METRICS]
    runs = laboratory.arrow("runs")
    failed = runs.filter(pc.equal(runs["status"], "failed")).to_pylist()  # of 100,000 rows most are not needed
    place = laboratory.folder
    if json:
        _print_json({"out": str(place), "summary": rows, "failed": failed})
        return len(failed)
    console = Console(highlight=False)
    cells.show_summary(console, rows, str(place))
    if failed:
        show_failures(console, failed)
    console.print(f"tables are in {place}; ask them: roamcast query {place} SQL", soft_wrap=True)
    return len(failed)


def _print_json(facts: dict[str, Any]) -> None:
    import json

    print(json.dumps(facts))


def show_failures(console: Console, failed: list[dict[str, Any]]) -> None:
    """A line for the error, and one for the command that shows it again, to be copied whole."""
    console.print(f"{len(failed)} failed:", markup=False)
    for failure in failed[:MOST_FAILURES]:
        console.print(f"  {failure['error']}", markup=False, soft_wrap=True)
        console.print(f"    {failure['command']}", markup=False, soft_wrap=True)
    if len(failed) > MOST_FAILURES:
        console.print(f"  … and {len(failed) - MOST_FAILURES} more", markup=False)


def _show_plan(campaign: Campaign, cores: int, file: Path) -> None:
    from roamcast.cli import cells
    from roamcast.cli.screen import duration
    from roamcast.show import numbers

    console = Console(highlight=False)
    console.print(f"{campaign.name}: {numbers.several(len(campaign.cells), 'cell')}", markup=False)
    costs_s, measuring_s = _costs_s(campaign)
    times = [duration(cost_s) for cost_s in costs_s]
    cells.show_planned(console, _planned(campaign), times, len(campaign.seeds), str(file))
    total_s, runs = sum(costs_s), len(campaign.cells) * len(campaign.seeds)
    until = campaign.until
    more = f", more until {until.metric} is within ± {until.half_width:g}" if until else ""
    time = f"{duration(total_s)} of processor time, {duration(total_s / cores)} on {cores} cores"
    console.print(f"{runs:,} runs{more}; very roughly {time}", soft_wrap=True)
    if measuring_s:
        console.print(f"and {duration(measuring_s / cores)} to measure their logs, with Spark", soft_wrap=True)


def _print_plan(campaign: Campaign, cores: int) -> None:
    costs_s, measuring_s = _costs_s(campaign)
    planned = [
        {**cell, "runs": len(campaign.seeds), "cost_s": cost_s}
        for cell, cost_s in zip(_planned(campaign), costs_s, strict=True)
    ]
    until = None if campaign.until is None else msgspec.to_builtins(campaign.until)
    _print_json(
        {
            **{"campaign": campaign.name, "preset": campaign.preset, "reading": campaign.reading},
            **{"level": campaign.level, "seeds": campaign.seeds, "until": until, "cells": planned},
            **{"runs": len(campaign.cells) * len(campaign.seeds), "cost_s": sum(costs_s)},
            **{"measuring_s": measuring_s, "cores": cores},
        }
    )


def _costs_s(campaign: Campaign) -> tuple[list[float], float]:
    """Of all runs of each cell; and of measuring all logs."""
    from roamcast.lab import plan

    seeds, level = len(campaign.seeds), campaign.level
    costs_s = [seeds * plan.estimate_s(cell, level) for cell in campaign.cells]
    return costs_s, seeds * sum(plan.measuring_s(cell, level) for cell in campaign.cells)


def _planned(campaign: Campaign) -> list[dict[str, Any]]:
    """The cells, with the columns that the tables will have."""
    from roamcast.lab.tables.columns import Chosen
    from roamcast.lab.tables.rows import of_cell

    chosen = Chosen(campaign.cells)
    return [of_cell(campaign, place, chosen) for place in range(len(campaign.cells))]
