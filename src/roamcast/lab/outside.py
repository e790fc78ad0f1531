"""Which code a class from outside consists of: its module, and what that imports of the same package or folder.

A run's id has a digest of this code, so that results of an older version are never taken for those of a newer one. What
is imported is read from the sources and not observed, because a module may be loaded for other reasons, or later. Other
packages are not looked at: they are installed, and change by their versions.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path


def digest(outside: type) -> str:
    """Of all sources of a class; of its name alone where it has none, such as a class typed into an interpreter."""
    state = hashlib.blake2b(digest_size=8)
    for name, path in sorted(sources(outside).items()):
        state.update(name.encode() + b"\0" + path.read_bytes())
    if not sources(outside):
        state.update(outside.__qualname__.encode())
    return state.hexdigest()


def sources(outside: type) -> dict[str, Path]:
    """The modules of a class by name, with their files."""
    own = _file_of(outside)
    if own is None:
        return {}
    home = _home(outside.__module__, own)
    modules: dict[str, Path] = {}
    waiting = [(outside.__module__, own)]
    while waiting:
        name, path = waiting.pop()
        if name not in modules:
            modules[name] = path
            waiting += [*_imported(name, path, home)]
    return modules


def _file_of(outside: type) -> Path | None:
    try:
        file = inspect.getsourcefile(outside)
    except (TypeError, OSError):
        return None
    return Path(file) if file and Path(file).exists() else None


def _home(name: str, path: Path) -> Path:
    """The folder of its package, or the one that the module is in."""
    package = sys.modules.get(name.partition(".")[0])
    places = list(getattr(package, "__path__", []))
    return Path(places[0]).resolve() if places else path.resolve().parent


def _imported(name: str, path: Path, home: Path) -> Iterator[tuple[str, Path]]:
    """The modules in `home` that the source of a module imports, anywhere in it."""
    for wanted in _names(ast.parse(path.read_bytes()), name, path.name == "__init__.py"):
        top = wanted.partition(".")[0]
        if _at_home(top, home) and (file := _at_home(wanted, home)):  # looking for a.b imports a
            yield wanted, file


def _at_home(name: str, home: Path) -> Path | None:
    file = _located(name)
    return file if file is not None and file.resolve().is_relative_to(home) else None


def _names(tree: ast.Module, name: str, is_package: bool) -> Iterator[str]:
    """All names that may be modules: `from a import b` may mean a module a.b, and always runs a."""
    package = name if is_package else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            for alias in node.names:
                yield from _parents(f"{base}.{alias.name}")


def _parents(name: str) -> Iterator[str]:
    """a, a.b and a.b.c: importing a module runs the packages that it is in."""
    words = name.split(".")
    for k in range(len(words)):
        yield ".".join(words[: k + 1])


def _located(name: str) -> Path | None:
    try:
        spec: ModuleSpec | None = find_spec(name)
    except (ImportError, ValueError, AttributeError):  # a name that is no module, or that cannot be looked for
        return None
    file = spec.origin if spec else None
    return Path(file) if file and file.endswith(".py") else None
