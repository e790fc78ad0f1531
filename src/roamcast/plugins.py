"""Classes by name: those of roamcast itself, those of installed packages, and any class that can be imported.

A module is imported only when its class is requested. A package adds classes of its own through an entry point group;
a class that is in no package is named by `module:Class`. A package cannot replace a built-in name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import reduce
from importlib import import_module
from typing import Any

from roamcast.errors import InputError, one_line, unknown


class Registry:
    """The classes of one kind. `what` is its name for people; `base` is the class ("module:Class") that all of them
    extend, and `public` the name under which documentation imports it."""

    def __init__(self, what: str, group: str, base: str, built_in: Mapping[str, str], public: str = "") -> None:
        self.what = what
        self.group = group
        self.base = base
        self.public = public or base.replace(":", ".")
        self.built_in = built_in

    def names(self) -> list[str]:
        """Every name that `get` knows: the built-in ones in their order, then those of other packages by name."""
        return [*self.built_in, *sorted(name for name in self._installed() if name not in self.built_in)]

    def check(self, name: str) -> None:
        """Refuse a name that `get` does not know; nothing is imported."""
        self._target(name)

    def get(self, name: str) -> Any:
        """The class behind a name, or behind `module:Class`."""
        target = self._target(name)
        try:
            loaded = _load(target)
        except Exception as error:  # a module of another package can fail at import in any way
            raise InputError(f"{self.what} {name!r} cannot be loaded: {one_line(error)}") from error
        self.check_class(name, target, loaded)
        return loaded

    def name_of(self, cls: type) -> str:
        """The name that `get` knows a class by: `module:Class`."""
        name = f"{cls.__module__}:{cls.__qualname__}"
        self.check_class(name, name, cls)
        try:
            known = self.get(name)
        except InputError as error:
            raise InputError(f"{error}; a class must be at the top of a module that can be imported") from None
        if known is not cls:
            raise InputError(f"{self.what} {name!r}: this name now stands for another class")
        return name

    def check_class(self, name: str, target: str, loaded: object) -> None:
        """Refuse what does not extend the base."""
        if not (isinstance(loaded, type) and issubclass(loaded, _load(self.base))):
            raise InputError(f"{self.what} {name!r}: {target} is not a subclass of {self.public}")

    def _target(self, name: str) -> str:
        if name in self.built_in:
            return self.built_in[name]
        module, colon, attribute = name.partition(":")
        if colon:
            if not module or not attribute:
                raise InputError(f"{self.what} {name!r}: must be a name or module:Class")
            return name
        installed = self._installed()
        if name not in installed:
            raise unknown(self.what, name, self.names())
        targets = installed[name]
        if len(targets) > 1:
            raise InputError(f"{self.what} {name!r}: several packages have one; name yours: {' or '.join(targets)}")
        return targets[0]

    def _installed(self) -> dict[str, list[str]]:
        """The classes of other packages by name. Two packages may have chosen the same name."""
        from importlib.metadata import entry_points  # here, because it is rarely needed and takes long to load

        targets: dict[str, list[str]] = {}
        for point in entry_points(group=self.group):
            if point.value not in targets.setdefault(point.name, []):
                targets[point.name].append(point.value)
        return {name: sorted(classes) for name, classes in targets.items()}


def import_from(folder: str) -> None:
    """Import also from this folder: a class named `module:Class` is most likely in the folder of the command."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return reduce(getattr, attribute.split("."), import_module(module))
