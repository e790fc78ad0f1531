"""What a campaign's storage costs: `python bench/storage.py many|runs|spark [RUNS]`, a JSON object each.

many   100,000 runs (or RUNS) that are finished: their tallies are put as workers put them, 150 at a time, and merged as
       a campaign merges them. How many objects and bytes that is, and how long it takes to plan, to see what is
       finished (`status`), to read all tallies and write the tables, and to do it all again, with nothing to do
runs   so many very short runs, really done by the pool: seconds by stage, objects, bytes, memory
spark  the same on embedded Spark, with the memory of Java
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lab import memory_mib
from roamcast.lab import conduct, plan, progress
from roamcast.lab.campaign import Campaign, parse
from roamcast.lab.engine import Engine
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.progress import Watcher
from roamcast.lab.tables import merging
from roamcast.lab.tables.endings import Ending, put_endings
from roamcast.lab.tables.folder import Folder
from roamcast.world.simulate import simulate

MANY = """
name = "many"
preset = "baldoni"
seeds = SEEDS
[world]
nodes = 10
subscribers = 4
publishers = 2
duration_s = 12.0
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0] }
"""
CELLS = 10
A_FLUSH = 150


class Stages(Watcher):
    """When each stage began."""

    def __init__(self) -> None:
        self.began: list[tuple[str, float]] = []

    def stage(self, what: str) -> None:
        self.began.append((what, time.perf_counter()))

    def runs(self, total: int, done: int) -> None:
        self.stage(f"{total - done} runs")

    def seconds(self, end: float) -> dict[str, float]:
        ends = [*(at for _, at in self.began[1:]), end]
        return {what: round(end - at, 2) for (what, at), end in zip(self.began, ends, strict=True)}


def campaign_of(runs: int) -> Campaign:
    return parse(MANY.replace("SEEDS", str(max(1, runs // CELLS))))


def many(folder: Path, runs: int) -> dict[str, Any]:
    took: dict[str, float] = {}
    campaign = campaign_of(runs)
    planned = timed("plan", took, lambda: plan.runs(campaign))
    place = Folder(folder / "out")
    cell = planned[0].cell
    made = simulate(cell.scenario, cell.protocol, cell.params, 1)
    tally = json.dumps({**made.metrics, "fingerprint": made.fingerprint, "wall_s": made.wall_s, "cpu_s": made.cpu_s})
    with place.held():
        place.claim([campaign])
        for k in range(0, len(planned), A_FLUSH):
            put_endings(place.runs, [Ending(run.id, tally) for run in planned[k : k + A_FLUSH]])
            while merging.merge(place.runs, place.ended_runs.look()):
                pass
    objects = size_of(folder / "out")
    timed("status", took, lambda: progress.status(Folder(folder / "out")))
    timed("first_tables", took, lambda: conduct.conduct([campaign], Folder(folder / "out"), PoolEngine(2)))
    timed("nothing_to_do", took, lambda: conduct.conduct([campaign], Folder(folder / "out"), PoolEngine(2)))
    return {"runs": len(planned), **objects, "s": took, "driver_mib": memory_mib(os.getpid())}


def done(folder: Path, runs: int, engine: Engine) -> dict[str, Any]:
    campaign, stages = campaign_of(runs), Stages()
    began = time.perf_counter()
    conduct.conduct([campaign], Folder(folder / "out"), engine, stages)
    ended = time.perf_counter()
    about = {"runs": runs, "s": round(ended - began, 2), "stages": stages.seconds(ended)}
    return {**about, **size_of(folder / "out"), "driver_mib": memory_mib(os.getpid())}


def on_spark(folder: Path, runs: int) -> dict[str, Any]:
    from roamcast.lab.spark.engine import SparkEngine
    from roamcast.lab.spark.session import session

    spark = session("local[2]", scratch=folder / "scratch", log=folder / "spark.log")
    java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    return {**done(folder, runs, SparkEngine(spark)), "java_mib": memory_mib(java)}


def timed(what: str, took: dict[str, float], work: Any) -> Any:
    began = time.perf_counter()
    result = work()
    took[what] = round(time.perf_counter() - began, 2)
    return result


def size_of(out: Path) -> dict[str, int]:
    files = [path for path in out.rglob("*") if path.is_file() and ".spark" not in path.parts]
    return {"objects": len(files), "bytes": sum(path.stat().st_size for path in files)}


def main() -> None:
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    folder = Path(tempfile.mkdtemp(prefix="roamcast-bench-"))
    try:
        match sys.argv[1]:
            case "many":
                print(json.dumps(many(folder, runs)))
            case "runs":
                print(json.dumps(done(folder, runs, PoolEngine(2))))
            case "spark":
                print(json.dumps(on_spark(folder, runs)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
