"""Checks that the numbers behind the verdicts agree with the logs.

Verdicts come from the tallies of runs, because the logs of a hundred thousand runs would fill a disk. So a sample of
the runs is repeated with logs, and every metric is computed from these (lab/recount.py). This file has the choice of
the sample, the comparison, and its record beside the tables: `recounted.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Any

import msgspec

from roamcast import files
from roamcast.errors import InputError, LogsDiffer, error_text
from roamcast.log import catalogue
from roamcast.log.metric import OVER_TIME, Metric, Row

NAME = "recounted.json"
ROUNDING = 1e-9
"""Energy is a sum of many products, which Spark adds in another order. All other metrics are equal to the last bit."""


class Recounted(msgspec.Struct, frozen=True):
    """Runs whose logs give the same metrics; `program` is a digest of the program that computed them."""

    runs: list[str]
    program: str

    @property
    def text(self) -> str:
        n = len(self.runs)
        return f"{'1 run' if n == 1 else f'{n} runs'} counted again from {'its log' if n == 1 else 'their logs'}: equal"


def compare(run: str, command: str, tally: Row, from_log: Row) -> None:
    """Raise LogsDiffer at the first metric that is not the same."""
    for metric in catalogue.METRICS:
        counted, logged = tally[metric.name], from_log[metric.name]
        if not _same(metric, counted, logged):
            raise LogsDiffer(f"run {run}: {metric.name} is {counted} in its tally, {logged} in its log ({command})")


def _same(metric: Metric, counted: Any, logged: Any) -> bool:
    if metric.kind == OVER_TIME and counted is not None and logged is not None:
        return isclose(counted, logged, rel_tol=ROUNDING)
    return bool(counted == logged)


# ---- which runs


MOST_ROWS = 60_000
"""The most rows of all logs of a sample: enough for a handful of protocols, and little work beside the campaign."""


def sample(runs: Sequence[Row]) -> list[str]:
    """The ids of runs to count again, among rows of the metrics table: those with the shortest logs, at most one for
    each experiment and each protocol."""
    chosen: list[str] = []
    seen: set[str] = set()
    rows_left = MOST_ROWS
    for row in sorted(runs, key=lambda row: (log_rows(row), row["campaign"], row["cell"], row["seed"])):
        if row["run"] in chosen or {row["campaign"], row["protocol"]} & seen:
            continue
        rows_left -= log_rows(row)
        if rows_left < 0:
            break
        chosen.append(row["run"])
        seen |= {row["campaign"], row["protocol"]}
    return chosen


def log_rows(tally: Mapping[str, Any]) -> int:
    """About how many rows the run's log has at level `frames`."""
    counts: list[int] = [tally[name] for name in ("frames_sent", "receptions", "overheard", "losses", "deliveries")]
    return sum(counts) + int(sum(tally["reasons"].values()))


# ---- the record of it


def read(folder: Path) -> Recounted | None:
    path = folder / NAME
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Recounted)
    except (msgspec.DecodeError, OSError) as error:
        raise InputError(f"cannot read {path}: {error_text(error)}") from None


def write(recounted: Recounted, folder: Path) -> None:
    files.write(folder / NAME, msgspec.json.encode(recounted))
