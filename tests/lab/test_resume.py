"""A campaign whose driver is killed goes on where it was, and gives the very same metrics."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.lab import conduct
from roamcast.lab.campaign import parse
from roamcast.lab.tables.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def metrics_bytes(path: Path) -> bytes:
    """Every row and column, in order. (Parquet lists encodings in its footer in an order that changes with the JVM.)"""
    table = pq.read_table(path / "metrics").combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def test_killed_and_resumed_is_as_if_never_disturbed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "forty.toml").write_text(FORTY)
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "roamcast", "campaign", "forty.toml", "--out", str(out), "--master", "local[2]"]
    first = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE)
    until = time.monotonic() + PATIENCE_S
    while len(Folder(out).finished()) < 5 and first.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in Folder(out).log.glob("*.parquet")}
    assert 5 <= len(kept) < 40
    assert not (out / "metrics").exists()

    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "runs to do" in again.stderr
    assert f"{40} of 40 runs to do" not in again.stderr
    assert {name: (Folder(out).log / name).stat().st_mtime_ns for name in kept} == kept
    assert list(Folder(out).log.glob(".*")) == []

    conduct.conduct([parse(FORTY)], Folder(tmp_path / "undisturbed"), spark)
    assert metrics_bytes(out) == metrics_bytes(tmp_path / "undisturbed")
