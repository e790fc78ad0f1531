"""Real nodes: one in this program, or one that runs in another process of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roamcast.errors import InputError, unknown
from roamcast.net.air import networks
from roamcast.net.air.medium import MEDIA
from roamcast.net.config import GROUPS, configured, gather, names
from roamcast.net.control.remote import RemoteNode
from roamcast.net.node import node
from roamcast.protocols import registry


class Node(node.Node):
    """A node in this program: `async with rc.Node(key="group.key", interface="lo") as n`.

    The settings are those of `roamcast node`, by the same names. One of a group is written without it (`interface` for
    `network.interface`), or the group is a dictionary (`bounds={"received": 100}`), also one of dictionaries
    (`network={"mesh": {"interface": "wlan0"}, "modem": {"medium": "serial", "device": "/dev/ttyUSB0"}}`). `protocol`
    and `medium` may be classes. `config` is a file of settings, over which the others win.
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
            inner = networks.flat(value) if name == networks.GROUP else {f"{name}.{k}": v for k, v in value.items()}
            full |= {field: _by_name(field, entry) for field, entry in inner.items()}
        else:
            full[_full_name(name, known)] = _by_name(name, value)
    return full


def _by_name(name: str, value: Any) -> Any:
    """A path as a text, and a class by the name that settings have for it."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, type):
        return MEDIA.name_of(value) if name.rpartition(".")[2] == networks.KIND else registry.name_of(value)
    return value


def _full_name(name: str, known: list[str]) -> str:
    matching = [field for field in known if field == name or field.partition(".")[2] == name]
    if len(matching) > 1:
        raise InputError(f"{name}: which one? {' or '.join(matching)}; write it as a dictionary of its group")
    if not matching:
        raise unknown("setting", name, [field.rpartition(".")[2] for field in known])
    return matching[0]
