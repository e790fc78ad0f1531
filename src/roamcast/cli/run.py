"""`roamcast run`: one run and its metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roamcast.cli import completion
from roamcast.cli.options import Parameters, Reading, World, import_from_here, pairs
from roamcast.errors import InputError

Start = Annotated[
    str,
    typer.Argument(
        metavar="[PRESET or FILE]",
        help="A paper's scenario (see `roamcast presets`), or a scenario file (TOML).",
        show_default="the scenario's defaults",
        autocompletion=completion.starts,
    ),
]
Protocol = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="See `roamcast protocols`; module:Class for your own.",
        show_default="the paper's, or the file's",
        autocompletion=completion.protocols,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Same seed, same run, byte for byte.", show_default="1, or the file's"),
]
Level = Annotated[
    str,
    typer.Option(
        metavar="LEVEL", help="Detail of the log: summary, deliveries, frames or full.", show_default="frames"
    ),
]


def run(
    preset: Start = "",
    protocol: Protocol = None,
    set_: Parameters = None,
    world: World = None,
    reading: Reading = "",
    seed: Seed = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the event log (Parquet).")] = None,
    level: Level = "",
) -> None:
    """Simulate one run and show its metrics."""
    from roamcast.api.simulation import simulate
    from roamcast.cli import outcome
    from roamcast.cli.build import warn_if_stale
    from roamcast.cli.progress import Progress
    from roamcast.papers import presets

    if not preset and not protocol:
        raise InputError("run what? Name a preset (see `roamcast presets`), a scenario file, or at least a --protocol")
    level = checked_level(level, log)
    warn_if_stale()
    import_from_here()
    if not protocol and not presets.load(preset, reading).protocol:
        raise InputError(f'{preset} names no protocol: type --protocol NAME, or write protocol = "NAME" into it')
    with Progress(f"{preset}, {protocol or 'its protocol'}".removeprefix(", ")) as progress:
        simulation = simulate(
            preset,
            protocol,
            pairs("--set", set_),
            seed=seed,
            world=pairs("--world", world),
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
