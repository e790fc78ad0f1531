"""Builds roamcast, compiled by mypyc where that is possible.

All compiled modules form ONE group: a module compiled in a second run against the compiled interface would call the
wrong methods without a word. What is compiled must also run as plain Python and give the same fingerprints, so that a
machine without a C compiler only loses speed.

    python setup.py compile         compile in place (src/**/*.so) if a source has changed; what `make setup` calls
    ROAMCAST_PURE=1                 in the environment: do not compile

A wheel gets the modules that the checkout has compiled in place if those are what compiling would make again.
`build/compiled` says what the checkout holds now: a digest of the sources and "compiled" or "pure Python: why".
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Distribution, Extension, setup
from setuptools.command.build import build
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
    "world/mesh.py",
    "world/node_list.py",
    "world/parts.py",
    "world/simulate.py",
    "world/workload.py",
}
FLAGS = [
    "-ffp-contract=off",  # fused multiply-add would change last bits, and with them fingerprints, between machines
    "-fwrapv",  # hashes multiply beyond 64 bits, and only the low ones count
    "-fno-semantic-interposition",  # nobody replaces a function of the group: calls within it may be direct, or inlined
    "-fvisibility=hidden",  # nor does anybody else call one: calls from file to file are direct as well
]
AT_LINKING = "-flto=auto"
"""Small functions of other files, as of mypyc's own library, are inlined: 3 to 6 % less time."""


def compiled_sources() -> list[Path]:
    package = SOURCE / "roamcast"
    found = [path for pattern in COMPILED for path in sorted(package.glob(pattern))]
    skipped = {package / name for name in INTERPRETED}
    return [path for path in found if path.name != "__init__.py" and path not in skipped]


def wanted() -> bool:
    return os.environ.get("ROAMCAST_PURE", "") in ("", "0")


def compiler() -> list[str]:
    """The command that setuptools will use."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def takes(flag: str) -> bool:
    """Whether the compiler and its linker make a shared library with this flag, tried out with a tiny one."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "tiny.c")
        source.write_text("int tiny(void) { return 1; }\n")
        command = [*compiler(), "-shared", "-fPIC", flag, str(source), "-o", str(source.with_suffix(".so"))]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:  # there is no compiler
            return False


def flags() -> list[str]:
    return [*FLAGS, AT_LINKING] if takes(AT_LINKING) else FLAGS


def digest() -> str:
    """Over everything that decides what the compiler would make. The layers below are all that these modules import."""
    try:
        mypy = version("mypy")
    except PackageNotFoundError:
        mypy = ""
    tools = f"{wanted()} {sys.version} {platform.machine()} {mypy} {shutil.which(compiler()[0])}"
    state = hashlib.blake2b(tools.encode(), digest_size=16)
    layers = (SOURCE / "roamcast" / name for name in ("pubsub", "protocols", "log", "world"))
    below = (SOURCE / "roamcast" / name for name in ("errors.py", "extras.py", "files.py", "plugins.py"))
    for path in [Path(__file__), *below, *(p for layer in layers for p in layer.rglob("*.py"))]:
        state.update(f"{path.relative_to(ROOT)} {hashlib.blake2b(path.read_bytes()).hexdigest()}".encode())
    return state.hexdigest()


def extensions() -> list[Extension]:
    from mypyc.build import mypycify

    os.environ["MYPYPATH"] = str(SOURCE)
    paths = [str(path.relative_to(ROOT)) for path in compiled_sources()]
    # a C file for each module: one for all of them takes one core for twice as long, and is no faster in the end
    made: list[Extension] = mypycify(paths, opt_level="3", debug_level="0", group_name="roamcast", multi_file=True)
    chosen = flags()
    for extension in made:
        extension.extra_compile_args = [*extension.extra_compile_args, *chosen]
        extension.extra_link_args = [*extension.extra_link_args, *chosen]
    return made


def shared_objects(root: Path = SOURCE) -> list[Path]:
    return [path for pattern in ("*__mypyc*.so", "roamcast/**/*.so") for path in root.glob(pattern)]


