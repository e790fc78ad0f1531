"""`roamcast presets`: the papers' scenarios, and where each value of one comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roamcast.cli.options import import_from_here

if TYPE_CHECKING:
    from rich.console import Console

    from roamcast.papers.joint import Change


def presets(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]", help="Show the values of this preset, or of a scenario file.", show_default=False
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """List the papers' scenarios, or the values of one with their sources."""
    import_from_here()
    if json:
        _print_json(name)
    elif name:
        _show_one(name)
    else:
        _list()


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    from roamcast.papers import presets as papers

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name in papers.names():
        preset = papers.load(name)
        table.add_row(name, f"{preset.title}\n[dim]{preset.paper}[/]")
    Console(highlight=False).print(table)


def _print_json(name: str) -> None:
    import json

    from roamcast.papers import presets as papers

    if name:
        preset = papers.load(name)
        about = {key: getattr(preset, key) for key in ("title", "paper", "protocol", "values", "params", "sources")}
        print(json.dumps({"name": name, **about, "readings": {change.name: change.says for change in _readings(name)}}))
        return
    loaded = [papers.load(each) for each in papers.names()]
    print(json.dumps({"presets": [{"name": p.name, "title": p.title, "paper": p.paper} for p in loaded]}))


def _show_one(name: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from roamcast.papers import presets as papers
    from roamcast.world.fields import shown

    preset = papers.load(name)
    console = Console(highlight=False)
    about = [preset.title, preset.paper, f"protocol: {preset.protocol}" if preset.protocol else ""]
    console.print("\n".join(line for line in about if line), markup=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("field", "value", "source"):
        table.add_column(heading, header_style="bold", no_wrap=heading == "field")
    values = dict(preset.values)
    for protocol, params in preset.params.items():
        values |= {f"{protocol}.{parameter}": value for parameter, value in params.items()}
    for field, value in values.items():
        table.add_row(field, shown(value), preset.sources[field])
    console.print(table)
    _show_readings(name, console)


def _readings(name: str) -> list[Change]:
    """The other readings of the preset's paper that `--reading` takes; a scenario file says itself which one it is."""
    from roamcast.papers import joint
    from roamcast.papers.presets import is_file

    if is_file(name) or not joint.paper_of(name):
        return []
    return [change for change in joint.of_preset(name).changes if change.needs_runs and change.applies_to(name)]


def _show_readings(name: str, console: Console) -> None:
    from rich.table import Table

    changes = _readings(name)
    if not changes:
        return
    console.print("\nother readings of the paper (--reading NAME):")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for change in changes:
        table.add_row(change.name, change.says)
    console.print(table)
