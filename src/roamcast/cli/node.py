"""`roamcast node`: a node that runs until it is interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roamcast.cli.options import (
    ConfigFile,
    LogFormat,
    Parameters,
    State,
    Verbose,
    import_from_here,
    log_to_stderr,
    node_settings,
    notify_systemd,
    pairs,
)

if TYPE_CHECKING:
    from roamcast.net.config import Config
    from roamcast.net.node.node import Node


Interface = Annotated[
    str | None, typer.Option(metavar="NAME", help="The network to use.", show_default="the system's choice")
]
Gps = Annotated[
    str | None, typer.Option(metavar="URL", help="gpsd://HOST:PORT: how fast this node moves.", show_default="none")
]
Metrics = Annotated[
    int | None, typer.Option(metavar="PORT", help="Metrics for Prometheus, on this machine only.", show_default="none")
]
Group = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Multicast or broadcast.", show_default="239.255.77.67")
]


def node(
    config: ConfigFile = None,
    state: State = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The group's keys (`roamcast key new`).", show_default="none")
    ] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="No keys: whoever is in range reads, forges and repeats.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="See `roamcast protocols`; module:Class for your own.", show_default="roam"),
    ] = None,
    set_: Parameters = None,
    interface: Interface = None,
    group: Group = None,
    port: Annotated[int | None, typer.Option(metavar="N", help="UDP.", show_default="7667")] = None,
    gps: Gps = None,
    log: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the event log there.", show_default="none")
    ] = None,
    metrics: Metrics = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Any other setting, limits.queue=20. Repeatable.")
    ] = None,
    verbose: Verbose = 0,
    log_format: LogFormat = "text",
) -> None:
    """Run a node until it is interrupted. SIGHUP makes it read the group's keys again."""
    log_to_stderr(verbose, log_format)
    flags: dict[str, Any] = {
        "state": _text(state),
        "key": _text(key),
        "insecure": insecure,
        "protocol": protocol,
        "network.interface": interface,
        "network.group": group,
        "network.port": port,
        "gps": gps,
        "log": _text(log),
        "metrics": metrics,
        **{f"params.{name}": value for name, value in pairs("--set", set_).items()},
        **pairs("--option", option),
    }
    _start(node_settings(config, flags))


def _start(settings: dict[str, Any]) -> None:
    import asyncio

    from roamcast.net.config import configured

    if any(":" in str(settings[name]) for name in settings if name.rpartition(".")[2] in ("protocol", "medium")):
        import_from_here()
    asyncio.run(_run(configured(settings)))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


async def _run(config: Config) -> None:
    import asyncio
    import contextlib
    import logging
    import signal

    from roamcast.net.control.metrics import MetricsServer
    from roamcast.net.control.server import Control
    from roamcast.net.limits import Limits
    from roamcast.net.node.node import Node

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    async with contextlib.AsyncExitStack() as running:
        node = await running.enter_async_context(Node(config))
        await running.enter_async_context(Control(node))
        if config.metrics:
            await running.enter_async_context(MetricsServer(node, config.metrics))
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, _use_keys, node)
        logging.getLogger("roamcast").info(
            "node %d runs %s; state in %s", node.runner.id, config.protocol, config.state
        )
        if (config.limits.rate_bps, config.limits.airtime_share) == (Limits().rate_bps, Limits().airtime_share):
            logging.getLogger("roamcast").warning("by default this node %s", config.limits.governor())
        notify_systemd("READY=1")
        await stop.wait()
        notify_systemd("STOPPING=1")


def _use_keys(node: Node) -> None:
    import logging

    from roamcast.errors import InputError

    log = logging.getLogger("roamcast")
    try:
        node.read_keys()
    except InputError as error:
        log.error("the keys stay as they were: %s", error)
    else:
        log.info("the group's keys were read again")
