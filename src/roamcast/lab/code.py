"""Which program this is: its version, and a digest of the sources that decide what a run gives.

It imports nothing else of roamcast, because a worker asks before it knows which roamcast to take.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import roamcast

DECIDING = ("errors.py", "plugins.py", "pubsub", "protocols", "log", "world")
"""The parts of the package that decide what a run gives."""


PACKAGE = Path(roamcast.__file__).parent


@cache
def version() -> str:
    """Of what decides results: in every run's id."""
    return _digest([path for part in DECIDING for path in _sources(PACKAGE / part)])


@cache
def measuring() -> str:
    """Of what decides which metrics a log gives."""
    return _digest([path for part in ("log", "pubsub", "lab/measure") for path in _sources(PACKAGE / part)])


@cache
def whole() -> str:
    """Of all sources: what driver and workers must have in common."""
    return _digest(_sources(PACKAGE))


def _sources(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _digest(paths: list[Path]) -> str:
    state = hashlib.blake2b(digest_size=8)
    for path in paths:
        state.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{roamcast.__version__}+{state.hexdigest()}"
