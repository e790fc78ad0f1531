"""Runs spread over processes of this machine. Their metrics are what they counted themselves.

Tests hold that equal to what Spark measures from the logs, to the last bit. Logs are read nevertheless, so that a
damaged one is noticed as it is on Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from roamcast.errors import RoamcastError, WorkerDied
from roamcast.lab import plan
from roamcast.lab.engine import Limits, Tallies
from roamcast.lab.local.pool import START, outcomes, processes, spread
from roamcast.lab.plan import Run
from roamcast.lab.simulate import Done, Task, all_done, task
from roamcast.lab.tables import logs
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder
from roamcast.lab.tables.logs import Part

ROUNDS = MOST_ATTEMPTS + 2
"""A partition during which a worker died; each of its runs alone, so often that one which kills workers is recorded."""


class PoolEngine:
    """`roamcast.lab.engine.Engine` on a pool of processes; by default one for each processor."""

    def __init__(self, processes_: int = 0, start: str = START) -> None:
        self.processes = processes_ or processes()
        self.start = start

    def simulate(self, runs: Sequence[Run], folder: Folder, limits: Limits = lambda _: 0.0) -> Tallies:
        parts = [[task(run, limits(run)) for run in part] for part in plan.partitions(list(runs), self.processes)]
        tallies: Tallies = {}
        for k in range(ROUNDS):
            broken: list[list[Task]] = []
            work = partial(simulate_part, folder, k > 0)
            for place, ended in outcomes(work, parts, self.processes, self._start(folder)):
                if isinstance(ended, WorkerDied):
                    broken.append(parts[place])
                else:
                    tallies |= {done.run: json.loads(done.tally) for done in ended if done.tally is not None}
            parts = [[task] for part in broken for task in part]  # each alone: one of them is the cause
            if not parts:
                return tallies
        raise WorkerDied("worker processes died again and again")

    def _start(self, folder: Folder) -> str:
        """What connects to a store does not bear to be forked."""
        return self.start if folder.runs.path is not None and folder.storage.path is not None else "spawn"

    def damaged(self, runs: Sequence[str], folder: Folder) -> dict[str, str]:
        parts = logs.parts(folder, runs)
        looked = spread(partial(look_through, folder), parts, self.processes, self._start(folder))
        return dict(damage for _, damage in looked if damage is not None)

    def measured(self, runs: Sequence[Run], tallies: Tallies, folder: Folder) -> Tallies:
        damaged = self.damaged([run.id for run in runs], folder) if runs else {}
        if damaged:
            raise RoamcastError(next(iter(damaged.values())))
        return {run.id: {} for run in runs}

    def is_measured(self, metrics: Mapping[str, Any]) -> bool:
        return True


# ---- in a worker


def simulate_part(folder: Folder, noting: bool, tasks: Sequence[Task]) -> list[Done]:
    """Do these runs, one after the other."""
    return [done for some in all_done(folder, tasks, noting) for done in some]


def look_through(folder: Folder, part: Part) -> tuple[str, str] | None:
    return logs.damage(folder.runs, part)
