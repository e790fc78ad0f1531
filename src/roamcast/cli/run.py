"""`roamcast run`: one run and its metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roamcast.cli.options import Parameters, import_from_here, pairs
from roamcast.errors import InputError

if TYPE_CHECKING:
    from roamcast.papers.presets import Preset


def run(
    preset: Annotated[
        str,
        typer.Argument(
            metavar="[PRESET or FILE]",
            help="A paper's scenario (see `roamcast presets`), or a scenario file (TOML).",
            show_default="the scenario's defaults",
        ),
    ] = "",
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="See `roamcast protocols`; module:Class for your own.",
            show_default="the paper's, or the file's",
        ),
    ] = None,
    set_: Parameters = None,
    world: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A field of the scenario: see `roamcast fields`. Repeatable."),
    ] = None,
    reading: Annotated[
        str, typer.Option(metavar="NAME", help="Another reading of the paper: `roamcast presets PRESET` lists them.")
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Same seed, same run, byte for byte.", show_default="1, or the file's"),
    ] = None,
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
    from roamcast.papers import presets

    import_from_here()
    loaded = presets.load(preset, reading)
    _run(
        loaded,
        loaded.protocol if protocol is None else protocol,
        pairs("--set", set_),
        pairs("--world", world),
        loaded.seed if seed is None else seed,
        json,
        log,
        checked_level(level, log),
    )


def _run(
    preset: Preset,
    protocol: str,
    given: dict[str, str],
    world: dict[str, str],
    seed: int,
    json: bool,
    log: Path | None,
    level: str,
) -> None:
    from dataclasses import asdict

    from roamcast.cli.build import warn_if_stale
    from roamcast.cli.outcome import Outcome
    from roamcast.cli.progress import Progress
    from roamcast.protocols import registry
    from roamcast.protocols.kit import parameters
    from roamcast.world.parts import given_in
    from roamcast.world.simulate import simulate

    warn_if_stale()
    if seed < 0:
        raise InputError(f"seed={seed}: must be a whole number of at least 0")
    if not protocol:
        raise InputError(_which_protocol(preset.name))
    scenario = preset.scenario(world)
    params = asdict(parameters.build(registry.get(protocol), preset.parameters(protocol, given), protocol))
    with Progress(f"{preset.name}, {protocol}".removeprefix(", ")) as progress:
        result = simulate(scenario, protocol, params, seed, level=level, log=log, progress=progress.update)
    outcome = Outcome(
        preset=preset.name,
        reading=preset.reading,
        protocol=protocol,
        params=params,
        given=given,
        world={field: given_in(scenario, field) for field in world},
        seed=seed,
        nodes=scenario.nodes,
        result=result,
    )
    if json:
        print(outcome.as_json())
    else:
        outcome.show()


def _which_protocol(file: str) -> str:
    if not file:
        return "run what? Name a preset (see `roamcast presets`), a scenario file, or at least a --protocol"
    return f"{file} names no protocol: type --protocol NAME, or write protocol = \"NAME\" into it"


def checked_level(level: str, log: Path | None) -> str:
    from roamcast.log.schema import kinds_at

    if log is None:
        if level:
            raise InputError(f"--level {level}: must come with --log FILE")
        return "summary"
    level = level or "frames"
    kinds_at(level)  # refuses an unknown level
    return level
