"""A campaign leaves the same files, whichever engine did its runs.

Every byte is the same, except what clocks measured: `wall_s` and `cpu_s` of a run, in its log's metadata and in two
columns of the table of runs. A traceback in `failed/` may lack the source line of a compiled module. And Spark leaves
`spark.log` and its temporary files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from roamcast.lab.campaign import parse
from roamcast.lab.conduct import conduct
from roamcast.lab.engine import Engine
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.tables.folder import Folder
from roamcast.log.schema import SUMMARY_KEY
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
crash_mean_s = 8.0
repair_mean_s = 2.0
""" + "".join(f'[[protocol]]\nname = "{name}"\n' for name in registry.BUILT_IN)
CLOCKS = ("wall_s", "cpu_s")


def conducted(text: str, path: Path, engine: Engine) -> Path:
    conduct([parse(text)], Folder(path), engine)
    return path


def contents(folder: Path) -> dict[str, Any]:
    """All that is in the files of a campaign's folder, by name, as bytes; without what clocks measured."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] != ".spark"]
    names = {str(path.relative_to(folder)): path for path in paths}
    for own in (".lock", "spark.log"):
        names.pop(own, None)
    look = {"log": columns, "runs": columns, "failed": failure}
    return {name: look.get(name.partition("/")[0], Path.read_bytes)(path) for name, path in names.items()}


def failure(path: Path) -> bytes:
    """Without the lines of compiled modules, which a traceback has only if the process was started where they are."""
    return path.read_bytes().replace(b"\\n    station.protocol.on_start()", b"")


def columns(path: Path) -> list[Any]:
    """The bytes of the columns, and their metadata."""
    content, metadata = path.read_bytes(), pq.ParquetFile(path).metadata
    about = dict(metadata.metadata or {})
    tally = json.loads(about.pop(SUMMARY_KEY.encode(), b"{}"))
    outcome: list[Any] = [about, {name: value for name, value in tally.items() if name not in CLOCKS}]
    for group in range(metadata.num_row_groups):
        for k in range(metadata.num_columns):
            column = metadata.row_group(group).column(k)
            start = column.dictionary_page_offset or column.data_page_offset
            outcome.append((column.path_in_schema, content[start : start + column.total_compressed_size]))
    return [part for part in outcome if not isinstance(part, tuple) or part[0] not in CLOCKS]


POISON = """
import os
from roamcast.protocols.kit.interface import Protocol

class Raises(Protocol):
    def on_start(self):
        raise ValueError("this one is poisoned")

class Exits(Protocol):
    def on_start(self):
        os._exit(7)
"""


@pytest.fixture(scope="module")
def poisonous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with these protocols; the same for all tests, because Spark's workers import it only once."""
    folder = tmp_path_factory.mktemp("poisonous")
    (folder / "exiting.py").write_text(POISON)
    return folder


@pytest.mark.parametrize("level", ["summary", "deliveries", "frames", "full"])
def test_every_file_is_the_same_to_the_byte(
    level: str, spark: SparkSession, tmp_path: Path, poisonous: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(poisonous)
    monkeypatch.syspath_prepend(str(poisonous))
    text = ALL.replace("LEVEL", level) + "".join(
        f'[[protocol]]\nname = "exiting:{name}"\n' for name in ("Raises", "Exits")
    )
    there = contents(conducted(text, tmp_path / "spark", SparkEngine(spark)))
    here = contents(conducted(text, tmp_path / "pool", PoolEngine(2)))
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []
    finished = 2 * len(registry.BUILT_IN)
    tables = {"metrics/part-00000.parquet", "runs/part-00000.parquet", "summary/part-00000.parquet"}
    assert here.keys() >= {"campaign.json", "tables.json"} | tables
    for folder, count in (("log/", finished), ("failed/", 4)):
        assert sum(name.startswith(folder) for name in here) == count
    assert len(here) == finished + 4 + 5


def test_one_engine_finishes_what_the_other_has_begun(spark: SparkSession, tmp_path: Path) -> None:
    text = ALL.replace("LEVEL", "summary")
    whole = conducted(text, tmp_path / "whole", PoolEngine(2))
    part = conducted(text.replace("seeds = 2", "seeds = 1"), tmp_path / "part", PoolEngine(2))
    logs = {path.name: path.stat().st_mtime_ns for path in (part / "log").iterdir()}
    conduct([parse(text)], Folder(part), SparkEngine(spark), extend=True)
    assert logs.items() <= {path.name: path.stat().st_mtime_ns for path in (part / "log").iterdir()}.items()
    assert contents(part) == contents(whole)
