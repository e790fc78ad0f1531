"""Runs spread over processes of this machine. Their metrics are what they counted themselves.

Tests hold that equal to what Spark measures from the logs, to the last bit. Logs are read nevertheless, so that a
damaged one is noticed as it is on Spark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from roamcast.errors import RoamcastError, WorkerDied
from roamcast.lab import plan
from roamcast.lab.engine import Tallies
from roamcast.lab.local.pool import START, outcomes, processes, spread
from roamcast.lab.plan import Run
from roamcast.lab.simulate import Task, done, task
from roamcast.lab.tables import read
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder

ROUNDS = MOST_ATTEMPTS + 2
"""A partition during which a worker died; each of its runs alone, so often that one which kills workers is recorded."""
FILES_AT_A_TIME = 200
"""Whose tallies a worker reads; fewer are read at once without one."""
LOGS_AT_A_TIME = 10
"""Whose rows a worker reads."""

Counted = list[tuple[str, str | None, str | None]]
"""Run, tally (JSON), error."""


class PoolEngine:
    """`roamcast.lab.engine.Engine` on a pool of processes; by default one for each processor."""

    def __init__(self, processes_: int = 0, start: str = START) -> None:
        self.processes = processes_ or processes()
        self.start = start

    def simulate(self, runs: Sequence[Run], folder: Folder) -> Tallies:
        parts = [[task(run) for run in part] for part in plan.partitions(list(runs), self.processes)]
        tallies: Tallies = {}
        for _ in range(ROUNDS):
            broken: list[list[Task]] = []
            for place, ended in outcomes(partial(simulate_part, folder), parts, self.processes, self.start):
                if isinstance(ended, WorkerDied):
                    broken.append(parts[place])
                else:
                    tallies |= {run: json.loads(tally) for run, tally in ended if tally is not None}
            parts = [[task] for part in broken for task in part]  # each alone: one of them is the cause
            if not parts:
                return tallies
        raise WorkerDied("worker processes died again and again")

    def tallies(self, runs: Sequence[str], folder: Folder, *, all_rows: bool = False) -> tuple[Tallies, dict[str, str]]:
        at_a_time = LOGS_AT_A_TIME if all_rows else FILES_AT_A_TIME
        parts = [runs[k : k + at_a_time] for k in range(0, len(runs), at_a_time)]
        reading = partial(read_part, folder, all_rows)
        if len(parts) > 1:
            counted = [row for _, part in spread(reading, parts, self.processes, self.start) for row in part]
        else:
            counted = [row for part in parts for row in reading(part)]
        tallies = {run: json.loads(tally) for run, tally, _ in counted if tally is not None}
        return tallies, {run: error for run, _, error in counted if error is not None}

    def measured(self, runs: Sequence[Run], tallies: Tallies, folder: Folder) -> Tallies:
        _, damaged = self.tallies([run.id for run in runs], folder, all_rows=True)
        if damaged:
            raise RoamcastError(next(iter(damaged.values())))
        return {run.id: tallies[run.id] for run in runs}


# ---- in a worker


def simulate_part(folder: Folder, tasks: Sequence[Task]) -> list[tuple[str, str | None]]:
    """Do these runs, one after the other: their tallies (JSON), where they can be read."""
    return [(task["run"], done(folder, task)[2]) for task in tasks]


def read_part(folder: Folder, all_rows: bool, runs: Sequence[str]) -> Counted:
    return [(run, *read.tally(str(folder.log_of(run)), all_rows)) for run in runs]
