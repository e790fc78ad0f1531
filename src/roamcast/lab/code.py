"""Which program this is: its version, and a digest of the sources that decide what a run gives.

It imports nothing else of roamcast, because a worker asks before it knows which roamcast to take.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import roamcast

DECIDING = ("errors.py", "pubsub", "protocols", "log", "world")
"""The parts of the package that decide what a run gives."""


@cache
def version() -> str:
    package = Path(roamcast.__file__).parent
    state = hashlib.blake2b(digest_size=8)
    for part in DECIDING:
        place = package / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            state.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{roamcast.__version__}+{state.hexdigest()}"
