"""Runs of a campaign are counted again from logs, and a tally that says otherwise than its log is an error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamcast import lab
from roamcast.errors import LogsDiffer
from roamcast.lab import reproduce
from roamcast.lab.campaign import parse
from roamcast.lab.conduct import conduct
from roamcast.lab.progress import Watcher
from roamcast.lab.recount import logged_run, recount
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.tables.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TINY = """
name = "tiny"
preset = "baldoni"
seeds = 2
[world]
nodes = 12
width_m = 300.0
height_m = 300.0
duration_s = 6.0
publish_from_s = 1.0
publishers = 3
subscribers = 6
[[protocol]]
name = "gossip"
"""


class Listening(Watcher):
    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, what: str) -> None:
        self.stages.append(what)


def test_a_sample_is_done_again_with_logs_once(spark: SparkSession, tmp_path: Path) -> None:
    campaigns, folder, watcher = [parse(TINY)], Folder(tmp_path / "out", tmp_path / "log"), Listening()
    engine = SparkEngine(spark)
    conduct(campaigns, folder, engine)
    metrics = reproduce.rows(lab.open(folder.path))
    without = folder.finished()
    result = recount(campaigns, metrics, folder, engine, watcher)
    (run,) = result.runs
    row = next(row for row in metrics["tiny"] if row["run"] == run)
    assert row["deliveries"] > 0
    assert folder.finished() - without == {logged_run(campaigns, row).id}
    assert watcher.stages
    watcher.stages.clear()
    assert recount(campaigns, metrics, folder, engine, watcher) == result and not watcher.stages

    (folder.path / "recounted.json").unlink()
    row["duplicates_wanted"] += 1
    with pytest.raises(LogsDiffer, match=f"run {run}: duplicates_wanted is"):
        recount(campaigns, metrics, folder, engine, watcher)
    assert not (folder.path / "recounted.json").exists()
