"""A checkout of roamcast, and the cases that it runs: compiled as it stands, or from a copy without compiled files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

PURE: Final = "pure "
"""Before the name of a case that is to run as plain Python."""

Figures = dict[str, Any]


class Checkout:
    def __init__(self, root: Path, copies: Path) -> None:
        """`copies` is a folder for temporary files."""
        self.root = root
        self._pure = Path(mkdtemp(dir=copies))

    def run(self, case: str, *arguments: str) -> Figures:
        """Run a case in a process of its own."""
        name = case.removeprefix(PURE)
        package = self.root / "src" if name == case else self._pure_package()
        command = [sys.executable, str(self.root / "bench" / "cases.py"), name, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(package)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            sys.exit(f"bench: {case} failed in {self.root}\n{done.stderr}")
        figures: Figures = json.loads(done.stdout)
        return figures

    def _pure_package(self) -> Path:
        """Imports prefer compiled files wherever they lie beside the sources, so plain Python needs a copy."""
        if not (self._pure / "roamcast").exists():
            compiled = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(self.root / "src" / "roamcast", self._pure / "roamcast", ignore=compiled)
        return self._pure
