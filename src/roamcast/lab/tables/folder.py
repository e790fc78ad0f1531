"""A campaign's folder, on this machine or in an object store: what is where, and what in it is finished.

    campaign.json          the campaigns as they are understood (`roamcast campaign` refuses to put another one here)
    shared.json            where `done/` and `log/` are, if not here
    done/N-….parquet       how runs ended: tallies and failures, many in an object (endings.py)
    log/N-….parquet        rows of their event logs
    measured/….parquet     metrics of logs, by run (kept.py)
    begun/                 runs that a worker has begun after others died, while they are under way
    corrupt/               objects that could not be read, put aside; their runs are done again
    runs/, metrics/, summary/     the tables, a Parquet object each (schemas.py)
    tables.json            the version of their schemas, and which objects they are: all of one campaign
    claims/                whose turn it is to write here (claims.py)
    spark.log              what Spark had to say

Every object is put whole, so whatever has a name is complete, whoever was killed meanwhile.
"""

from __future__ import annotations

import json
import re
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from roamcast import storage as storages
from roamcast.errors import InputError, Interrupted, error_text, one_line
from roamcast.lab.campaign import Campaign
from roamcast.lab.tables import claims, merging
from roamcast.lab.tables.ended import Ended
from roamcast.lab.tables.endings import DONE, LOG
from roamcast.lab.tables.kept import MEASURED
from roamcast.storage import Storage

TABLES = ("runs", "metrics", "summary")
TABLES_VERSION = "6"
MOST_ATTEMPTS = 2
"""A run during which a worker died so often is taken to be the cause."""
BEGUN, CORRUPT = "begun", "corrupt"
SHARED_ORPHAN_S = 3600.0
"""In a place that campaigns share, another one's worker may be about to name a log that nobody names yet. So may the
process that had a place before, where there are no locks: it was taken for dead."""
SEGMENT = re.compile(r"\d+-[0-9a-f]{32}\.parquet")


