"""`roamcast bridge`: a bridge between a node that runs on this machine and an MQTT broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roamcast.cli.options import ConfigFile, State, Verbose, log_to_stderr, notify_systemd, state_of
from roamcast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamcast.net.bridge.bridge import Bridge


def bridge(
    url: Annotated[str, typer.Argument(metavar="URL", help="mqtt://[USER@]HOST[:PORT], or mqtts:// with TLS.")],
    in_: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="TOPIC", help="Messages on this topic (sensors/#) become events. Repeatable."),
    ] = None,
    in_filter: Annotated[
        str, typer.Option(metavar="FILTER", help="Of these, only events that match.", show_default="all")
    ] = "",
    out: Annotated[
        str, typer.Option(metavar="FILTER", help="Events that match become messages.", show_default="none")
    ] = "",
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="In front of the topics of such messages.")] = "roamcast/",
    validity: Annotated[
        float, typer.Option(metavar="S", help="Validity of events from messages that do not expire.")
    ] = 3600.0,
    name: Annotated[str, typer.Option(metavar="NAME", help="If a node has several bridges, one for each.")] = "mqtt",
    broker: Annotated[
        str, typer.Option(metavar="NAME", help="The broker's name in mqtt_via.", show_default="HOST:PORT")
    ] = "",
    ca: Annotated[
        str, typer.Option(metavar="FILE", help="Certificates to trust, for mqtts://.", show_default="the system's")
    ] = "",
    state: State = None,
    config: ConfigFile = None,
    verbose: Verbose = 0,
) -> None:
    """Carry messages of an MQTT broker to the node, and events to the broker, until interrupted.

    The broker's password is in the environment: ROAMCAST_MQTT_PASSWORD.
    """
    import asyncio

    from roamcast.net.bridge.bridge import Bridge, Crossing
    from roamcast.net.bridge.broker import read_url
    from roamcast.pubsub.text import parse_subscription

    log_to_stderr(verbose)
    address = read_url(url)
    if not in_ and not out:
        raise InputError("what crosses the bridge? --in TOPIC, --out FILTER, or both")
    _check(prefix, validity, name, broker)
    only = parse_subscription(in_filter) if in_filter else None
    leaving = str(parse_subscription(out)) if out else ""
    crossing = Crossing(name, tuple(in_ or ()), only, leaving, prefix, validity, broker or address.name)
    folder = state_of(config, state)

    asyncio.run(_run(lambda: Bridge(folder, address, crossing, ca)))


def _check(prefix: str, validity: float, name: str, broker: str) -> None:
    if not 0 < validity < 1e9:
        raise InputError(f"--validity {validity:g}: must be above 0")
    if not name.isidentifier():
        raise InputError(f"--name {name!r}: must be a word of letters, digits and underscores")
    if " " in broker:
        raise InputError(f"--broker {broker!r}: must be a word")
    if any(letter in prefix for letter in "+#\0"):
        raise InputError(f"--prefix {prefix!r}: must have no + and no #")


async def _run(made: Callable[[], Bridge]) -> None:
    import asyncio
    import contextlib
    import logging
    import signal

    bridge = made()  # in a running loop
    running = asyncio.create_task(bridge.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.cancel)
    notify_systemd("READY=1")
    with contextlib.suppress(asyncio.CancelledError):
        await running
    counts = bridge.counts
    log = logging.getLogger("roamcast.bridge")
    log.info("%d messages became events, %d events became messages", counts.taken, counts.given)
