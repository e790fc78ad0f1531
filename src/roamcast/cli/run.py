"""`roamcast run`: one run and its metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roamcast.cli.options import Parameters, import_from_here, pairs
from roamcast.errors import InputError


def run(
    preset: Annotated[str, typer.Argument(metavar="PRESET", help="A paper's scenario: see `roamcast presets`.")],
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="See `roamcast protocols`; module:Class for your own.", show_default="the paper's"
        ),
    ] = None,
    set_: Parameters = None,
    world: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A field of the scenario. Repeatable.")
    ] = None,
    reading: Annotated[
        str, typer.Option(metavar="NAME", help="Another reading of the paper: `roamcast presets PRESET` lists them.")
    ] = "",
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same run, byte for byte.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the event log (Parquet).")] = None,
    level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL", help="Detail of the log: summary, deliveries, frames or full.", show_default="frames"
        ),
    ] = "",
) -> None:
    """Simulate one run and show its metrics."""
    _run(preset, protocol, pairs("--set", set_), pairs("--world", world), reading, seed, json, log, level)


def _run(
    preset: str,
    protocol: str | None,
    given: dict[str, str],
    world: dict[str, str],
    reading: str,
    seed: int,
    json: bool,
    log: Path | None,
    level: str,
) -> None:
    from roamcast.api.simulation import simulate
    from roamcast.cli import outcome
    from roamcast.cli.build import warn_if_stale
    from roamcast.cli.progress import Progress

    level = checked_level(level, log)
    warn_if_stale()
    if ":" in (protocol or ""):
        import_from_here()
    with Progress(f"{preset}, {protocol or 'its protocol'}") as progress:
        simulation = simulate(
            preset,
            protocol,
            given,
            seed=seed,
            world=world,
            reading=reading,
            log=log,
            level=level,
            progress=progress.update,
        )
    if json:
        print(outcome.as_json(simulation))
    else:
        outcome.show(simulation)


def checked_level(level: str, log: Path | None) -> str:
    from roamcast.log.schema import kinds_at

    if log is None:
        if level:
            raise InputError(f"--level {level}: must come with --log FILE")
        return "summary"
    level = level or "frames"
    kinds_at(level)  # refuses an unknown level
    return level
