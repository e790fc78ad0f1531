"""Reference data that is not part of the project: tests that need it are skipped, visibly, if it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def find(name: str) -> Path | None:
    """The file `name` of the folder $ROAMCAST_DATA (or of ../shared/data beside the checkout), if it is there."""
    path = Path(os.environ.get("ROAMCAST_DATA") or CHECKOUT / ".." / "shared" / "data") / name
    return path if path.exists() else None


def data(name: str) -> Path:
    """The same; skips the test if the file is absent."""
    path = find(name)
    if path is None:
        pytest.skip(f"no reference data {name}: set ROAMCAST_DATA to the folder that has it")
    return path
