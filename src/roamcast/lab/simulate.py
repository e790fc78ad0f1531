"""One run of a campaign, as a worker does it, whatever engine the worker belongs to.

A run that has ended already (by this worker before it died, by another that was given up) is not done again; one that
raises is recorded and the next one begins; one during which workers die is recorded after a few times.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from roamcast.errors import WorkerDied
from roamcast.lab.plan import Run
from roamcast.lab.tables import read
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

Task = dict[str, Any]
"""What a worker gets of a run: plain values."""


def task(run: Run) -> Task:
    return {
        "run": run.id,
        "protocol": run.cell.protocol,
        "params": json.dumps(run.cell.params),
        "scenario": msgspec.json.encode(run.cell.scenario).decode(),
        "seed": run.seed,
        "level": run.campaign.level,
        "command": run.command(),
    }


def done(folder: Folder, task: Task) -> tuple[str, str | None, str | None]:
    """Do one run, unless it has been done: how it ended, its error, and its tally (JSON) if its file can be read."""
    status, error = one(folder, task)
    # of a file that cannot be read: conduct.py finds it among the finished runs and puts it aside
    tally = read.tally(str(folder.log_of(task["run"])))[0] if status == "finished" else None
    return status, error, tally


def one(folder: Folder, task: Task) -> tuple[str, str | None]:
    """Do one run, unless it has been done: how it ended, and its error."""
    run = task["run"]
    if folder.log_of(run).exists():
        return "finished", None
    try:
        attempt = folder.begin(run)
        if attempt > MOST_ATTEMPTS:
            raise WorkerDied(f"a worker process died during this run {attempt - 1} times")
        _simulate(folder, task)
    except Exception as error:
        line = folder.fail(run, error, task["command"])
        folder.end(run)
        return "failed", line
    folder.end(run)
    return "finished", None


def _simulate(folder: Folder, task: Task) -> None:
    scenario = msgspec.json.decode(task["scenario"], type=Scenario)
    simulate(
        scenario,
        task["protocol"],
        json.loads(task["params"]),
        task["seed"],
        level=task["level"],
        log=folder.log_of(task["run"]),
        run=task["run"],
    )
