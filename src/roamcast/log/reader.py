"""Reading a log: as a table, row by row, or as sentences about one node and one event."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from roamcast.errors import InputError
from roamcast.log.schema import DECISIONS, KINDS, SUMMARY_KEY, VERSION, VERSION_KEY, arrow_schema
from roamcast.protocols.kit.interface import explain

BATCH: Final = 65_536


class LogRow(NamedTuple):
    """A row as schema.py defines it, with the name of its kind; `size` is the column `bytes`."""

    run: str
    t: int
    node: int
    kind: str
    event: int
    frame: int
    peer: int
    size: int
    value: int
    reason: str


def read(path: str | Path) -> Any:
    """The whole log as a `pyarrow.Table`."""
    return _opened(path).read().unify_dictionaries()


def summary(path: str | Path) -> dict[str, Any]:
    """The tally of the run, and its fingerprint; empty if the log has none."""
    text = (_opened(path).metadata.metadata or {}).get(SUMMARY_KEY.encode())
    return json.loads(text) if text else {}


def rows(path: str | Path) -> Iterator[LogRow]:
    """The rows of the log in order; memory holds one batch of them."""
    for batch in _opened(path).iter_batches(BATCH):
        yield from _rows_of(batch)


def why(path: str | Path, node: int, event: int) -> list[str]:
    """What a node did about an event, and why: a sentence for each row, in order.

    The sentences behind decisions are those that protocols declared (`protocols.kit.interface.reason`), so the
    protocol's module must have been imported; without it, only the label appears.
    """
    import pyarrow.compute as pc

    sentences: list[str] = []
    for batch in _opened(path).iter_batches(BATCH):
        wanted = pc.and_(pc.equal(batch["node"], node), pc.equal(batch["event"], event))
        for row in _rows_of(batch.filter(wanted)):
            sentence = _sentence(row)
            if sentence:
                sentences.append(f"{row.t / 1e6:.6f} s  {sentence}")
    return sentences


def _sentence(row: LogRow) -> str:
    """Empty for kinds whose column `event` is not the id of an event."""
    if row.kind in [KINDS[code] for code in DECISIONS]:
        return explain(row.kind, row.reason, row.event, row.peer, row.value)
    if row.kind == "publish":
        return f"publish: {row.reason}"
    if row.kind == "send":
        to = "everybody in range" if row.peer < 0 else f"n{row.peer}"
        return f"send: {row.reason} frame {row.frame} to {to}"
    if row.kind == "repeat":
        return f"repeat: frame {row.frame} goes out again: n{row.peer} did not acknowledge it"
    if row.kind == "receive":
        return f"receive: {row.reason} frame {row.frame} from n{row.peer}"
    if row.kind == "lose":
        return f"lose: frame {row.frame} ({row.reason})"
    if row.kind == "overhear":
        return f"overhear: frame {row.frame} from n{row.peer} ({row.reason})"
    if row.kind == "deliver":
        return "deliver: given to the application"
    return ""


def _rows_of(batch: Any) -> list[LogRow]:
    columns = [column.to_pylist() for column in batch.columns]
    return [LogRow(*values) for values in zip(*columns, strict=True)]


def _opened(path: str | Path) -> Any:
    """The Parquet file, after checking that it is a log of this version."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(os.fspath(path))
    except FileNotFoundError:
        raise InputError(f"there is no log {path}") from None
    except (OSError, pa.ArrowInvalid):
        raise InputError(f"{path} is not a log: it is not a Parquet file") from None
    version = (file.schema_arrow.metadata or {}).get(VERSION_KEY.encode())
    if version is None:
        raise InputError(f"{path} is not a log: its metadata has no {VERSION_KEY}")
    if version.decode() != VERSION:
        raise InputError(f"{path} is a log of schema version {version.decode()}; this program reads version {VERSION}")
    if not file.schema_arrow.equals(arrow_schema()):
        raise InputError(f"{path} is not a log: its columns are not those of schema version {VERSION}")
    return file
