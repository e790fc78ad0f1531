"""Metrics that were measured from logs, kept by run, so that only new logs are measured.

They hold as long as the program that measures is the same (`code.measuring`): what another one measured is measured
again. A run whose log was only looked through has no metrics here; what it counted itself holds.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.lab import code
from roamcast.lab.tables.ended import read_whole
from roamcast.lab.tables.endings import fresh_name
from roamcast.log.arrays import column
from roamcast.storage import Storage

MEASURED = "measured"
MOST_OBJECTS = 64
SCHEMA = pa.schema({"run": pa.string(), "code": pa.string(), "metrics": pa.string()})
Metrics = dict[str, dict[str, Any]]


def read(storage: Storage) -> Metrics:
    """What this program has measured, by run."""
    measured: Metrics = {}
    for name in sorted(storage.names(MEASURED)):
        try:
            table = read_whole(storage, f"{MEASURED}/{name}")
        except FileNotFoundError:
            continue
        except (OSError, ValueError):  # damaged: it is measured again
            storage.delete(f"{MEASURED}/{name}")
            continue
        for run, version, metrics in zip(*(each.to_pylist() for each in table.columns), strict=True):
            if version == code.measuring():
                measured[run] = json.loads(metrics) or measured.get(run, {})
    return measured


def write(storage: Storage, new: Metrics, known: Metrics) -> None:
    """Keep what is new; and all in one object, if there are many."""
    if not new:
        return
    before = [*storage.names(MEASURED)]
    many = len(before) >= MOST_OBJECTS
    kept = known | new if many else new
    runs = sorted(kept)
    cells = [runs, [code.measuring()] * len(runs), [json.dumps(kept[run]) for run in runs]]
    sink = pa.BufferOutputStream()
    table = pa.table([column(values, pa.string()) for values in cells], schema=SCHEMA)
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    storage.put(f"{MEASURED}/{fresh_name()}", sink.getvalue().to_pybytes())
    if many:
        for name in before:
            storage.delete(f"{MEASURED}/{name}")