def remove_compiled(root: Path = SOURCE) -> None:
    for path in shared_objects(root):
        path.unlink()


def mode_now() -> str:
    """What the checkout holds: "compiled" or "pure Python: why"; nothing if compiling would change that."""
    if not STAMP.exists():
        return ""
    state, mode = STAMP.read_text().splitlines()
    made = len(compiled_sources()) + 1 if mode == "compiled" else 0
    return mode if state == digest() and len(shared_objects()) == made else ""


def date_now() -> None:
    """Compiled modules are what the sources say now, whatever dates a checkout or a build that had less to do left."""
    for path in shared_objects():
        path.touch()


# ---- the page of an index


def description(address: str = "") -> str:
    """README.md for an index, which shows it without the files beside it.

    A link to such a file leads below `address`; without one, the file's name is in brackets, and a picture is left out.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)  # examples stay as they are
    return "".join(part if part.startswith("```") else _for_index(part, address) for part in parts)


def _for_index(text: str, address: str) -> str:
    beside = r"(?!\w+:|#)([^)\s]+)"  # neither an address nor a place in the page
    if address:
        text = re.sub(rf"\]\({beside}\)", rf"]({address}/\1)", text)
        return re.sub(r'\b(src|href)="(?!\w+:|#)([^"]+)"', rf'\1="{address}/\2"', text)
    text = re.sub(rf"!\[[^\]]*\]\({beside}\)\n*|<img\b[^>]*>\n*", "", text)
    return re.sub(rf"\[([^\]]+)\]\({beside}\)", r"\1 (`\2`)", text)


def source_address() -> str:
    """Where the project's files can be seen; empty while nobody can."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project.get("urls", {}).get("Source", "").rstrip("/")


# ---- commands


class MaybeCompiled(Distribution):
    def has_ext_modules(self) -> bool:
        return wanted()


class Build(build):
    """Into an empty folder: what an earlier build left there would be a part of this one."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildExt(build_ext):
    """Compile the whole group or nothing: half a group would be imported and fail."""

    def finalize_options(self) -> None:
        self.failure = "" if wanted() else "ROAMCAST_PURE is set"
        self.made = wanted() and mode_now() == "compiled"
        if wanted() and not self.made:
            try:
                self.distribution.ext_modules = extensions()
            except ImportError as error:
                self.failure = f"mypyc is not installed ({error.name})"
            except SystemExit:
                self.failure = "mypyc refused the sources (see build/compile.log)"
        super().finalize_options()

    def run(self) -> None:
        if self.made:
            self.copy_made()
            return
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

    def build_extension(self, ext: Extension) -> None:
        """Compile its files side by side; setuptools only does so with extensions, and the group is one."""

        def compiled(source: str) -> list[str]:
            objects: list[str] = self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                include_dirs=ext.include_dirs,
                extra_postargs=ext.extra_compile_args,
                depends=ext.depends,
            )
            return objects

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ext.extra_objects = [made for objects in pool.map(compiled, sorted(ext.sources)) for made in objects]
        ext.sources = []
        ext.depends = [*ext.depends, *ext.extra_objects]  # or setuptools would not link again
        super().build_extension(ext)

    def copy_made(self) -> None:
        for path in [] if self.inplace else shared_objects():
            target = Path(self.build_lib) / path.relative_to(SOURCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        print("roamcast: compiled (in place)", file=sys.stderr)


class Compile(Command):
    """Compile in place, if anything has changed since the last time."""

    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None: ...

    def finalize_options(self) -> None: ...

    def run(self) -> None:
        if mode_now():
            date_now()
            return
        build = self.reinitialize_command("build_ext", inplace=1)
        build.ensure_finalized()
        self.run_command("build_ext")


setup(
    distclass=MaybeCompiled,
    cmdclass={"build": Build, "build_ext": BuildExt, "compile": Compile},
    long_description=description(source_address()),
    long_description_content_type="text/markdown",
)
