"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roamcast.cli import completion
from roamcast.errors import InputError, error_text
from roamcast.plugins import import_from

if TYPE_CHECKING:
    from roamcast.pubsub.event import Value

# ---- KEY=VALUE

Parameters = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the protocol. Repeatable.")
]

World = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="A field of the scenario (`roamcast fields`). Repeatable.",
        autocompletion=completion.fields,
    ),
]
SentencesOf = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="module:Class, for the sentences of your own protocol.",
        show_default="all built-in",
        autocompletion=completion.protocols,
    ),
]
Reading = Annotated[
    str, typer.Option(metavar="NAME", help="Another reading of the paper: `roamcast presets PRESET` lists them.")
]


def pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """`["p=0.5", …]` as a dictionary; `option` is named if one of them is wrong."""
    values: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or not value:
            raise InputError(f"{option} {text!r}: must be KEY=VALUE")
        if name in values:
            raise InputError(f"{option} {text!r}: {name} is given twice")
        values[name] = value
    return values


def import_from_here() -> None:
    """A class that is named `module:Class` is most likely in a file of the current folder."""
    import_from(str(Path.cwd()))


def typed_value(text: str) -> Value:
    """A number or a truth value if it reads like one; what is in quotes is a text in any case."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# ---- figures

PICTURES = (".svg", ".png", ".pdf")


def check_picture(option: str, path: Path | None) -> None:
    if path is not None and path.suffix not in PICTURES:
        raise InputError(f"{option} {path}: must end with {', '.join(PICTURES)}")


# ---- Spark

EMBEDDED = "local[*]"
Master = Annotated[str, typer.Option(metavar="URL", help="Spark's master: local[N], spark://host:port, yarn, …")]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's. Repeatable.")
]


def start_spark(folder: str | Path, master: str, conf: list[str] | None, ui: bool = False) -> Any:
    """The Spark session that these options describe; its log and temporary files are in `folder`. If that is not on
    this machine, they are in a temporary one."""
    from roamcast import storage
    from roamcast.lab.spark import session

    place = storage.at(folder).path or storage.scratch()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error_text(error)}") from None
    return session.session(master, conf=pairs("--conf", conf), ui=ui, log=place / "spark.log", scratch=place / ".spark")


# ---- real nodes

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings (TOML); also ROAMCAST_CONFIG.", show_default="none"),
]
State = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of the node's state; also ROAMCAST_STATE.", show_default="of this user"
    ),
]


Port = Annotated[
    int, typer.Option(metavar="N", help="With --web: the port on 127.0.0.1.", show_default="any that is free")
]


def serve_page(state: Path, port: int, every_s: float) -> None:
    """The page of a running node, for browsers on this machine, until Ctrl-C."""
    from roamcast.show.replay.live import Server

    with Server(state, port, every_s) as server:
        print(f"{server.address} (Ctrl-C ends it)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def node_settings(config: Path | None, flags: dict[str, Any]) -> dict[str, Any]:
    """The settings of a node from file, environment and flags, and a folder for its state if they name none."""
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
    """The state folder of the running node that a command talks to."""
    folder = node_settings(config, {"state": None if state is None else str(state)})["state"]
    if not isinstance(folder, str):
        raise InputError(f"state={folder}: must be a folder")
    return Path(folder)


Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Say more; twice: everything.", show_default=False)
]
LogFormat = Annotated[str, typer.Option(metavar="FORMAT", help="Of the lines on stderr: text or json.")]


def log_to_stderr(verbose: int, format: str = "text") -> None:
    """What a command that runs for long says: a line each, as a text or as a JSON object."""
    import logging

    from roamcast.cli.log_lines import FORMATTERS

    if format not in FORMATTERS:
        raise InputError(f"--log-format {format}: must be {' or '.join(FORMATTERS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(FORMATTERS[format]())
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, handlers=[handler])


def notify_systemd(state: str) -> None:
    """`Type=notify`: a unit is up when its process says so. Does nothing if systemd did not start this process."""
    import contextlib
    import socket

    address = os.environ.get("NOTIFY_SOCKET", "")
    if address.startswith(("/", "@")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notification, contextlib.suppress(OSError):
            notification.settimeout(1.0)
            notification.sendto(state.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
