"""A campaign leaves the same files, whichever engine did its runs.

Every byte is the same, except what clocks measured: `wall_s` and `cpu_s` of a run, in its tally and in two columns of
the table of runs. The traceback of a failure may lack the source line of a compiled module. Which runs share an object
depends on who did them when. And Spark leaves `spark.log` and its temporary files. Where and when runs were done is in
`provenance/`, apart from all tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from roamcast.lab.campaign import parse
from roamcast.lab.conduct import conduct
from roamcast.lab.engine import Engine
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.spark.engine import SparkEngine
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
crash_mean_s = 8.0
repair_mean_s = 2.0
""" + "".join(f'[[protocol]]\nname = "{name}"\n' for name in registry.BUILT_IN)
CLOCKS = ("wall_s", "cpu_s")


def conducted(text: str, path: Path, engine: Engine) -> Path:
    conduct([parse(text)], Folder(path), engine)
    return path


def contents(path: Path) -> dict[str, Any]:
    """All that is in a campaign's folder, by name or by run, as bytes; without what clocks measured."""
    folder = Folder(path)
    inside: dict[str, Any] = {"campaign.json": (path / "campaign.json").read_bytes()}
    inside |= {name: columns((path / place).read_bytes()) for name, place in (folder.tables() or {}).items()}
    for run, tally in folder.ended_runs.tallies(folder.finished()).items():
        inside[f"tally of {run}"] = {name: value for name, value in tally.items() if name not in CLOCKS}
        place = folder.ended_runs.places()[run]
        if place.log:
            inside[f"log of {run}"] = columns((path / "log" / place.log).read_bytes(), place.first, place.groups)
    return inside | {f"failure of {run}": failure(record) for run, record in folder.failures().items()}


def failure(record: dict[str, str]) -> dict[str, str]:
    """Without the lines of compiled modules, which a traceback has only if the process was started where they are."""
    return {name: text.replace("\n    station.protocol.on_start()", "") for name, text in record.items()}


def columns(content: bytes, first: int = 0, groups: int | None = None) -> list[Any]:
    """The bytes of the columns in some row groups."""
    metadata = pq.ParquetFile(pa.BufferReader(content)).metadata
    outcome: list[tuple[str, bytes]] = []
    for group in range(first, first + (metadata.num_row_groups if groups is None else groups)):
        for k in range(metadata.num_columns):
            column = metadata.row_group(group).column(k)
            start = column.dictionary_page_offset or column.data_page_offset
            outcome.append((column.path_in_schema, content[start : start + column.total_compressed_size]))
    return [part for part in outcome if part[0] not in CLOCKS]


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
def test_everything_is_the_same_to_the_byte(
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
    assert here.keys() >= {"campaign.json", "runs", "metrics", "summary"}
    assert sum(name.startswith("log of ") for name in here) == (0 if level == "summary" else finished)
    assert len([name for name in here if "log of" not in name]) == finished + 4 + 4


def test_one_engine_finishes_what_the_other_has_begun(spark: SparkSession, tmp_path: Path) -> None:
    text = ALL.replace("LEVEL", "summary")
    whole = conducted(text, tmp_path / "whole", PoolEngine(2))
    part = conducted(text.replace("seeds = 2", "seeds = 1"), tmp_path / "part", PoolEngine(2))
    before = {path.name: path.stat().st_mtime_ns for path in (part / "done").iterdir()}
    conduct([parse(text)], Folder(part), SparkEngine(spark), extend=True)
    assert before.items() <= {path.name: path.stat().st_mtime_ns for path in (part / "done").iterdir()}.items()
    assert contents(part) == contents(whole)
