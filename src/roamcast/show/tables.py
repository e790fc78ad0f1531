"""A folder of results, read without Spark: the rows of its tables and, if claims were judged, the scorecard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.errors import InputError, one_line
from roamcast.judging import made, recounted
from roamcast.judging.recounted import Recounted
from roamcast.judging.verdicts import Scorecard

Row = dict[str, Any]
ABOUT = (
    *("run", "campaign", "preset", "cell", "label", "all_params"),
    *("seed", "sim_s", "code", "status", "error", "command", "cpu_s"),
)
"""What the report shows of runs; their scenarios stay on disk."""


class Results(msgspec.Struct, frozen=True):
    """`metrics` are the finished runs by campaign, `runs` all of them; `scorecard` is None where nothing was judged.

    `recounted` are the runs whose metrics were compared with their logs, if any were.
    """

    metrics: dict[str, list[Row]]
    runs: list[Row]
    scorecard: Scorecard | None = None
    recounted: Recounted | None = None
    provenance: list[Row] = []


def read(folder: Path) -> Results:
    for needed in ("runs", "metrics"):
        if not (folder / needed).exists():
            raise InputError(
                f"{folder}: has no table {needed!r}; it must be a folder that `roamcast campaign` or `roamcast "
                "reproduce` has written to its end"
            )
    metrics: dict[str, list[Row]] = {}
    listed = _rows(folder / "metrics")
    if listed and "params" in listed[0]:
        raise InputError(f"{folder}: has tables of an older version; `roamcast campaign` writes them again")
    for row in listed:
        metrics.setdefault(row["campaign"], []).append(row)
    runs = _rows(folder / "runs", list(ABOUT))
    return Results(metrics, runs, _scorecard(folder / "scorecard.json"), recounted.read(folder), made.records(folder))


def _rows(path: Path, columns: list[str] | None = None) -> list[Row]:
    try:
        table = pq.read_table(path, columns=columns)
        rows: list[Row] = table.to_pylist(maps_as_pydicts="strict")
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    return rows


def _scorecard(path: Path) -> Scorecard | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scorecard)
    except (msgspec.DecodeError, OSError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
