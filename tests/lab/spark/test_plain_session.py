"""Sessions that somebody else has started, as a notebook has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json
from pyspark.sql import SparkSession
from roamcast.lab.traces import register

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
register(spark)
frame = spark.read.format("roamcast-trace").option("columns", "i,j,start,end").load("met.txt")
print(json.dumps([list(row) for row in frame.collect()]))
"""


def test_traces_are_read_in_a_session_whose_workers_would_have_another_interpreter(tmp_path: Path) -> None:
    """`python3` of the path, which such a session takes for its workers, is one that cannot even start."""
    (tmp_path / "met.txt").write_text("1 2 121 300\n3 1 5 9\n")
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    environment["PATH"] = f"{other.parent}:{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[1, 2, 121_000_000, 300_000_000], [1, 3, 5_000_000, 9_000_000]]
