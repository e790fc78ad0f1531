"""`roamcast motion`: say how fast a node that runs on this machine moves."""

from __future__ import annotations

from typing import Annotated

import typer

from roamcast.cli.options import ConfigFile, State, state_of
from roamcast.errors import InputError

UNKNOWN = "unknown"


def motion(
    speed: Annotated[str, typer.Argument(metavar="SPEED", help=f"In m/s; 0 at rest; '{UNKNOWN}'.")],
    state: State = None,
    config: ConfigFile = None,
) -> None:
    """Say how fast a running node moves. Protocols that use movement or speed get it (psamanet, frugal)."""
    from roamcast.net.control.client import Connection
    from roamcast.net.control.messages import Done, Motion

    try:
        speed_mps = None if speed == UNKNOWN else float(speed)
    except ValueError:
        raise InputError(f"speed {speed!r}: must be a number of m/s, or {UNKNOWN}") from None
    with Connection(state_of(config, state)) as node:
        node.request(Motion(speed_mps), Done)
