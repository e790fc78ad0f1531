"""A campaign's folder: what is where, which process may write to it, and what in it is finished.

    campaign.json        the campaigns as they are understood (`roamcast campaign` refuses to put another one here)
    log.json             where the logs are, if not here
    log/RUN.parquet      a finished run: its event log, and its own tally in the file's metadata
    failed/RUN.json      a run that raised: its error, and the command that shows it again
    attempts/RUN         a run that a worker has begun (a line for each time) and not ended
    corrupt/             files under log/ that could not be read, put aside; their runs are done again
    runs/, metrics/, summary/     the tables, as Parquet (schemas.py)
    tables.json          the version of their schemas: there while all three are whole and of one campaign
    spark.log            what Spark had to say

A file under log/ gets its name when it is complete, so whatever has a name is finished, whoever was killed meanwhile.
Only one campaign at a time writes here: it holds a lock that the system takes away when the process ends, however it
ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import traceback
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from roamcast import files
from roamcast.errors import InputError, error_text, one_line
from roamcast.lab.campaign import Campaign
from roamcast.log import reader

TABLES = ("runs", "metrics", "summary")
TABLES_VERSION = "4"
MOST_ATTEMPTS = 2
"""A run during which a worker died so often is taken to be the cause."""


class Folder:
    """`log` may lie elsewhere, so that folders which share runs do them once; by default it is where it was."""

    def __init__(self, path: Path, log: Path | None = None) -> None:
        self.path = path
        self.log = log or _log_of(path)
        self.failed = path / "failed"
        self.attempts = path / "attempts"
        self.corrupt = path / "corrupt"

    # ---- whose it is

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder and keep others from writing to it."""
        try:
            for place in (self.path, self.log, self.failed, self.attempts):
                place.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {error_text(error)}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{self.path}: another campaign is writing to this folder right now") from None
            yield

    def claim(self, campaigns: Sequence[Campaign], extend: bool = False) -> None:
        """Put the campaigns' names on the folder; refuse if others' are there."""
        identity = msgspec.json.format(msgspec.json.encode(campaigns, order="deterministic"), indent=1)
        place = self.path / "campaign.json"
        if place.exists() and place.read_bytes() != identity and not extend:
            ours = ", ".join(repr(campaign.name) for campaign in campaigns)
            raise InputError(
                f"{self.path}: holds the campaign {_names_in(place)}, which is not this one ({ours}); choose another "
                "--out, or --extend to keep its finished runs and go on with this one"
            )
        if place.exists() and place.read_bytes() != identity:
            self._forget_tables()  # they are about the campaign before
        if not place.exists() and any(self.log.glob("*.parquet")) and self.log.parent == self.path:
            raise InputError(f"{self.path}: has logs but no campaign.json; choose another --out")
        files.write(place, identity)
        if self.log != self.path / "log":
            files.write(self.path / "log.json", json.dumps({"log": str(self.log.absolute())}).encode())

    def check_claimed(self) -> Path:
        """Refuse a folder that no campaign was run into; returns the file that names its campaigns."""
        place = self.path / "campaign.json"
        if not place.exists():
            raise InputError(f"{self.path}: no campaign has been run into this folder")
        return place

    def campaigns(self) -> list[Campaign]:
        """Those that the folder was claimed for. Classes that their scenarios name are imported."""
        place = self.check_claimed()
        try:
            return msgspec.json.decode(place.read_bytes(), type=list[Campaign])
        except (msgspec.MsgspecError, InputError) as error:
            raise InputError(f"{place}: is no campaign of this version ({error})") from None

    # ---- its tables

    @contextmanager
    def writing_tables(self) -> Iterator[None]:
        """While the tables are written again. A killed process leaves none, not some old and some new."""
        (self.path / "tables.json").unlink(missing_ok=True)
        yield
        files.write(self.path / "tables.json", json.dumps({"version": TABLES_VERSION}).encode())

    def has_tables(self) -> bool:
        """Whether there are tables; those of another version are an error."""
        place = self.path / "tables.json"
        if not place.exists():
            return False
        version = json.loads(place.read_bytes())["version"]
        if version != TABLES_VERSION:
            raise InputError(f"{self.path}: has tables of version {version}; this program reads {TABLES_VERSION}")
        return True

    def _forget_tables(self) -> None:
        (self.path / "tables.json").unlink(missing_ok=True)
        for table in TABLES:
            shutil.rmtree(self.path / table, ignore_errors=True)

    # ---- what is finished

    def tidy(self) -> None:
        """Remove what a killed process left behind. Only under `held`."""
        for half in self.log.glob(".*.part"):
            if self.log.parent == self.path:  # in a common folder, another process may be writing it
                half.unlink(missing_ok=True)
        shutil.rmtree(self.attempts, ignore_errors=True)
        self.attempts.mkdir()

    def log_of(self, run: str) -> Path:
        return self.log / f"{run}.parquet"

    def finished(self) -> set[str]:
        return {name.removesuffix(".parquet") for name in _names(self.log) if name.endswith(".parquet")}

    def failures(self) -> dict[str, dict[str, Any]]:
        """What was recorded about runs that failed, by run."""
        paths = (self.failed / name for name in _names(self.failed) if name.endswith(".json"))
        return {path.stem: json.loads(path.read_text()) for path in paths}

    def ended(self) -> set[str]:
        failed = {name.removesuffix(".json") for name in _names(self.failed) if name.endswith(".json")}
        return self.finished() | failed

    def begun(self) -> set[str]:
        """Runs that a worker has begun and none has ended."""
        return set(_names(self.attempts)) - self.ended()

    def put_aside(self, run: str) -> Path:
        self.corrupt.mkdir(exist_ok=True)
        target = self.corrupt / f"{run}.{uuid.uuid4().hex[:8]}.parquet"
        self.log_of(run).replace(target)
        return target

    def retry_failed(self) -> None:
        for run in self.failures():
            (self.failed / f"{run}.json").unlink()

    # ---- what workers do

    def begin(self, run: str) -> int:
        """Note that a worker begins a run; how often one has."""
        with (self.attempts / run).open("a+") as lines:
            lines.write("begun\n")
            lines.seek(0)
            return len(lines.readlines())

    def end(self, run: str) -> None:
        (self.attempts / run).unlink(missing_ok=True)

    def fail(self, run: str, error: BaseException, command: str) -> str:
        """Record why a run failed, in one line and in full."""
        line = f"{type(error).__name__}: {one_line(error)}".removesuffix(": ")
        full = "".join(traceback.format_exception(error))
        record = {"run": run, "error": line, "command": command, "traceback": full}
        files.write(self.failed / f"{run}.json", json.dumps(record, indent=1).encode())
        return line


def tally_in(path: str | Path) -> str:
    """What a finished run counted, as JSON; an InputError if its file does not contain it."""
    tally = reader.summary(path)
    if not tally:
        raise InputError(f"{path} has no tally: it is not the log of a finished run")
    return json.dumps(tally)


def _log_of(path: Path) -> Path:
    place = path / "log.json"
    return Path(json.loads(place.read_text())["log"]) if place.exists() else path / "log"


def _names_in(place: Path) -> str:
    try:
        return ", ".join(repr(entry["name"]) for entry in json.loads(place.read_bytes()))
    except (ValueError, KeyError, TypeError):
        return "?"


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except FileNotFoundError:
        return []
