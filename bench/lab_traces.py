"""Traces in Spark, and in this process alone: rows a second of import and of contact extraction, by the clock, after
Spark has started. What begins with `here_` is without Spark.

python bench/lab_traces.py [--rows N] [--cores N]     prints a JSON object
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roamcast.lab.spark.session import session
from roamcast.lab.traces import contacts
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.here import Here
from roamcast.lab.traces.in_spark import InSpark
from roamcast.lab.traces.trace import Place

NODES = 1000
SIDE_M = 3000.0
RANGE_M = 100.0
STEP_S = 5.0
SPEED_MPS = 5.0


def movements(path: Path, rows: int) -> None:
    """Random walks, sampled every few seconds: `t,node,x,y`."""
    draw = random.Random(1)
    places = [(draw.uniform(0, SIDE_M), draw.uniform(0, SIDE_M)) for _ in range(NODES)]
    with path.open("w") as out:
        out.write("t,node,x,y\n")
        for step in range(rows // NODES):
            for node, (x, y) in enumerate(places):
                out.write(f"{step * STEP_S},{node},{x:.3f},{y:.3f}\n")
                far = SPEED_MPS * STEP_S
                places[node] = x + draw.uniform(-far, far), y + draw.uniform(-far, far)


def meetings(path: Path, rows: int) -> None:
    """A contact list: every 20 s a few hundred pairs."""
    draw = random.Random(2)
    with path.open("w") as out:
        for k in range(rows):
            i = draw.randrange(NODES)
            out.write(f"{20 * (k // 500 + 1)} {i} {(i + draw.randrange(1, 9)) % NODES}\n")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def measured(rows: int, cores: int) -> dict[str, Any]:
    spark = session(f"local[{cores}]", "bench", conf={"spark.sql.shuffle.partitions": str(2 * cores)})
    with tempfile.TemporaryDirectory() as folder:
        moves, met = Path(folder) / "moves.csv", Path(folder) / "tij.dat"
        movements(moves, rows)
        meetings(met, rows)
        spark.range(1000).count()
        split = max(1 << 20, moves.stat().st_size // (2 * cores))
        here = worked_on(Here(), moves, met, rows, split)
        figures = {"rows": rows, "cores": cores, **worked_on(InSpark(spark), moves, met, rows, split)}
        figures |= {f"here_{name}": figure for name, figure in here.items()}
    spark.stop()
    figures["driver_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def worked_on(place: Place, moves: Path, met: Path, rows: int, split: int) -> dict[str, Any]:
    took, read = timed(lambda: traces.read(place, [str(moves)], split_bytes=split))
    figures: dict[str, Any] = {"csv_import_s": took, "csv_rows_per_s": rows / took}
    took, count = timed(lambda: contacts.of(read, RANGE_M).count())
    figures |= {"contacts": count, "extraction_s": took, "extraction_rows_per_s": rows / took}
    read.close()
    took, read = timed(lambda: traces.read(place, [str(met)], split_bytes=split))
    figures |= {"list_import_s": took, "list_rows_per_s": rows / took}
    took, count = timed(lambda: contacts.of(read).count())
    figures |= {"merged": count, "merge_s": took, "merge_rows_per_s": rows / took}
    read.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    print(json.dumps(measured(options.rows, options.cores)))


if __name__ == "__main__":
    main()
