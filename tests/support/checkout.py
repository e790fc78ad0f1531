"""The checkout that is tested, and what its setup.py can say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import setuptools

ROOT = Path(__file__).parents[2]


def setup_py() -> dict[str, Any]:
    """setup.py's functions, without building anything."""
    real = setuptools.setup
    setuptools.setup = lambda **_: None
    try:
        return runpy.run_path(str(ROOT / "setup.py"))
    finally:
        setuptools.setup = real
