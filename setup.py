"""Builds roamcast, compiled by mypyc where that is possible.

All compiled modules form ONE group: a module compiled in a second run against the compiled interface would call the
wrong methods without a word. What is compiled must also run as plain Python and give the same fingerprints, so that a
machine without a C compiler only loses speed.

    python setup.py compile         compile in place (src/**/*.so) if a source has changed; what `make setup` calls
    ROAMCAST_PURE=1                 in the environment: do not compile

`build/compiled` says what the checkout holds now: a digest of the sources and "compiled" or "pure Python: why".
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
SOURCE = ROOT / "src"
STAMP = ROOT / "build" / "compiled"

COMPILED = [
    "errors.py",
    "pubsub/*.py",
    "protocols/*.py",
    "protocols/*/*.py",
    "log/*.py",
    "world/*.py",
    *(f"world/{package}/*.py" for package in ("air", "contacts", "mac", "mobility", "radio")),
]
INTERPRETED = {
    "world/scenario.py",  # msgspec builds the class with a metaclass of its own
    "world/specs.py",  # mypyc would let everybody change a frozen dataclass
    # before and after a run, so that compiling them would only take time:
    "log/arrays.py",
    "log/catalogue.py",
    "log/interest.py",
    "log/metric.py",
    "log/opened.py",
    "log/reader.py",
    "world/assembly.py",
    "world/fields.py",
    "world/parts.py",
    "world/simulate.py",
    "world/workload.py",
}
FLAGS = ["-ffp-contract=off"]  # fused multiply-add would change last bits, and with them fingerprints, between machines


def compiled_sources() -> list[Path]:
    package = SOURCE / "roamcast"
    found = [path for pattern in COMPILED for path in sorted(package.glob(pattern))]
    skipped = {package / name for name in INTERPRETED}
    return [path for path in found if path.name != "__init__.py" and path not in skipped]


def wanted() -> bool:
    return os.environ.get("ROAMCAST_PURE", "") in ("", "0")


def digest() -> str:
    """Over everything that decides what the compiler would make. The layers below are all that these modules import."""
    try:
        compiler = version("mypy")
    except PackageNotFoundError:
        compiler = ""
    tools = f"{wanted()} {sys.version} {platform.machine()} {compiler} {shutil.which(os.environ.get('CC', 'cc'))}"
    state = hashlib.blake2b(tools.encode(), digest_size=16)
    layers = (SOURCE / "roamcast" / name for name in ("pubsub", "protocols", "log", "world"))
    below = (SOURCE / "roamcast" / name for name in ("errors.py", "files.py", "plugins.py"))
    for path in [Path(__file__), *below, *(p for layer in layers for p in layer.rglob("*.py"))]:
        state.update(f"{path.relative_to(ROOT)} {hashlib.blake2b(path.read_bytes()).hexdigest()}".encode())
    return state.hexdigest()


def extensions() -> list[Extension]:
    from mypyc.build import mypycify

    os.environ["MYPYPATH"] = str(SOURCE)
    paths = [str(path.relative_to(ROOT)) for path in compiled_sources()]
    made: list[Extension] = mypycify(paths, opt_level="3", debug_level="0", group_name="roamcast")
    for extension in made:
        extension.extra_compile_args = [*extension.extra_compile_args, *FLAGS]
    return made


def shared_objects(root: Path = SOURCE) -> list[Path]:
    return [path for pattern in ("*__mypyc*.so", "roamcast/**/*.so") for path in root.glob(pattern)]


def remove_compiled(root: Path = SOURCE) -> None:
    for path in shared_objects(root):
        path.unlink()


def date_now() -> None:
    """Compiled modules are what the sources say now, whatever dates a checkout or a build that had less to do left."""
    for path in shared_objects():
        path.touch()


class MaybeCompiled(Distribution):
    def has_ext_modules(self) -> bool:
        return wanted()


class BuildExt(build_ext):
    """Compile the whole group or nothing: half a group would be imported and fail."""

    def finalize_options(self) -> None:
        self.failure = "" if wanted() else "ROAMCAST_PURE is set"
        if wanted():
            try:
                self.distribution.ext_modules = extensions()
            except ImportError as error:
                self.failure = f"mypyc is not installed ({error.name})"
            except SystemExit:
                self.failure = "mypyc refused the sources (see build/compile.log)"
        super().finalize_options()

    def run(self) -> None:
        in_place = bool(self.inplace)  # which the base class forgets when it fails
        if in_place:
            remove_compiled()
        if not self.failure:
            try:
                super().run()
            except Exception as error:  # whatever a compiler can fail with, plain Python still works
                print(error, file=sys.stderr)
                self.failure = "the C compiler failed (see build/compile.log)"
        if self.failure:
            self.extensions = []
            remove_compiled(SOURCE if in_place else Path(self.build_lib))
        mode = f"pure Python: {self.failure}" if self.failure else "compiled"
        if in_place:
            date_now()
            STAMP.parent.mkdir(exist_ok=True)
            STAMP.write_text(f"{digest()}\n{mode}\n")
        print(f"roamcast: {mode}", file=sys.stderr)


class Compile(Command):
    """Compile in place, if anything has changed since the last time."""

    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None: ...

    def finalize_options(self) -> None: ...

    def run(self) -> None:
        if STAMP.exists() and STAMP.read_text().startswith(digest()) and self.complete():
            date_now()
            return
        build = self.reinitialize_command("build_ext", inplace=1)
        build.ensure_finalized()
        self.run_command("build_ext")

    def complete(self) -> bool:
        compiled = STAMP.read_text().splitlines()[1] == "compiled"
        return len(shared_objects()) == (len(compiled_sources()) + 1 if compiled else 0)


setup(distclass=MaybeCompiled, cmdclass={"build_ext": BuildExt, "compile": Compile})
