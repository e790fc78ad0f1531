"""Runs that leave nothing on disk: a list of them in, what they counted out, in the same order."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from roamcast.errors import JobFailed, RoamcastError, one_line
from roamcast.lab.local.pool import in_worker, processes, spread
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

Tally = dict[str, Any]
"""As the log of a run has it: every metric, `fingerprint`, `wall_s` and `cpu_s`."""


class Job(NamedTuple):
    """`protocol` is a name or a class."""

    scenario: Scenario
    protocol: Any
    params: dict[str, Any]
    seed: int


class _Failure(NamedTuple):
    """What a worker sends instead of an exception, which need not be picklable."""

    line: str
    details: str


def run_all(jobs: Sequence[Job], processes_: int = 0, progress: Callable[[float], None] | None = None) -> list[Tally]:
    """Do them on `processes_` processes, by default one for each processor. `progress` gets the share that is done.

    JobFailed as soon as a run has raised. A single process, and one that is itself a worker, does them in its own
    thread.
    """
    workers = min(processes_ or processes(), len(jobs))
    ended = _here(jobs) if workers < 2 or in_worker() else spread(_run, jobs, workers)
    tallies: dict[int, Tally] = {}
    for index, result in ended:
        if isinstance(result, _Failure):
            raise JobFailed(index, result.line, result.details)
        tallies[index] = result
        if progress is not None:
            progress(len(tallies) / len(jobs))
    return [tallies[index] for index in range(len(jobs))]


def _here(jobs: Sequence[Job]) -> Iterator[tuple[int, Tally | _Failure]]:
    return ((index, _run(job)) for index, job in enumerate(jobs))


def _run(job: Job) -> Tally | _Failure:
    try:
        result = simulate(job.scenario, job.protocol, job.params, job.seed)
    except Exception as error:
        kind = "" if isinstance(error, RoamcastError) else f"{type(error).__name__}: "
        return _Failure(f"{kind}{one_line(error)}".removesuffix(": "), traceback.format_exc())
    return {**result.metrics, "fingerprint": result.fingerprint, "wall_s": result.wall_s, "cpu_s": result.cpu_s}
