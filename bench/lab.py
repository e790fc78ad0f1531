"""The laboratory's costs, in seconds of wall time: `python bench/lab.py overhead|rows|local`, a JSON object each.

overhead  200 short runs through Spark against the same runs in plain multiprocessing on the same cores. A short run
          takes what a run of the quick reproduction takes on average, 83 ms of processor time when it is compiled;
          `tiny` is the same for runs that take a quarter of that. `stage` is the stage that simulates, which is what
          the plain side does: runs and logs with their tallies. `campaign` is all of `roamcast campaign`: also metrics,
          intervals, three tables. All take turns. `first_ratio` is the ratio in the first round, before which both
          sides have done only 20 of the runs; `ratio` is that of the best rounds, when Java has compiled its code.
          `tiny` comes after `short`, so its first round is warmer.
rows      metrics from a log of many rows (ROWS in the environment; 20 million), and the driver's memory: the most that
          its two processes ever had (Java takes what it may, `spark.driver.memory`, before it collects garbage), and
          what Java's heap holds after a collection, with what the metrics keep for as long as they are computed
          (`heap_mib_at_work`: embedded, the driver is its own executor) and without it (`heap_mib`)
local     all of `roamcast campaign FILE --local`, from the shell and back to it, of twelve runs that take about a tenth
          of a second each: the best of several, and the processor time of the runs
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from roamcast.lab import plan
from roamcast.lab.campaign import parse
from roamcast.lab.conduct import conduct
from roamcast.lab.measure.metrics import measured
from roamcast.lab.plan import Run
from roamcast.lab.spark.engine import SparkEngine, planned, simulated
from roamcast.lab.spark.frames import read_log
from roamcast.lab.spark.session import cores, session
from roamcast.lab.tables.folder import Folder
from roamcast.lab.tables.laboratory import Laboratory
from roamcast.world.simulate import simulate

SHORT = """
name = "short"
preset = "baldoni"
seeds = 50
[world]
duration_s = DURATION
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.4, 0.6, 0.8, 1.0] }
"""
TWELVE = """
name = "twelve"
preset = "baldoni"
seeds = 3
[world]
duration_s = 400.0
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.5, 1.0] }
[[protocol]]
name = "proximity"
set = { credits = [0, 2] }
"""
DURATIONS_S = {"short": 360.0, "tiny": 90.0}
ROUNDS = 3
ROWS = int(os.environ.get("ROWS", 20_000_000))
WORKERS = 2


def one(run: Run, folder: Path) -> None:
    cell = run.cell
    simulate(cell.scenario, cell.protocol, cell.params, run.seed, log=folder / f"{run.id}.parquet", run=run.id)


def overhead(folder: Path) -> dict[str, Any]:
    spark = session(f"local[{WORKERS}]", scratch=folder / "scratch", log=folder / "spark.log")
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        short, tiny = (compared(spark, pool, folder / name, DURATIONS_S[name]) for name in ("short", "tiny"))
    return {**short, "tiny": tiny}


def compared(spark: Any, pool: Any, folder: Path, duration_s: float) -> dict[str, Any]:
    """Seconds of each side's best round and of all, and ratios to the plain side."""
    campaign = parse(SHORT.replace("DURATION", str(duration_s)))
    runs = plan.runs(campaign)
    plainly(pool, folder / "plain", runs[:20])
    through_spark(spark, Folder(folder / "warm"), runs[:20])
    sides = {
        "plain": lambda k: plainly(pool, folder / f"plain{k}", runs),
        "stage": lambda k: through_spark(spark, Folder(folder / f"stage{k}"), runs),
        "campaign": lambda k: conduct([campaign], Folder(folder / f"campaign{k}"), SparkEngine(spark)),
    }
    took: dict[str, list[float]] = {side: [] for side in sides}
    for k in range(ROUNDS):
        for side, work in sides.items():
            began = time.perf_counter()
            work(k)
            took[side].append(time.perf_counter() - began)
    best = {f"{side}_s": min(times) for side, times in took.items()}
    ratios = {
        "ratio": best["stage_s"] / best["plain_s"],
        "first_ratio": took["stage"][0] / took["plain"][0],
        "campaign_ratio": best["campaign_s"] / best["plain_s"],
    }
    return {"runs": len(runs), **best, **ratios, "rounds_s": took}


