"""Options that the verbs about real nodes share: file, environment and flags become one configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from roamcast.errors import InputError

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings (TOML); also ROAMCAST_CONFIG.", show_default="none"),
]
State = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The node's memory; also ROAMCAST_STATE.", show_default="of this user"),
]


def said(config: Path | None, flags: dict[str, Any]) -> dict[str, Any]:
    """What file, environment and flags say, and where the state is if they do not."""
    from roamcast.net.config import gather

    file = config or os.environ.get("ROAMCAST_CONFIG") or None
    found = gather(file, os.environ, flags)
    found.setdefault("state", str(default_state()))
    return found


def default_state() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/roamcast")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "roamcast"


def state_of(config: Path | None, state: Path | None) -> Path:
    """Where a running node is found."""
    found = said(config, {"state": None if state is None else str(state)})["state"]
    if not isinstance(found, str):
        raise InputError(f"state={found}: must be a folder")
    return Path(found)
