"""`roamcast key`: the group's keys, made and changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roamcast.cli.help import Verbs
from roamcast.cli.options import ConfigFile, State, state_of

app = typer.Typer(cls=Verbs, no_args_is_help=True, add_completion=False, help="The keys of a group of nodes.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the group's keys.")]


@app.callback()
def key() -> None:
    """The keys of a group of nodes."""


@app.command()
def new(file: File) -> None:
    """Make a key for a new group. Give every node a copy, and nobody else."""
    from roamcast.net.trust.keys import KeyRing

    ring = KeyRing.new()
    ring.save(file)
    print(f"{file}: key {ring.sending.id:04x} of the new group {ring.group.hex()}; copy it to every node")


@app.command()
def next(file: File) -> None:
    """First step of a rotation: add a key that is accepted but does not send yet."""
    from roamcast.net.trust.keys import KeyRing

    ring = KeyRing.load(file).with_next()
    ring.save(file, replace=True)
    print(f"{file}: key {ring.keys[-1].id:04x} is accepted; when every node has this file: roamcast key promote")


@app.command()
def promote(file: File) -> None:
    """Second step: the newest key sends, the older ones are still accepted."""
    from roamcast.net.trust.keys import KeyRing

    ring = KeyRing.load(file).promoted()
    ring.save(file, replace=True)
    print(f"{file}: key {ring.sending.id:04x} sends; when every node has this file: roamcast key retire")


@app.command()
def retire(file: File) -> None:
    """Third step: keys older than the one that sends are dropped."""
    from roamcast.net.trust.keys import KeyRing

    ring = KeyRing.load(file).retired()
    ring.save(file, replace=True)
    print(f"{file}: only key {ring.sending.id:04x} is left")


@app.command()
def rotate(
    go_on: Annotated[bool, typer.Option("--go-on", help="Do not wait for members that are missing.")] = False,
    state: State = None,
    config: ConfigFile = None,
) -> None:
    """Give the group a new key over the air, through a running node: for those on its roster, and nobody else."""
    from roamcast.net.control.client import Connection
    from roamcast.net.control.messages import Rotate, Rotating

    with Connection(state_of(config, state)) as node:
        progress = node.request(Rotate(go_on), Rotating).progress
    print(f"{progress}; `roamcast status` shows how far it is" if progress else "the rotation is complete")
