"""`roamcast protocols`: the list of protocols, and the parameters of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from roamcast.cli.options import import_from_here
from roamcast.papers.readings import headline, readings

if TYPE_CHECKING:
    from rich.console import Console

    from roamcast.protocols.kit.parameters import Parameter


def protocols(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Show this protocol's parameters.", show_default=False)
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """List the protocols, or the parameters of one."""
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

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, line in _lines().items():
        table.add_row(name, line)
    Console(highlight=False).print(table)


ONLY_SUBSCRIBERS = "Only nodes that subscribe to an event forward it."


def _lines() -> dict[str, str]:
    """What each protocol is; of one that cannot be loaded, why."""
    from roamcast.errors import InputError
    from roamcast.protocols import registry

    lines: dict[str, str] = {}
    for name in registry.names():
        try:
            protocol = registry.get(name)
            lines[name] = f"{headline(protocol)}{f' {ONLY_SUBSCRIBERS}' if protocol.only_subscribers_forward else ''}"
        except InputError as error:
            lines[name] = str(error)
    return lines


def _print_json(name: str) -> None:
    import json

    from roamcast.net.live import live_params
    from roamcast.protocols import registry
    from roamcast.protocols.kit import parameters

    if not name:
        print(json.dumps({"protocols": [{"name": each, "is": line} for each, line in _lines().items()]}))
        return
    protocol = registry.get(name)
    described = parameters.describe(protocol)
    facts = [{key: getattr(p, key) for key in ("name", "default", "unit", "range", "doc", "source")} for p in described]
    described_one: dict[str, Any] = {"name": name, "is": headline(protocol)}
    described_one |= {"only_subscribers_forward": protocol.only_subscribers_forward, "live": live_params(name)}
    print(json.dumps({**described_one, "parameters": facts, "readings": readings(protocol)}))


def _show_one(name: str) -> None:
    from rich.console import Console

    from roamcast.net.live import DEFAULT_PROTOCOL, live_params
    from roamcast.protocols import registry
    from roamcast.protocols.kit import parameters

    protocol = registry.get(name)
    console = Console(highlight=False)
    console.print(headline(protocol), markup=False)
    if protocol.only_subscribers_forward:
        console.print(ONLY_SUBSCRIBERS)
    if name == DEFAULT_PROTOCOL:
        console.print("Real nodes run it unless another one is named.")
    if live_params(name):
        live = " ".join(f"{key}={_value(value)}" for key, value in live_params(name).items())
        console.print(f"On real nodes: {live}, unless others are set.", markup=False)
    _show_parameters(parameters.describe(protocol), console)
    numbered = readings(protocol)
    if numbered:
        console.print("\nReadings, where the paper leaves a choice:", style="bold")
        console.print(numbered, markup=False, soft_wrap=True)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _show_parameters(described: list[Parameter], console: Console) -> None:
    from rich.table import Table

    if not described:
        console.print("It has no parameters.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("parameter", "default", "range", "what it does"):
        table.add_column(heading, header_style="bold", no_wrap=heading != "what it does")
    for p in described:
        table.add_row(p.name, f"{_value(p.default)} {p.unit}", p.range, f"{p.doc} [dim]\\[{p.source}][/]")
    console.print(table)
