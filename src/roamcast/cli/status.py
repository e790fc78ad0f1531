"""`roamcast status`: what a node that runs on this machine is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roamcast.cli.options import ConfigFile, Port, State, serve_page, state_of
from roamcast.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from roamcast.net.control.client import Connection
    from roamcast.net.node.status import NodeStatus

NEIGHBOURS = 20
RATES = ("datagrams_in", "datagrams_out", "bytes_in", "bytes_out", "frames_in", "frames_out", "published", "delivered")


def status(
    state: State = None,
    config: ConfigFile = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, also at a terminal.")] = False,
    every: Annotated[float, typer.Option(metavar="S", help="How often to look.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    web: Annotated[bool, typer.Option("--web", help="Serve a page for browsers on this machine: `watch`.")] = False,
    port: Port = 0,
) -> None:
    """Neighbours, tables, rates and drops of a running node; live if this is a terminal."""
    import sys

    from rich.console import Console

    from roamcast.net.control.client import Connection
    from roamcast.net.control.messages import Status, StatusReply, plain

    if every <= 0:
        raise InputError(f"--every {every:g}: must be above 0")
    if web:
        serve_page(state_of(config, state), port, every)
        return
    with Connection(state_of(config, state)) as node:
        now = node.request(Status(), StatusReply)
        if json:
            import json as format

            print(format.dumps(plain(now)))
        elif once or not sys.stdout.isatty():
            Console(highlight=False).print(page(now, None))
        else:
            _watch(node, now, every)


def _watch(node: Connection, now: NodeStatus, every_s: float) -> None:
    import time

    from rich.console import Console
    from rich.live import Live

    from roamcast.net.control.messages import Status, StatusReply

    with Live(page(now, None), console=Console(highlight=False), auto_refresh=False, screen=True) as live:
        try:
            while True:
                time.sleep(every_s)
                before, now = now, node.request(Status(), StatusReply)
                live.update(page(now, before), refresh=True)
        except KeyboardInterrupt:
            return


def page(status: NodeStatus, before: NodeStatus | None) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(_headline(status), style="bold")]
    if not status.secure:
        parts.append(Text("INSECURE: nothing is encrypted, authenticated or signed", style="bold red"))
    if status.rotation:
        parts.append(Text(f"rotation of the group's key: {status.rotation}"))
    if len(status.media) > 1:
        parts.append(_media(status))
    parts += [_neighbours(status), _tables(status), _rates(status, before)]
    for title, counts in (("dropped", status.dropped), ("decisions", status.decisions)):
        if counts:
            parts.append(_counts(title, counts))
    return Group(*parts)


def _headline(status: NodeStatus) -> str:
    network = "" if status.network else ", NO NETWORK"
    others = [key for key in status.keys if key != status.sending_key]
    key = f", key {status.sending_key}" if status.sending_key else ""
    also = f" (also accepted: {', '.join(others)})" if others else ""
    speed = "" if status.speed_mps is None else f", {status.speed_mps:.1f} m/s"
    return f"node {status.node}, {status.protocol}, up {status.up_s:,.0f} s{speed}{key}{also}{network}"


def _media(status: NodeStatus) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        "medium", "where", "", "queue", "no room", "airtime", "in", "out", title="media", title_justify="left"
    )
    for one in status.media:
        waiting = (f"{one.queue:,}", f"{one.queue_full:,}", f"{one.airtime_s:,.2f} s")
        passed = (f"{one.datagrams_in:,}", f"{one.datagrams_out:,}")
        table.add_row(Text(one.name), Text(one.place), "" if one.up else "DOWN", *waiting, *passed)
    return table


def _neighbours(status: NodeStatus) -> RenderableType:
    from rich.table import Table

    table = Table(
        "neighbour", "medium", "address", "silent s", "frames", "bytes", title="neighbours", title_justify="left"
    )
    for peer in status.neighbours[:NEIGHBOURS]:
        table.add_row(
            str(peer.node), peer.medium, peer.address, f"{peer.silent_s:.1f}", f"{peer.frames:,}", f"{peer.bytes:,}"
        )
    if len(status.neighbours) > NEIGHBOURS:
        table.add_row(f"and {len(status.neighbours) - NEIGHBOURS} more", "", "", "", "")
    return table


def _tables(status: NodeStatus) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    stored = status.stored
    table = Table("table", "entries", "", title="tables", title_justify="left")
    table.add_row("routing", f"{status.routing_entries:,}", f"{status.routing_bytes:,} bytes")
    table.add_row("queue", f"{status.queue:,}", "frames to be sent")
    table.add_row("publications", f"{stored.publications:,}", "own, still valid")
    table.add_row("held", f"{stored.held:,}", "frames with others' events, for after a restart")
    table.add_row("received", f"{stored.received:,}", f"{stored.received_bytes:,} bytes, {stored.lost} lost")
    table.add_row("subscriptions", f"{len(status.subscriptions):,}", Text("; ".join(status.subscriptions.values())))
    for named in status.named:
        table.add_row(Text(f"  {named.name}"), f"{named.behind:,}", Text(f"behind; {named.filter}"))
    return table


def _rates(status: NodeStatus, before: NodeStatus | None) -> RenderableType:
    from rich.table import Table

    passed_s = status.up_s - (before.up_s if before else 0.0)
    table = Table(
        "", "per second", "in all", title="rates" if before else "rates since the start", title_justify="left"
    )
    for name in RATES:
        count: int = getattr(status, name)
        new = count - (getattr(before, name) if before else 0)
        table.add_row(name.replace("_", " "), f"{new / passed_s if passed_s > 0 else 0.0:,.1f}", f"{count:,}")
    share = status.airtime_s - (before.airtime_s if before else 0.0)
    table.add_row("airtime", f"{100 * share / passed_s if passed_s > 0 else 0:.2f} %", f"{status.airtime_s:,.2f} s")
    return table


def _counts(title: str, counts: dict[str, int]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table("why", "times", title=title, title_justify="left")
    for name, n in sorted(counts.items(), key=lambda entry: -entry[1]):
        table.add_row(Text(name), f"{n:,}")
    return table
