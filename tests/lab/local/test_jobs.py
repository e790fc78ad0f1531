"""Runs without a folder: their results are in order and those of single runs, and a failure names its run."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import InputError, JobFailed, RoamcastError, WorkerDied
from roamcast.lab.local import pool
from roamcast.lab.local.jobs import Job, run_all
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

SMALL = Scenario(nodes=12, duration_s=6.0, publishers=3, subscribers=6, width_m=300.0, height_m=300.0)
JOBS = [Job(SMALL, protocol, {}, seed) for protocol in ("gossip", "counter") for seed in (1, 2, 3)]
POISON = """
import os, signal
from roamcast.protocols.kit.interface import Protocol

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one}\\\\n{two}")

class Raises(Protocol):
    def on_start(self):
        raise Odd("this", "that")

class Kills(Protocol):
    def on_start(self):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def poison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "poisonous.py").write_text(POISON.replace("\\\\", "\\"))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("processes", [1, 2])
def test_results_are_those_of_single_runs_in_order(processes: int) -> None:
    shares: list[float] = []
    results = run_all(JOBS, processes, shares.append)
    for job, tally in zip(JOBS, results, strict=True):
        alone = simulate(job.scenario, job.protocol, job.params, job.seed)
        assert {**alone.metrics, "fingerprint": alone.fingerprint}.items() <= tally.items()
        assert tally["wall_s"] > 0
    assert shares == [k / 6 for k in range(1, 7)]
    assert run_all([]) == []


@pytest.mark.usefixtures("poison")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_that_raises_is_named_in_one_line(processes: int) -> None:
    jobs = [*JOBS[:2], Job(SMALL, "poisonous:Raises", {}, 1), *JOBS[2:]]
    with pytest.raises(JobFailed, match=r"^Odd: this that$") as failed:
        run_all(jobs, processes)
    assert failed.value.index == 2
    assert "in on_start" in failed.value.details
    with pytest.raises(JobFailed, match=r"^unknown gossip parameter 'q'") as failed:
        run_all([JOBS[0], Job(SMALL, "gossip", {"q": 1}, 1)], processes)
    assert failed.value.index == 1
    assert isinstance(failed.value, RoamcastError) and not isinstance(failed.value, InputError)


@pytest.mark.usefixtures("poison")
def test_a_worker_that_dies_is_noticed() -> None:
    with pytest.raises(WorkerDied):
        run_all([JOBS[0], Job(SMALL, "poisonous:Kills", {}, 1)], 2)


def test_a_worker_starts_no_workers() -> None:
    inside = dict(pool.spread(lambda jobs: [tally["fingerprint"] for tally in run_all(jobs, 2)], [JOBS[:2]], 1))
    assert inside == {0: [tally["fingerprint"] for tally in run_all(JOBS[:2], 1)]}


def test_ctrl_c_stops_all_at_once() -> None:
    program = (
        "from roamcast.lab.local.jobs import Job, run_all; from roamcast.world.scenario import Scenario\n"
        "jobs = [Job(Scenario(nodes=500, duration_s=5e5), 'gossip', {}, k) for k in range(4)]\n"
        "print('ready', flush=True)\n"
        "try: run_all(jobs, 2)\n"
        "except KeyboardInterrupt: print('stopped')\n"
    )
    command = [sys.executable, "-c", program]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(1.0)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60) == ("stopped\n", "")
