"""Fresh environments with roamcast from a wheel and only the packages that it requires. No network is needed.

The packages are those of the environment that runs the tests, linked one by one, so an environment has exactly what
`pip install 'roamcast[EXTRA]'` would bring.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.checkout import ROOT

PARTS = ("LICENSE", "README.md", "build/compiled", "pyproject.toml", "setup.py", "src")
"""The parts of the checkout that a wheel is made from."""


def build(folder: Path, *, pure: bool) -> Path:
    """The wheel of this checkout, built from a copy of it in `folder`."""
    copy = folder / "checkout"
    for part in PARTS:
        _copy(ROOT / part, copy / part)
    words = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(folder),
        str(copy),
    ]
    pip(*words, ROAMCAST_PURE="1" if pure else "0")
    (wheel,) = folder.glob("*.whl")
    return wheel


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    elif source.exists():
        shutil.copy2(source, target)


def pip(*words: str, **environment: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, env=_clean(**environment), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _clean(**more: str) -> dict[str, str]:
    """The environment without anything that would let a program find the checkout."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "100", **more}


class Bare:
    """An environment in `folder` with this wheel and the packages of these extras. Commands run in `folder/here`."""

    def __init__(self, folder: Path, wheel: Path, *extras: str) -> None:
        self.bin = folder / "bin"
        self.here = folder / "here"
        self.here.mkdir(parents=True)
        venv.create(folder, symlinks=True)
        self._python = str(self.bin / "python")
        pip("--python", self._python, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel))
        (self.packages,) = folder.glob("lib/python*/site-packages")
        (metadata,) = self.packages.glob("roamcast-*.dist-info")
        for name in sorted(needed(Distribution.at(metadata), set(extras))):
            _link(distribution(name), self.packages)

    def check(self) -> str:
        """What pip says about the packages: whether each has what it asks for."""
        return pip("--python", self._python, "check")

    def roamcast(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self._run([str(self.bin / "roamcast"), *words], **environment)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        return self._run([self._python, "-c", code])

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        command = [str(self.bin / "roamcast"), *words]
        return subprocess.Popen(
            command, cwd=self.here, env=self._environment(**environment), stderr=subprocess.PIPE, text=True
        )

    def _run(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.here, env=self._environment(**environment), capture_output=True, text=True
        )

    def _environment(self, **more: str) -> dict[str, str]:
        return _clean(HOME=str(self.here), **more)


def needed(start: Distribution, extras: set[str]) -> set[str]:
    """The names of all distributions that one of them needs, directly or not."""
    required: set[str] = set()
    done: set[tuple[str, str]] = set()
    waiting = [(start, extra) for extra in ("", *extras)]
    while waiting:
        current, extra = waiting.pop()
        if (current.name, extra) in done:
            continue
        done.add((current.name, extra))
        for requirement in map(Requirement, current.requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                name = canonicalize_name(requirement.name)
                other = start if name == canonicalize_name(start.name) else distribution(name)
                waiting += [(other, each) for each in ("", *requirement.extras)]
                required |= {name} - {canonicalize_name(start.name)}
    return required


def _link(package: Distribution, place: Path) -> None:
    """Everything of it that is imported, and its metadata; not its commands."""
    for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
        target = place / top
        if not target.exists():
            target.symlink_to(Path(str(package.locate_file(top))))
