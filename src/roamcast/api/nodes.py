"""Real nodes: one in this program, or one that runs in another process of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roamcast.errors import InputError, unknown
from roamcast.net.config import GROUPS, configured, gather, names
from roamcast.net.control.remote import RemoteNode
from roamcast.net.node import node
from roamcast.protocols import registry


class Node(node.Node):
    """A node in this program: `async with rc.Node(key="group.key", interface="lo") as n`.

    The settings are those of `roamcast node`, by the same names. One of a group is written without it (`interface` for
    `network.interface`), or the group is a dictionary (`bounds={"received": 100}`). `protocol` may be a class. `config`
    is a file of settings, over which the others win.
    """

    def __init__(self, *, config: str | Path | None = None, **settings: Any) -> None:
        super().__init__(configured(gather(config, {}, _full_names(settings))))


def connect(state: str | Path) -> RemoteNode:
    """The node that runs on this folder: `async with rc.connect("~/node") as n`."""
    return RemoteNode(state)


def _full_names(settings: dict[str, Any]) -> dict[str, Any]:
    known = names()
    full: dict[str, Any] = {}
    for name, value in settings.items():
        if name in (*GROUPS, "params"):
            if not isinstance(value, dict):
                raise InputError(f"{name}: must be a dictionary from names to values")
            full |= {f"{name}.{field}": entry for field, entry in value.items()}
        elif isinstance(value, Path):
            full[_full_name(name, known)] = str(value)
        elif isinstance(value, type):
            full[_full_name(name, known)] = registry.name_of(value)
        else:
            full[_full_name(name, known)] = value
    return full


def _full_name(name: str, known: list[str]) -> str:
    matching = [field for field in known if field == name or field.partition(".")[2] == name]
    if len(matching) > 1:
        raise InputError(f"{name}: which one? {' or '.join(matching)}; write it as a dictionary of its group")
    if not matching:
        raise unknown("setting", name, [field.rpartition(".")[2] for field in known])
    return matching[0]
