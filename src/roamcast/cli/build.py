"""Whether the modules in use are compiled, and whether they are up to date with their sources."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import roamcast


def mode() -> str:
    spec = find_spec("roamcast.errors")
    compiled = spec is not None and spec.origin is not None and not spec.origin.endswith(".py")
    return "compiled" if compiled else "pure Python"


def stale(package: Path) -> list[Path]:
    """Sources of a checkout that were changed after they were compiled.

    In an installed package, dates are those of its installation and say nothing.
    """
    if not (package.parents[1] / "setup.py").exists():
        return []
    sources = ((so.with_name(so.name.partition(".")[0] + ".py"), so) for so in sorted(package.rglob("*.so")))
    return [source for source, so in sources if source.exists() and source.stat().st_mtime > so.stat().st_mtime]


def warn_if_stale() -> None:
    changed = stale(Path(roamcast.__file__).parent)
    if changed:
        names = ", ".join(path.name for path in changed[:3]) + (", …" if len(changed) > 3 else "")
        print(f"roamcast: warning: changed since they were compiled: {names}; run make setup", file=sys.stderr)
