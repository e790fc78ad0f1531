"""How results were made: by which program, with which packages, on which machine, when.

Every start of a campaign that has runs to do leaves a record beside the tables, `provenance/TIME-ID.json`. Together the
records are the table `provenance` (judging/made.py). It is a table of its own, not columns of `runs`, because the other
tables are the same bytes whichever engine did the runs, wherever, and however often it was interrupted.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import roamcast
from roamcast.judging.made import NAME, PACKAGES
from roamcast.lab import code
from roamcast.storage import Storage

PATIENCE_S = 10.0
Row = dict[str, Any]


@contextmanager
def recorded(storage: Storage, engine: object, runs: int) -> Iterator[None]:
    """While an engine does so many runs: a record when they begin, and again with `ended` when they have."""
    record = {"began": _now(), "ended": None, "runs": runs, **facts(), **_of_engine(engine)}
    target = f"{NAME}/{datetime.now(UTC):%Y-%m-%dT%H%M%S.%f}-{uuid.uuid4().hex[:6]}.json"  # in their order by name
    storage.put(target, _encoded(record))
    yield
    storage.put(target, _encoded({**record, "ended": _now()}))


def facts() -> Row:
    """Of this program and this machine; what is not known or not installed is None."""
    commit, changed = _commit()
    return {
        "roamcast": roamcast.__version__,
        "code": code.whole(),
        "commit": commit,
        "changed": changed,
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "host": socket.gethostname(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def _of_engine(engine: object) -> Row:
    name = type(engine).__name__.removesuffix("Engine").lower()
    spark = getattr(engine, "spark", None)
    return {"engine": name, "master": None if spark is None else str(spark.sparkContext.master)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _encoded(record: Row) -> bytes:
    return json.dumps(record, indent=1).encode()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def _commit() -> tuple[str | None, bool | None]:
    """The commit of the checkout that this program runs from, and whether its sources differ from it."""
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:  # a checkout that only has us in its environment
        return None, None
    commit = _git("rev-parse", "HEAD")
    return commit, None if commit is None else _git("status", "--porcelain", "--untracked-files=no", ".") != ""


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(code.PACKAGE), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
