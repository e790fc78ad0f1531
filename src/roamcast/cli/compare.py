"""`roamcast compare`, `sweep` and `league`: many runs on this machine, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roamcast.cli import completion
from roamcast.cli.options import Reading, World, check_picture, import_from_here, pairs, typed_value
from roamcast.errors import InputError, error_text, unknown
from roamcast.extras import need

if TYPE_CHECKING:
    from rich.console import Console

    from roamcast.api.study import Study

Start = Annotated[
    str,
    typer.Argument(
        metavar="START",
        help="A preset (`roamcast presets`) or a scenario file.",
        autocompletion=completion.starts,
    ),
]
Seeds = Annotated[int, typer.Option(metavar="N", min=1, help="How many seeds: 1 … N.")]
Processes = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="How many runs at a time.", show_default="one for each core")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep runs and tables there, as a campaign does.", show_default="nowhere"),
]
Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the metric (SVG, PNG or PDF).", show_default="no figure")
]
Metric = Annotated[
    str,
    typer.Option(metavar="NAME", help="What differences and figure are about.", autocompletion=completion.metrics),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


def compare(
    start: Start,
    protocols: Annotated[
        list[str],
        typer.Argument(
            metavar="PROTOCOL",
            help="One or more: gossip, gossip,p=0.5, mine:Class. Or, after a campaign's folder, another one.",
            autocompletion=completion.protocols,
        ),
    ],
    seeds: Seeds = 10,
    world: World = None,
    reading: Reading = "",
    metric: Metric = "delivery",
    processes: Processes = None,
    out: Out = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Run protocols in the same worlds, and show by how much they differ, seed by seed.

    `compare DIR DIR` runs nothing: it shows how two campaigns differ, as before and after a change of the code.
    """
    from roamcast.api import studies
    from roamcast.cli import contrast
    from roamcast.cli.progress import Progress

    _check(metric, plot)
    if contrast.are_campaigns([start, *protocols]):
        typed = {"--world": world, "--reading": reading, "--processes": processes, "--out": out, "--plot": plot}
        contrast.show(start, protocols[0], metric, [option for option, value in typed.items() if value], json)
        return
    import_from_here()
    entrants = [_entrant(text) for text in protocols]
    with Progress("comparing") as progress:
        study = studies.compare(
            start,
            entrants,
            seeds=seeds,
            world=_lists("--world", world),
            reading=reading,
            processes=processes,
            out=out,
            progress=progress.update,
        )
    _show(study, metric, out, plot, json)


def sweep(
    start: Start,
    protocol: Annotated[
        str,
        typer.Argument(
            metavar="PROTOCOL", help="gossip, gossip,ttl=5, mine:Class.", autocompletion=completion.protocols
        ),
    ],
    settings: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE,VALUE", help="Parameters or scenario fields: p=0.1,0.5 nodes=50,100."),
    ],
    seeds: Seeds = 10,
    world: World = None,
    reading: Reading = "",
    metric: Metric = "delivery",
    processes: Processes = None,
    out: Out = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Run a protocol under every combination of settings."""
    from roamcast.api import studies
    from roamcast.cli.progress import Progress

    _check(metric, plot)
    import_from_here()
    with Progress("sweeping") as progress:
        study = studies.sweep(
            start,
            [_entrant(protocol)],
            _lists("setting", settings),
            seeds=seeds,
            world=_lists("--world", world),
            reading=reading,
            processes=processes,
            out=out,
            progress=progress.update,
        )
    _show(study, metric, out, plot, json)


def league(
    start: Start,
    seeds: Seeds = 5,
    world: World = None,
    reading: Reading = "",
    without: Annotated[
        list[str] | None, typer.Option(metavar="PROTOCOL", help="Leave one out, perhaps a slow one. Repeatable.")
    ] = None,
    more: Annotated[
        list[str] | None, typer.Option("--with", metavar="PROTOCOL", help="One more, perhaps mine:Class. Repeatable.")
    ] = None,
    metric: Metric = "delivery",
    processes: Processes = None,
    out: Out = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Run every protocol in your scenario, each with the parameters that its own paper recommends."""
    from roamcast.api import studies
    from roamcast.cli.progress import Progress
    from roamcast.papers import experiments

    _check(metric, plot)
    import_from_here()
    entrants: dict[str, Any] = {entrant.name: (entrant.name, entrant.set) for entrant in experiments.entrants()}
    for name in without or []:
        if name not in entrants:
            raise unknown("protocol of the league", name, entrants)
        del entrants[name]
    entrants |= {text: _entrant(text) for text in more or []}
    with Progress("the league") as progress:
        study = studies.compare(
            start,
            entrants,
            seeds=seeds,
            world=_lists("--world", world),
            reading=reading,
            processes=processes,
            out=out,
            progress=progress.update,
        )
    _show(study, metric, out, plot, json)


# ---- what was typed


def _check(metric: str, plot: Path | None) -> None:
    """Before the runs, because they may take long."""
    from roamcast.log import catalogue

    catalogue.averaged(metric)
    check_picture("--plot", plot)
    if plot is not None:
        need("--plot", "matplotlib")


def _entrant(text: str) -> tuple[str, dict[str, Any]]:
    """`gossip,p=0.5`: a protocol with some of its parameters."""
    name, *given = text.split(",")
    return name, {key: typed_value(value) for key, value in pairs(f"protocol {text!r}: parameter", given).items()}


def _lists(option: str, texts: list[str] | None) -> dict[str, Any]:
    """`p=0.1,0.5` has two values, `p=0.1` one."""
    values = {name: [typed_value(one) for one in text.split(",")] for name, text in pairs(option, texts).items()}
    return {name: several if len(several) > 1 else several[0] for name, several in values.items()}


# ---- for people


def _show(study: Study, metric: str, out: Path | None, plot: Path | None, json: bool) -> None:
    from rich.console import Console

    differences = study.compared(metric)
    if plot is not None:
        _draw(study, metric, plot)
    if json:
        import json as format

        facts = {"runs": study.rows, "summary": study.summary, "differences": differences}
        print(format.dumps(facts))
        return
    from roamcast.cli import cells

    console = Console(highlight=False)
    cells.show_summary(console, study.summary, str(out or ""))
    if differences:
        _show_differences(console, metric, differences)
    if out is not None:
        console.print(f"\ntables are in {out}; roamcast report {out} draws them", markup=False, soft_wrap=True)


def _show_differences(console: Console, metric: str, differences: list[dict[str, Any]]) -> None:
    """Seed by seed, because that is what an interval of a mean does not show."""
    from roamcast.api.study import paired
    from roamcast.cli.tables import Column, table

    console.print(f"\n{metric}, difference seed by seed:", markup=False)
    headings, lines = paired(differences)
    texts = [list(column) for column in zip(*lines, strict=True)]
    console.print(table([Column(title, texts[k], text=k == 0) for k, title in enumerate(headings)]))


def _draw(study: Study, metric: str, path: Path) -> None:
    figure: Any = study.plot(y=metric).figure
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"--plot {path}: cannot be written ({error_text(error)})") from None