def plainly(pool: Any, folder: Path, runs: list[Run]) -> None:
    folder.mkdir(parents=True)
    ordered = sorted(runs, key=lambda run: (-run.cost_s, run.id))
    pool.starmap(one, [(run, folder) for run in ordered], chunksize=1)


def through_spark(spark: Any, folder: Folder, runs: list[Run]) -> None:
    with folder.held():
        parts = plan.partitions(runs, cores(spark))
        simulated(planned(spark, parts), folder).collect()


def rows(folder: Path) -> dict[str, Any]:
    """The logs of so many runs that there are enough rows."""
    import msgspec

    spark = session(f"local[{WORKERS}]", scratch=folder / "scratch", log=folder / "spark.log")
    first = with_logs(1)
    through_spark(spark, Folder(folder / "first"), first)
    each = read_log(spark, Folder(folder / "first"), [first[0].id]).count()
    place, logged = Folder(folder / "big"), with_logs(max(1, round(ROWS / each)))
    through_spark(spark, place, logged)
    about = [
        (run.id, s.nodes, s.duration_s, msgspec.json.encode(s).decode(), run.seed)
        for run in logged
        for s in [run.cell.scenario]
    ]
    runs = spark.createDataFrame(about, "run string, nodes int, sim_s double, scenario string, seed bigint")
    names = [run.id for run in logged]
    before = memory_mib(os.getpid())
    began = time.perf_counter()
    with measured(read_log(spark, place, names), runs) as metrics:
        results = metrics.collect()
        took_s = time.perf_counter() - began
        at_work = heap_mib(spark)
    assert len(results) == len(names) and all(row.delivery > 0.0 for row in results)
    total = read_log(spark, place, names).count()
    java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    memory = {"driver_mib_before": before, "driver_mib": memory_mib(os.getpid()), "java_mib": memory_mib(java)}
    memory |= {"heap_mib_at_work": at_work, "heap_mib": heap_mib(spark)}
    return {"rows": total, "s": took_s, "rows_per_s": total / took_s, **memory}


def with_logs(seeds: int) -> list[Run]:
    text = SHORT.replace("DURATION", "600.0\nrate_hz = 2.0").replace("[0.4, 0.6, 0.8, 1.0]", "1.0")
    return plan.runs(parse(text.replace("seeds = 50", f'seeds = {seeds}\nlevel = "frames"')))


def local(folder: Path) -> dict[str, Any]:
    file, out = folder / "twelve.toml", folder / "out"
    file.write_text(TWELVE)
    command = [sys.executable, "-m", "roamcast", "campaign", str(file), "--local", "--out", str(out)]
    took_s: list[float] = []
    for _ in range(ROUNDS):
        shutil.rmtree(out, ignore_errors=True)
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took_s.append(time.perf_counter() - began)
    runs_s = [row["cpu_s"] for row in Laboratory(out).rows("runs")]
    return {"runs": len(runs_s), "s": min(took_s), "runs_cpu_s": sum(runs_s), "rounds_s": took_s}


def memory_mib(process: int) -> float:
    """The most that it ever had in memory."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(line) / 1024


def heap_mib(spark: Any) -> float:
    """What Java's heap holds that is not garbage."""
    jvm = spark.sparkContext._jvm
    jvm.java.lang.System.gc()
    return float(jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()) / 2**20


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="roamcast-bench-"))
    try:
        print(json.dumps({"overhead": overhead, "rows": rows, "local": local}[sys.argv[1]](folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
