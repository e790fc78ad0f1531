"""`roamcast status`: what a node that runs on this machine is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from roamcast.cli.options import ConfigFile, State, state_of
from roamcast.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

NEIGHBOURS = 20
RATES = ("datagrams_in", "datagrams_out", "bytes_in", "bytes_out", "frames_in", "frames_out", "published", "delivered")


def status(
    state: State = None,
    config: ConfigFile = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, also at a terminal.")] = False,
    every: Annotated[float, typer.Option(metavar="S", help="How often to look.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Neighbours, tables, rates and drops of a running node; live if this is a terminal."""
    import sys

    from rich.console import Console

    from roamcast.net.control import Connection

    if every <= 0:
        raise InputError(f"--every {every:g}: must be above 0")
    with Connection(state_of(config, state)) as node:
        told = node.ask("status")
        if json:
            import json as format

            print(format.dumps(told))
        elif once or not sys.stdout.isatty():
            Console(highlight=False).print(page(told, {}))
        else:
            _watch(node, told, every)


def _watch(node: Any, told: dict[str, Any], every_s: float) -> None:
    import time

    from rich.console import Console
    from rich.live import Live

    with Live(page(told, {}), console=Console(highlight=False), auto_refresh=False, screen=True) as live:
        try:
            while True:
                time.sleep(every_s)
                before, told = told, node.ask("status")
                live.update(page(told, before), refresh=True)
        except KeyboardInterrupt:
            return


def page(told: dict[str, Any], before: dict[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(_headline(told), style="bold")]
    if not told["secure"]:
        parts.append(Text("INSECURE: nothing is encrypted, authenticated or signed", style="bold red"))
    parts += [_neighbours(told), _tables(told), _rates(told, before)]
    for title, counts in (("dropped", told["dropped"]), ("decisions", told["decisions"])):
        if counts:
            parts.append(_counts(title, counts))
    return Group(*parts)


def _headline(told: dict[str, Any]) -> str:
    network = "" if told["network"] else ", NO NETWORK"
    others = [key for key in told["keys"] if key != told["sending_key"]]
    key = f", key {told['sending_key']}" if told["sending_key"] else ""
    also = f" (also accepted: {', '.join(others)})" if others else ""
    return f"node {told['node']}, {told['protocol']}, up {told['up_s']:,.0f} s{key}{also}{network}"


def _neighbours(told: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table("neighbour", "address", "silent s", "frames", "bytes", title="neighbours", title_justify="left")
    for peer in told["neighbours"][:NEIGHBOURS]:
        table.add_row(
            str(peer["node"]), peer["address"], f"{peer['silent_s']:.1f}", f"{peer['frames']:,}", f"{peer['bytes']:,}"
        )
    if len(told["neighbours"]) > NEIGHBOURS:
        table.add_row(f"and {len(told['neighbours']) - NEIGHBOURS} more", "", "", "", "")
    return table


def _tables(told: dict[str, Any]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    stored = told["stored"]
    table = Table("table", "entries", "", title="tables", title_justify="left")
    table.add_row("routing", f"{told['routing_entries']:,}", f"{told['routing_bytes']:,} bytes")
    table.add_row("queue", f"{told['queue']:,}", "frames to be sent")
    table.add_row("publications", f"{stored['publications']:,}", "own, still valid")
    table.add_row("held", f"{stored['held']:,}", "frames with others' events, for after a restart")
    table.add_row("received", f"{stored['received']:,}", f"{stored['received_bytes']:,} bytes, {stored['lost']} lost")
    table.add_row("subscriptions", f"{len(told['subscriptions']):,}", Text("; ".join(told["subscriptions"].values())))
    for named in told["named"]:
        table.add_row(Text(f"  {named['name']}"), f"{named['behind']:,}", Text(f"behind; {named['filter']}"))
    return table


def _rates(told: dict[str, Any], before: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    passed_s = told["up_s"] - before["up_s"] if before else told["up_s"]
    since = {name: told[name] - before.get(name, 0) for name in RATES}
    table = Table(
        "", "per second", "in all", title="rates" if before else "rates since the start", title_justify="left"
    )
    for name in RATES:
        rate = since[name] / passed_s if passed_s > 0 else 0.0
        table.add_row(name.replace("_", " "), f"{rate:,.1f}", f"{told[name]:,}")
    share = told["airtime_s"] - before.get("airtime_s", 0.0)
    table.add_row("airtime", f"{100 * share / passed_s if passed_s > 0 else 0:.2f} %", f"{told['airtime_s']:,.2f} s")
    return table


def _counts(title: str, counts: dict[str, int]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table("why", "times", title=title, title_justify="left")
    for name, n in sorted(counts.items(), key=lambda entry: -entry[1]):
        table.add_row(Text(name), f"{n:,}")
    return table
