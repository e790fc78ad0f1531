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


def gather_settings(config: Path | None, flags: dict[str, Any]) -> dict[str, Any]:
    """The settings in file, environment and flags, and the default for the state."""
    from roamcast.net.config import gather

    file = config or os.environ.get("ROAMCAST_CONFIG") or None
    settings = gather(file, os.environ, flags)
    settings.setdefault("state", str(default_state()))
    return settings


def default_state() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/roamcast")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "roamcast"


def state_of(config: Path | None, state: Path | None) -> Path:
    """The state folder of a running node."""
    folder = gather_settings(config, {"state": None if state is None else str(state)})["state"]
    if not isinstance(folder, str):
        raise InputError(f"state={folder}: must be a folder")
    return Path(folder)
