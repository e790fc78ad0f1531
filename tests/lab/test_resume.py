"""A campaign that is killed at any moment goes on where it was, on either engine, and leaves the very same tables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roamcast.lab import conduct
from roamcast.lab.campaign import parse
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.tables.folder import Folder
from tests.lab.local.test_pool import eventually, gone

FORTY = """\
name = "forty"
preset = "baldoni"
seeds = 10
[world]
duration_s = 30.0
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.5, 1.0] }
[[protocol]]
name = "proximity"
set = { credits = [0, 2] }
"""
LONGER = FORTY.replace("30.0", "120.0")
"""So that there is time to look before it ends."""
SPARK, POOL = ("--master", "local[2]"), ("--local", "--processes", "2")
PATIENCE_S = 240.0
Condition = Callable[[Folder], bool]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    conduct.conduct([parse(LONGER)], Folder(out), PoolEngine(2))
    return out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "forty.toml").write_text(LONGER)
    return tmp_path / "out"


def command(out: Path | str, *engine: str) -> list[str]:
    return [sys.executable, "-m", "roamcast", "campaign", "forty.toml", "--out", str(out), *engine]


def started(
    out: Path | str, engine: tuple[str, ...], until: Condition, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """A campaign that has come so far, or has ended before somebody looked."""
    running = subprocess.Popen(
        command(out, *engine), cwd=cwd or Path(out).parent, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE_S
    folder = Folder(out)
    while not until(folder) and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    return running


def kill(running: subprocess.Popen[str], group: bool) -> None:
    if group:
        os.killpg(running.pid, signal.SIGKILL)
    else:
        running.kill()
    running.communicate()


def finished(count: int) -> Condition:
    return lambda folder: len(folder.finished()) >= count


MOMENTS: list[Condition] = [
    lambda folder: bool(folder.storage.names("claims")),
    lambda folder: folder.identity() is not None,
    *(finished(count) for count in (1, 5, 9, 16, 22, 30, 40)),
    lambda folder: bool(folder.storage.names("metrics")),
]
"""Ten: before its first run, between runs, and while it writes its tables."""


def runs(out: Path | str) -> dict[str, float]:
    """Those that are finished, with what a clock measured while they were done: another time it is something else."""
    folder = Folder(out)
    return {run: tally["wall_s"] for run, tally in folder.ended_runs.tallies(folder.finished()).items()}


def check_complete(out: Path, undisturbed: Path) -> None:
    """No run is lost or doubled, nothing half is left, and the tables are the same to the byte."""
    assert runs(out).keys() == runs(undisturbed).keys()
    assert Folder(out).failures() == {}
    assert [path for folder in ("done", "log", "begun", "claims") for path in (out / folder).glob(".*")] == []
    assert [path for folder in ("begun", "claims") for path in (out / folder).glob("*")] == []
    for table in ("metrics", "summary"):
        (here,), (there,) = ((place / table).iterdir() for place in (out, undisturbed))
        assert here.read_bytes() == there.read_bytes()


@pytest.mark.parametrize(
    ("first", "second"), [(SPARK, SPARK), (POOL, POOL), (POOL, SPARK), (SPARK, POOL)], ids=lambda e: e[0][2:]
)
def test_killed_and_resumed_is_as_if_never_disturbed(
    first: tuple[str, ...], second: tuple[str, ...], out: Path, undisturbed: Path
) -> None:
    kill(started(out, first, finished(5)), group=first is SPARK)  # workers of a pool end with their driver
    before = runs(out)
    assert 5 <= len(before) < 40
    assert not (out / "metrics").exists()
    again = subprocess.run(command(out, *second), cwd=out.parent, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "runs to do" in again.stderr and "40 of 40 runs to do" not in again.stderr
    assert before.items() <= runs(out).items()
    check_complete(out, undisturbed)


def test_killed_again_and_again_it_comes_to_its_end(out: Path, undisturbed: Path) -> None:
    before: dict[str, float] = {}
    for moment in MOMENTS:
        kill(started(out, POOL, moment), group=False)
        assert before.items() <= runs(out).items()
        before = runs(out)
    last = subprocess.run(command(out, *POOL), cwd=out.parent, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    assert before.items() <= runs(out).items()
    check_complete(out, undisturbed)


def check_same_tables(url: str, undisturbed: Path) -> None:
    here, there = Folder(url), Folder(undisturbed)
    for table in ("metrics", "summary"):
        assert here.storage.read((here.tables() or {})[table]) == there.storage.read((there.tables() or {})[table])
    assert (here.failures(), here.storage.names("begun"), here.storage.names("claims")) == ({}, {}, {})


def test_killed_at_ten_moments_in_an_object_store_it_comes_to_its_end(
    bucket: str, out: Path, undisturbed: Path
) -> None:
    """The claim of a process that was killed holds up nobody on its machine. Nothing is written beside the store."""
    url, before = f"{bucket}/forty", dict[str, float]()
    for moment in MOMENTS:
        kill(started(url, POOL, moment, out.parent), group=False)
        assert before.items() <= runs(url).items()
        before = runs(url)
    last = subprocess.run(command(url, *POOL), cwd=out.parent, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    assert before.items() <= runs(url).items()
    check_same_tables(url, undisturbed)
    assert [path.name for path in out.parent.iterdir()] == ["forty.toml"]


def test_workers_that_are_killed_cost_no_run(out: Path, undisturbed: Path) -> None:
    running = started(out, POOL, finished(3))
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    for worker in children:
        os.kill(int(worker), signal.SIGKILL)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert len(children) == 2
    assert running.returncode == 0, errors
    check_complete(out, undisturbed)


def test_ctrl_c_stops_it_with_one_line_and_leaves_nothing_running(out: Path, undisturbed: Path) -> None:
    running = started(out, POOL, finished(3))
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert errors.splitlines() == ["forty: 40 of 40 runs to do", "stopped; the same command goes on from here"]
    assert len(children) == 2
    assert eventually(lambda: all(gone(int(child)) for child in children))
    before = runs(out)
    status = subprocess.run(
        [sys.executable, "-m", "roamcast", "campaign", "status", str(out)], capture_output=True, text=True, check=True
    )
    *lines, record = status.stdout.splitlines()
    assert lines == [
        f"forty: {len(before)} of 40 runs finished, {40 - len(before)} to do",
        "tables are written when all runs have ended",
    ]
    assert record.startswith("40 runs from ") and ", not to their end: roamcast " in record
    again = subprocess.run(command(out, *POOL), cwd=out.parent, capture_output=True, text=True, check=False)
    assert f"{40 - len(before)} of 40 runs to do" in again.stderr
    assert before.items() <= runs(out).items()
    check_complete(out, undisturbed)
