"""Interpreters that find fewer packages than this one."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow

ROOT = Path(__file__).resolve().parents[2]


def without(place: Path, *packages: str) -> Path:
    """A program `python` that finds all installed packages except these, and only this checkout's roamcast."""
    linked = place / "packages"
    linked.mkdir(parents=True)
    for entry in Path(pyarrow.__file__).parents[1].iterdir():
        if not any(name in entry.name for name in ("roamcast", *packages)):
            (linked / entry.name).symlink_to(entry)
    path = str(linked) if "roamcast" in packages else f"{ROOT / 'src'}:{linked}"
    python = place / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python
