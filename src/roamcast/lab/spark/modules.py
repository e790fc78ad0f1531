"""Modules that a worker imports from the folder of the command.

A worker of Spark does the tasks of one campaign after the other. Two of them may be started in two folders that both
have a module of one name, and each must get its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from roamcast.plugins import import_from

_added: list[str] = []
"""The folder that was added last, if one was."""


def only_from(folder: str) -> None:
    """Import also from this folder, and no longer from the one that was given before."""
    if _added and _added[0] != folder:
        _forget(_added.pop())
    if folder not in sys.path:
        import_from(folder)
        _added[:] = [folder]


def _forget(folder: str) -> None:
    sys.path.remove(folder)
    places = {name: getattr(module, "__file__", None) for name, module in sys.modules.items() if "." not in name}
    own = {name for name, file in places.items() if file and _is_in(Path(folder), Path(file))} - {"roamcast"}
    for name in [name for name in sys.modules if name.partition(".")[0] in own]:
        del sys.modules[name]


def _is_in(folder: Path, file: Path) -> bool:
    return file.parent == folder or (file.name == "__init__.py" and file.parent.parent == folder)
