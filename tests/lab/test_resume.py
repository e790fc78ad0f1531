"""A campaign whose driver is killed goes on where it was, and leaves the very same tables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roamcast.lab import conduct
from roamcast.lab.campaign import parse
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.tables.folder import Folder

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
PATIENCE_S = 240.0


def killed(command: list[str], out: Path, group: bool) -> set[str]:
    """The names of the logs that were finished when the driver (or with it all it started) was killed."""
    first = subprocess.Popen(command, cwd=out.parent, start_new_session=True, stderr=subprocess.PIPE)
    until = time.monotonic() + PATIENCE_S
    while len(Folder(out).finished()) < 5 and first.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    if group:
        os.killpg(first.pid, signal.SIGKILL)
    else:
        first.kill()
    first.wait()
    return {path.name for path in Folder(out).log.glob("*.parquet")}


@pytest.mark.parametrize("engine", [["--master", "local[2]"], ["--local", "--processes", "2"]], ids=["spark", "pool"])
def test_killed_and_resumed_is_as_if_never_disturbed(engine: list[str], tmp_path: Path) -> None:
    (tmp_path / "forty.toml").write_text(FORTY)
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "roamcast", "campaign", "forty.toml", "--out", str(out), *engine]
    names = killed(command, out, group="--master" in engine)  # workers of a pool end with their driver
    assert 5 <= len(names) < 40
    assert not (out / "metrics").exists()
    kept = {name: (Folder(out).log / name).stat().st_mtime_ns for name in names}

    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "runs to do" in again.stderr
    assert "40 of 40 runs to do" not in again.stderr
    assert {name: (Folder(out).log / name).stat().st_mtime_ns for name in kept} == kept
    assert list(Folder(out).log.glob(".*")) == []

    undisturbed = tmp_path / "undisturbed"
    conduct.conduct([parse(FORTY)], Folder(undisturbed), PoolEngine(2))
    for table in ("metrics", "summary"):
        (here,), (there,) = ((place / table).iterdir() for place in (out, undisturbed))
        assert here.read_bytes() == there.read_bytes()
