"""`roamcast watch`: a page about a node that runs on this machine, the same as `status --web`."""

from __future__ import annotations

from typing import Annotated

import typer

from roamcast.cli.options import ConfigFile, Port, State, serve_page, state_of
from roamcast.errors import InputError


def watch(
    state: State = None,
    config: ConfigFile = None,
    port: Port = 0,
    every: Annotated[float, typer.Option(metavar="S", help="How often rates and tables are new.")] = 1.0,
) -> None:
    """Serve a page that shows a running node: frames and decisions as they happen, neighbours, rates and drops.

    Only browsers on this machine can open it, and it can only look.
    """
    if every <= 0:
        raise InputError(f"--every {every:g}: must be above 0")
    serve_page(state_of(config, state), port, every)
