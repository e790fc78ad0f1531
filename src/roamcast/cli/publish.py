"""`roamcast publish`: publish an event through a node that runs on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from roamcast.cli.options import ConfigFile, State, pairs, state_of, typed_value


def publish(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="weather.roof; '' for none.")],
    attributes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="temperature=31.5 open=true room=lab")
    ] = None,
    payload: Annotated[str, typer.Option(metavar="TEXT", help="More to say; - reads it from stdin.")] = "",
    validity: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds until it is over.", show_default="for ever")
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Only of interest nearby.")] = False,
    state: State = None,
    config: ConfigFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Publish an event. When this returns, the node will not forget it."""
    import sys

    from roamcast.net.control.client import Connection
    from roamcast.net.control.messages import Publish, Published, plain

    content = sys.stdin.buffer.read() if payload == "-" else payload.encode()
    attrs = {name: typed_value(text) for name, text in pairs("attribute", attributes).items()}
    with Connection(state_of(config, state)) as node:
        published = node.request(Publish(topic, attrs, content, validity, local), Published)
    if json:
        import json as format

        print(format.dumps(plain(published)))