class Folder:
    """`shared` is a place in which folders that have runs in common do them once; by default it is where it was."""

    def __init__(self, place: str | Path, shared: str | Path | None = None) -> None:
        self.storage = storages.at(place)
        where = shared if shared is not None else _shared(self.storage)
        self.runs: Storage = self.storage if where is None else storages.at(where)
        self.ended_runs = Ended(self.runs)
        self._claim = ""

    def __str__(self) -> str:
        return str(self.storage)

    def facts(self) -> dict[str, str]:
        """What a worker needs to find it: plain values, because it may have no roamcast yet."""
        return {"place": self.storage.url, "shared": self.runs.url, "claim": self._claim}

    def __reduce__(self) -> tuple[Any, ...]:
        return found_by, (self.facts(),)

    @property
    def path(self) -> Path:
        """On this machine; an InputError if it is elsewhere."""
        if self.storage.path is None:
            raise InputError(f"{self}: must be a folder of this machine")
        return self.storage.path

    # ---- whose it is

    @contextmanager
    def held(self, say: Callable[[str], None] = lambda _: None) -> Iterator[None]:
        """Make the folder and keep others from writing to it."""
        try:
            self.storage.make()
            self.runs.make()
            self.storage.names(claims.CLAIMS)
        except (OSError, Interrupted) as error:
            raise InputError(f"cannot write to {self}: {error_text(error)}") from None
        with claims.held(self.storage, say) as self._claim:
            yield
        self._claim = ""

    def check_seen(self) -> None:
        """On a worker: Interrupted if it does not see what the process that conducts the campaign has written."""
        import socket

        if self._claim and not self.storage.exists(self._claim):
            where = f"the worker on {socket.gethostname()} does not see the folder that this process writes to"
            raise Interrupted(f"{self}: {where}; --out must be the same place for all, such as s3://bucket/name")

    def claim(self, campaigns: Sequence[Campaign], extend: bool = False) -> None:
        """Put the campaigns' names on the folder; refuse if others' are there."""
        identity = msgspec.json.format(msgspec.json.encode(campaigns, order="deterministic"), indent=1)
        present = self.identity()
        if present is not None and present != identity and not extend:
            ours = ", ".join(repr(campaign.name) for campaign in campaigns)
            raise InputError(
                f"{self}: holds the campaign {_names_in(present)}, which is not this one ({ours}); choose another "
                "--out, or --extend to keep its finished runs and go on with this one"
            )
        self._refuse_old_logs()
        if present is not None and present != identity:
            self._forget_tables()  # they are about the campaign before
        if present != identity:
            self.storage.put("campaign.json", identity)
        if self.runs is not self.storage:
            self.storage.put("shared.json", json.dumps({"runs": self.runs.url}).encode())

    def _refuse_old_logs(self) -> None:
        others = [name for name in self.runs.names(LOG) if not SEGMENT.fullmatch(name)]
        if others:
            raise InputError(
                f"{self.runs}: has logs that this version did not write ({LOG}/{min(others)}); choose another --out"
            )

    def identity(self) -> bytes | None:
        """The file that names its campaigns, if there is one."""
        try:
            return self.storage.read("campaign.json")
        except FileNotFoundError:
            return None

    def check_claimed(self) -> bytes:
        """Refuse a folder that no campaign was run into; returns what names its campaigns."""
        present = self.identity()
        if present is None:
            raise InputError(f"{self}: no campaign has been run into this folder")
        return present

    def campaigns(self) -> list[Campaign]:
        """Those that the folder was claimed for. Classes that their scenarios name are imported."""
        present = self.check_claimed()
        try:
            return msgspec.json.decode(present, type=list[Campaign])
        except (msgspec.MsgspecError, InputError) as error:
            raise InputError(f"{self}/campaign.json: is no campaign of this version ({error})") from None

    # ---- its tables

    def point_to_tables(self, objects: Mapping[str, str], state: str = "") -> None:
        """Let readers see these objects as the tables, and delete those before. Until then they see the former ones.

        `state` is a digest of all that they are made of.
        """
        self.check_held()
        about = {"version": TABLES_VERSION, "tables": dict(objects), "state": state}
        self.storage.put("tables.json", json.dumps(about).encode())
        for table in objects:
            self._delete_tables(table, but=objects[table])

    def check_held(self) -> None:
        """Interrupted if somebody else has taken the place over."""
        if self._claim:
            claims.check(self.storage, self._claim)

    def _delete_tables(self, table: str, but: str = "") -> None:
        for name in self.storage.names(table):
            if f"{table}/{name}" != but:
                self.storage.delete(f"{table}/{name}")

    def tables(self) -> dict[str, str] | None:
        """The objects that are its tables, if there are any; those of another version are an error."""
        about = self._about_tables()
        if about is None:
            return None
        if about["version"] != TABLES_VERSION:
            raise InputError(
                f"{self}: has tables of version {about['version']}, this program reads {TABLES_VERSION}; run the same "
                "`roamcast campaign` again to have them written anew"
            )
        objects: dict[str, str] = about["tables"]
        return objects

    def _about_tables(self) -> dict[str, Any] | None:
        try:
            about: dict[str, Any] = json.loads(self.storage.read("tables.json"))
        except FileNotFoundError:
            return None
        return about

    def tables_state(self) -> str:
        """What its tables are made of; empty if there are none."""
        return str((self._about_tables() or {}).get("state", ""))

    def has_tables(self) -> bool:
        return self.tables() is not None

    def _forget_tables(self) -> None:
        self.storage.delete("tables.json")
        for table in TABLES:
            self._delete_tables(table)

    # ---- what is finished

    def tidy(self) -> None:
        """Remove what a killed process left behind. Only under `held`."""
        own = self.runs is self.storage
        for folder in (*TABLES, BEGUN, CORRUPT, *((DONE, LOG, MEASURED) if own else ())):
            self.storage.tidy(folder)
        for name in self.storage.names(BEGUN):
            self.storage.delete(f"{BEGUN}/{name}")
        locked = own and self.storage.path is not None
        merging.delete_orphans(self.runs, self.ended_runs.look(), 0.0 if locked else SHARED_ORPHAN_S)

    def finished(self) -> set[str]:
        return self.ended_runs.look().finished()

    def failures(self) -> dict[str, dict[str, Any]]:
        """What was recorded about runs that failed, by run."""
        return self.ended_runs.look().failures()

    def ended(self) -> set[str]:
        return self.ended_runs.look().ended()

    def begun(self) -> set[str]:
        """Runs that a worker has noted to begin and none has ended."""
        return {name.partition(".")[0] for name in self.storage.names(BEGUN)} - self.ended()

    def put_aside(self, name: str) -> str:
        """Move an object where nobody takes it for whole; its new name. FileNotFoundError if it is gone."""
        target = f"{CORRUPT}/{uuid.uuid4().hex[:8]}-{name.replace('/', '-')}"
        self.storage.put(target, self.runs.read(name))
        self.runs.delete(name)
        return target

    def retry_failed(self) -> None:
        ended = self.ended_runs.look()
        names = [name for name, seen in ended.objects.items() if seen.failed]
        if names:
            merging.rewrite(self.runs, ended, names, 0, lambda row: row.failure is None, self.check_held)

    # ---- what workers do

    def begin(self, run: str) -> int:
        """Note that a worker begins a run; how often one has."""
        self.storage.put(f"{BEGUN}/{run}.{uuid.uuid4().hex[:8]}", b"")
        return sum(name.startswith(f"{run}.") for name in self.storage.names(BEGUN))

    def end(self, run: str) -> None:
        for name in self.storage.names(BEGUN):
            if name.startswith(f"{run}."):
                self.storage.delete(f"{BEGUN}/{name}")


def found_by(facts: Mapping[str, str]) -> Folder:
    """The folder with these facts, on a worker."""
    folder = Folder(facts["place"], facts["shared"])
    folder._claim = facts["claim"]
    return folder


def failure_of(run: str, error: BaseException, command: str) -> dict[str, Any]:
    """Why a run failed, in one line and in full."""
    line = f"{type(error).__name__}: {one_line(error)}".removesuffix(": ")
    return {"run": run, "error": line, "command": command, "traceback": "".join(traceback.format_exception(error))}


def _shared(storage: Storage) -> str | None:
    try:
        where: str = json.loads(storage.read("shared.json"))["runs"]
    except FileNotFoundError:
        return None
    return where


def _names_in(identity: bytes) -> str:
    try:
        return ", ".join(repr(entry["name"]) for entry in json.loads(identity))
    except (ValueError, KeyError, TypeError):
        return "?"
