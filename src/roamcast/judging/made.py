"""Records of how results were made, beside a campaign's tables: `provenance/*.json` (lab/provenance.py writes them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from roamcast import storage
from roamcast.errors import InputError, one_line
from roamcast.storage import Storage

NAME = "provenance"
PACKAGES = ("numpy", "pyarrow", "pyspark")
Row = dict[str, Any]


def records(folder: str | Path | Storage) -> list[Row]:
    """Of all starts of the campaign that had runs to do, in their order."""
    place = storage.at(folder) if isinstance(folder, str | Path) else folder
    return [_read(place, name) for name in sorted(place.names(NAME)) if name.endswith(".json")]


def _read(place: Storage, name: str) -> Row:
    try:
        record: Row = msgspec.json.decode(place.read(f"{NAME}/{name}"), type=dict)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"cannot read {place}/{NAME}/{name}: {one_line(error)}") from None
    return record


def line(record: Row) -> str:
    """What was done and by what."""
    end = f" to {record['ended']}" if record["ended"] else ", not to their end"
    return f"{record['runs']:,} runs from {record['began']}{end}: {by(record)}"


def by(record: Row) -> str:
    """The program, its packages, the machine, and the engine."""
    changes = " with changes" if record["changed"] else ""
    commit = f", commit {record['commit'][:10]}{changes}" if record["commit"] else ""
    packages = [f"{name} {record[name]}" for name in PACKAGES if record[name]]
    versions = ", ".join([f"Python {record['python']}", *packages])
    machine = f"{record['host']}, {record['cores']} cores, {record['system']}"
    return f"roamcast {record['roamcast']}{commit}; {versions}; {machine}; {record['master'] or record['engine']}"
