"""One run of a campaign, as a worker does it, whatever engine the worker belongs to.

A run that raises is recorded and the next one begins; one that takes longer than its limit is recorded like that, too.
What is not the run's fault, such as a full disk, ends the worker's part instead (`Interrupted`), and is not recorded.

Where a worker has died before, the next one notes each run that it begins, and a run with several such notes is
recorded as failed instead of being begun once more.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from roamcast import files
from roamcast.errors import Interrupted, TookTooLong, WorkerDied
from roamcast.lab.plan import Run
from roamcast.lab.tables.endings import Endings
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder, failure_of
from roamcast.storage import why
from roamcast.world.scenario import FILES, Scenario
from roamcast.world.shared import Shared
from roamcast.world.simulate import simulate

Task = dict[str, Any]
"""What a worker gets of a run: plain values."""
MOUNTS = {errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.ETIMEDOUT, errno.EHOSTDOWN}
OUTSIDE = files.FAILING | MOUNTS | {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors of disks, mounts and a machine that is full, which no run causes."""
HARD = 3.0
"""A run that cannot be interrupted has so many times its limit, of processor time; then its worker is killed."""


_shared = Shared()
"""By the runs of this process."""


class Done(NamedTuple):
    """How a run ended: its tally (JSON), or its error in one line."""

    run: str
    tally: str | None
    error: str | None


def task(run: Run, limit_s: float = 0.0) -> Task:
    """`limit_s` is how long it may take; 0: for ever."""
    return {
        "run": run.id,
        "protocol": run.cell.protocol,
        "params": json.dumps(run.cell.params),
        "scenario": msgspec.json.encode(run.cell.scenario).decode(),
        "seed": run.seed,
        "world": run.world,
        "level": run.campaign.level,
        "command": run.command(),
        "limit_s": limit_s,
    }


def all_done(folder: Folder, tasks: Iterable[Task], noting: bool) -> Iterator[list[Done]]:
    """Do these runs one after the other; they come when they are in the folder to stay. `noting`: that they begin."""
    folder.check_seen()
    ended = folder.ended() if noting else set()
    endings = Endings(folder.runs)
    waiting: list[Done] = []
    try:
        for task in tasks:
            if task["run"] in ended:
                continue
            waiting.append(one(folder, endings, task, noting))
            if noting or endings.due:
                endings.flush()
                yield waiting
                waiting = []
            if noting:
                folder.end(task["run"])
        endings.flush()
        yield waiting
    except OSError as error:
        raise Interrupted(f"cannot write to {folder}: {why(error)}") from error
    finally:
        endings.abandon()


def one(folder: Folder, endings: Endings, task: Task, noting: bool) -> Done:
    run = task["run"]
    tallies: list[str] = []
    try:
        attempt = folder.begin(run) if noting else 1
        if attempt > MOST_ATTEMPTS:
            raise WorkerDied(f"a worker process died during this run {attempt - 1} times")
        with limited(task["limit_s"]) as check:
            _simulate(endings, task, check, tallies.append)
    except Interrupted:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in OUTSIDE:
            raise
        _check_inputs(task)
        record = failure_of(run, error, task["command"])
        endings.failed(run, record)
        return Done(run, None, record["error"])
    return Done(run, tallies[0], None)


def _check_inputs(task: Task) -> None:
    """Interrupted if a file that the scenario names cannot be read: the disk that it was on is gone."""
    scenario = json.loads(task["scenario"])
    for path in (scenario.get(field) for field in FILES):
        if path and "://" not in path:
            try:
                os.close(os.open(path, os.O_RDONLY))
            except OSError as error:
                raise Interrupted(f"cannot read {path}: {why(error)}") from error


@lru_cache(maxsize=1000)
def _scenario(text: str) -> Scenario:
    """The runs of a cell have the same, and to check it takes longer than to build its world."""
    return msgspec.json.decode(text, type=Scenario)


def _simulate(endings: Endings, task: Task, check: Callable[[float], None], tally: Callable[[str], None]) -> None:
    simulate(
        _scenario(task["scenario"]),
        task["protocol"],
        json.loads(task["params"]),
        task["seed"],
        level=task["level"],
        sink=endings.sink(task["run"], tally),
        run=task["run"],
        progress=check,
        shared=_shared.of(task["world"]),
    )


@contextmanager
def limited(limit_s: float) -> Iterator[Callable[[float], None]]:
    """TookTooLong in the block after so many seconds; gives what to call now and then.

    A signal interrupts Python. Compiled code does not notice it, so the call looks at the clock. What does neither is
    killed with its process by the system, which counts processor time.
    """
    began = time.monotonic()

    def check(_: float) -> None:
        if limit_s and time.monotonic() - began > limit_s:
            raise _too_long(limit_s)

    def interrupt(*_: Any) -> None:
        raise _too_long(limit_s)

    if not limit_s or threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    signal.setitimer(signal.ITIMER_VIRTUAL, HARD * limit_s)
    try:
        yield check
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _too_long(limit_s: float) -> TookTooLong:
    return TookTooLong(f"the run took longer than {limit_s:g} s; --limit S allows more")
