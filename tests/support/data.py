"""Reference data that is not part of the project: tests that need it are skipped, visibly, where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def data(name: str) -> Path:
    """The file `name` of the folder $ROAMCAST_DATA (or of ../shared/data beside the checkout); skips the test without
    it."""
    folder = Path(os.environ.get("ROAMCAST_DATA") or CHECKOUT / ".." / "shared" / "data")
    path = folder / name
    if not path.exists():
        pytest.skip(f"no reference data {name}: set ROAMCAST_DATA to the folder that has it")
    return path
