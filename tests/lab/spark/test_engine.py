"""Spark as an engine: what it believes of logs, and what it says when it gives up or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roamcast.lab import conduct
from roamcast.lab.campaign import parse
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.spark.engine import _cause
from roamcast.lab.spark.frames import read_log
from roamcast.lab.tables.folder import Folder
from tests.lab.test_resume import FORTY, LONGER, PATIENCE_S, command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_does_not_take_a_log_for_small(spark: SparkSession, tmp_path: Path) -> None:
    """It knew nothing of it except the names of its parts, and sent logs of millions of rows to all workers."""
    folder = Folder(tmp_path / "out")
    campaign = FORTY.replace("seeds = 10", 'level = "frames"\nseeds = 1')
    conduct.conduct([parse(campaign)], folder, PoolEngine(2))
    log: Any = read_log(spark, folder, sorted(folder.finished()))
    assert log._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() > 1 << 40
    assert log.where("kind = 'publish'").count() > 0


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["calling o1.collect.", ": SparkException: no memory", "\tat a.B(C.java:1)"], "SparkException: no memory"),
        (
            ["x", "\tat a.B(C.java:1)", "Caused by: IOException: disk", "\t... 3 more", ""],
            "Caused by: IOException: disk",
        ),
        (["Traceback:", "  File x", "ValueError: wrong"], "ValueError: wrong"),
        ([], ""),
    ],
)
def test_the_cause_is_no_place_in_javas_sources(lines: list[str], line: str) -> None:
    assert _cause("\n".join(lines)) == line


def java_of(process: int) -> int | None:
    """The Java that a process has started, if it has."""
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        if "java" in Path(f"/proc/{child}/comm").read_text():
            return int(child)
    return None


def soon(out: Path) -> bool:
    return (out / "spark.log").exists()


def at_work(out: Path) -> bool:
    return len(Folder(out).finished()) >= 3


@pytest.mark.parametrize(
    ("moment", "line"),
    [
        (soon, "roamcast: Java ended before Spark had started; {out}/spark.log may say why"),
        (at_work, "roamcast: Java, in which Spark runs, has ended; the same command goes on from here"),
    ],
)
def test_java_that_is_killed_is_one_line_at_any_moment(
    moment: Callable[[Path], bool], line: str, tmp_path: Path
) -> None:
    (tmp_path / "forty.toml").write_text(LONGER)
    out = tmp_path / "out"
    started = subprocess.Popen(
        command(out, "--master", "local[2]"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + PATIENCE_S
    while (java := java_of(started.pid)) is None or not moment(out):
        assert started.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    os.kill(java, signal.SIGKILL)
    _, errors = started.communicate(timeout=PATIENCE_S)
    lines = [each for each in errors.splitlines() if " runs to do" not in each and " runs/s" not in each]
    assert lines == ["forty: starting Spark", line.format(out=out)]
    assert started.returncode == 75 and Folder(out).failures() == {}
