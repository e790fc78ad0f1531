"""A campaign leaves the same files, whichever engine did its runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from roamcast.lab.campaign import parse
from roamcast.lab.conduct import conduct
from roamcast.lab.engine import Engine
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.tables import schemas
from roamcast.lab.tables.folder import Folder
from roamcast.protocols import registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL = """\
name = "all"
preset = "baldoni"
seeds = 2
level = "LEVEL"
[world]
duration_s = 14.0
publish_from_s = 10.0
nodes = 30
loss = 0.1
local_share = 0.3
local_range_m = 200.0
awake_s = 3.0
asleep_s = 1.0
crash_mean_s = 8.0
repair_mean_s = 2.0
""" + "".join(f'[[protocol]]\nname = "{name}"\n' for name in registry.BUILT_IN)
CLOCKS = ("wall_s", "cpu_s")


def conducted(text: str, path: Path, engine: Engine) -> Path:
    conduct([parse(text)], Folder(path), engine)
    return path


def only(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize("level", ["summary", "frames"])
def test_tables_are_the_same_bytes_with_spark_and_with_a_pool(level: str, spark: SparkSession, tmp_path: Path) -> None:
    text = ALL.replace("LEVEL", level)
    there = conducted(text, tmp_path / "spark", SparkEngine(spark))
    here = conducted(text, tmp_path / "pool", PoolEngine(2))
    for name in ("campaign.json", "tables.json"):
        assert (here / name).read_bytes() == (there / name).read_bytes()
    for name in ("metrics", "summary"):
        assert only(here / name).read_bytes() == only(there / name).read_bytes(), name
        assert only(here / name).name == only(there / name).name
    runs = [pq.ParquetFile(only(place / "runs")).read() for place in (here, there)]
    assert runs[0].drop_columns(CLOCKS).equals(runs[1].drop_columns(CLOCKS))
    assert runs[0].schema.equals(schemas.RUNS)
    assert sorted(p.name for p in (here / "log").iterdir()) == sorted(p.name for p in (there / "log").iterdir())
    assert runs[0].num_rows == 2 * len(registry.BUILT_IN)


def test_one_engine_finishes_what_the_other_has_begun(spark: SparkSession, tmp_path: Path) -> None:
    text = ALL.replace("LEVEL", "summary")
    whole = conducted(text, tmp_path / "whole", PoolEngine(2))
    part = conducted(text.replace("seeds = 2", "seeds = 1"), tmp_path / "part", PoolEngine(2))
    logs = {path.name: path.stat().st_mtime_ns for path in (part / "log").iterdir()}
    conduct([parse(text)], Folder(part), SparkEngine(spark), extend=True)
    assert logs.items() <= {path.name: path.stat().st_mtime_ns for path in (part / "log").iterdir()}.items()
    assert only(part / "metrics").read_bytes() == only(whole / "metrics").read_bytes()
