"""`roamcast subscribe`: listen through a node that runs on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roamcast.cli.options import ConfigFile, State, state_of
from roamcast.errors import InputError

if TYPE_CHECKING:
    from roamcast.net.control.messages import ReceivedEvent

LONGEST_S = 1e9


def subscribe(
    filter: Annotated[
        str | None, typer.Argument(metavar="FILTER", help="'temperature > 30 and topic weather'", show_default=False)
    ] = None,
    name: Annotated[
        str,
        typer.Option(metavar="NAME", help="Remember the position: a later command with this name goes on there."),
    ] = "",
    after: Annotated[
        int | None,
        typer.Option(
            metavar="POSITION", help="Begin behind this position (--json shows it); 0: all.", show_default="now"
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", help="Leave after N events; 0: never.")] = 0,
    patience: Annotated[
        float | None, typer.Option(metavar="S", help="Leave if nothing comes for so long.", show_default="never")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="End the subscription --name for good.")] = False,
    state: State = None,
    config: ConfigFile = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON object for each event, a line each.")] = False,
) -> None:
    """Print events as they come, until interrupted."""
    from roamcast.net.control.client import Connection
    from roamcast.net.control.messages import Done, Forget, Subscribe, Subscribed

    if count < 0:
        raise InputError(f"--count {count}: must be at least 0")
    if patience is not None and not 0 < patience < LONGEST_S:
        raise InputError(f"--patience {patience:g}: must be above 0")
    if after is not None and after < 0:
        raise InputError(f"--after {after}: must be at least 0")
    if forget and not name:
        raise InputError("--forget needs --name NAME")
    if filter is None and not forget:
        raise InputError("what to listen for? FILTER, such as 'temperature > 30'")
    with Connection(state_of(config, state)) as node:
        if filter is None or forget:
            node.request(Forget(name), Done)
            return
        node.request(Subscribe(filter, name, after), Subscribed)
        try:
            for number, event in enumerate(node.events(patience), start=1):
                print(_json(event) if json else line(event), flush=True)
                if number == count:
                    return
        except KeyboardInterrupt:
            return


def _json(event: ReceivedEvent) -> str:
    import json

    from roamcast.net.control.messages import plain

    return json.dumps(plain(event))


def line(event: ReceivedEvent) -> str:
    """`weather.roof temperature=31.5 "hello" from 1234`, without characters that a terminal would act on."""
    words = [event.topic] if event.topic else []
    words += [f"{name}={_shown(value)}" for name, value in event.attrs.items()]
    if event.payload:
        try:
            words.append(f'"{event.payload.decode()}"')
        except UnicodeDecodeError:
            words.append(f"{len(event.payload)} bytes")
    words.append(f"from {event.publisher}")
    return "".join(c if c.isprintable() else "�" for c in " ".join(words))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
