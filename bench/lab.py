"""The laboratory's costs, in seconds of wall time: `python bench/lab.py overhead|rows|start`, a JSON object each.

overhead  200 short runs through Spark against the same runs in plain multiprocessing on the same cores
rows      metrics from a log of many rows (ROWS in the environment; 20 million), and the driver's memory
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from roamcast.lab import measures, plan
from roamcast.lab.campaign import parse
from roamcast.lab.folder import Folder
from roamcast.lab.laboratory import read_log
from roamcast.lab.plan import Run
from roamcast.lab.session import cores, session
from roamcast.lab.simulate import planned, simulated
from roamcast.world.simulate import simulate

SHORT = """
name = "short"
preset = "baldoni"
seeds = 50
[world]
duration_s = 60.0
[[protocol]]
name = "gossip"
set = { p = [0.4, 0.6, 0.8, 1.0] }
"""
ROWS = int(os.environ.get("ROWS", 20_000_000))
WORKERS = 2


def one(run: Run, folder: Path) -> None:
    cell = run.cell
    simulate(cell.scenario, cell.protocol, cell.params, run.seed, log=folder / f"{run.id}.parquet", run=run.id)


def overhead(folder: Path) -> dict[str, Any]:
    """Both warm: workers have been started and have loaded the simulator."""
    runs = plan.runs(parse(SHORT))
    spark = session(f"local[{WORKERS}]", scratch=folder / "scratch", log=folder / "spark.log")
    through_spark(spark, Folder(folder / "warm"), runs[:20])
    began = time.perf_counter()
    through_spark(spark, Folder(folder / "campaign"), runs)
    with_spark_s = time.perf_counter() - began
    (folder / "plain").mkdir()
    ordered = sorted(runs, key=lambda run: (-run.cost_s, run.id))
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        pool.starmap(one, [(run, folder / "plain") for run in ordered[:20]], chunksize=1)
        began = time.perf_counter()
        pool.starmap(one, [(run, folder / "plain") for run in ordered], chunksize=1)
        plain_s = time.perf_counter() - began
    return {"runs": len(runs), "spark_s": with_spark_s, "plain_s": plain_s, "ratio": with_spark_s / plain_s}


def through_spark(spark: Any, folder: Folder, runs: list[Run]) -> None:
    with folder.held():
        parts = plan.partitions(runs, cores(spark))
        simulated(planned(spark, parts), folder).write.format("noop").mode("overwrite").save()


def rows(folder: Path) -> dict[str, Any]:
    """A log of one run, told over and over under other names until it has enough rows."""
    import msgspec
    import pyarrow.parquet as pq

    spark = session(f"local[{WORKERS}]", scratch=folder / "scratch", log=folder / "spark.log")
    place = Folder(folder / "big")
    place.log.mkdir(parents=True)
    run = plan.runs(parse(SHORT.replace("60.0", "600.0\nrate_hz = 2.0").replace("[0.4, 0.6, 0.8, 1.0]", "1.0")))[0]
    scenario = run.cell.scenario
    simulate(scenario, "gossip", run.cell.params, 1, level="frames", log=place.log_of("r0"), run="r0")
    each = pq.ParquetFile(place.log_of("r0")).metadata.num_rows
    names = [f"r{k}" for k in range(max(1, round(ROWS / each)))]
    table = pq.read_table(place.log_of("r0"))
    for name in names[1:]:
        told = table.set_column(0, "run", [[name] * table.num_rows])
        pq.write_table(told, place.log_of(name), compression="zstd", row_group_size=65_536)
    about = [(name, scenario.nodes, scenario.duration_s, msgspec.json.encode(scenario).decode(), 1) for name in names]
    runs = spark.createDataFrame(about, "run string, nodes int, sim_s double, scenario string, seed bigint")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    found = measures.metrics(read_log(spark, place, names), runs).collect()
    took_s = time.perf_counter() - began
    assert len({row.delivery for row in found}) == 1 and len(found) == len(names)
    total = each * len(names)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": total, "s": took_s, "rows_per_s": total / took_s, "driver_mib_before": before, "driver_mib": after}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="roamcast-bench-"))
    try:
        print(json.dumps({"overhead": overhead, "rows": rows}[sys.argv[1]](folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
