"""Every metric that Spark computes from logs is what the runs themselves counted, for every protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from roamcast.lab.measure.metrics import measured
from roamcast.lab.spark.frames import read_log
from roamcast.lab.tables import schemas
from roamcast.lab.tables.endings import Endings
from roamcast.lab.tables.folder import Folder
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import Protocol, reason
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.world.test_tally import LOSSY, WORLDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORLD_OF = dict(zip(registry.BUILT_IN, list(WORLDS) * len(registry.BUILT_IN), strict=False))


OTHERS = {"nothing": "counter", "nothing published": "treegroup", "loud": f"{__name__}:Loud"}
LOUD = reason("note", "loud", "{value}")


class Loud(Protocol):
    """What a note says may be any number: three of these do not add up to one that Spark has."""

    def on_start(self) -> None:
        self.host.note(LOUD, value=2**62)


def kept(spark: SparkSession) -> int:
    """How many tables Spark keeps in memory."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def both(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """What Spark measured and what the run counted, by protocol; and a run in which nothing happened, or next to it."""
    folder = Folder(tmp_path_factory.mktemp("measures"))
    endings, counted = Endings(folder.storage), {}
    scenarios = {name: Scenario(**{**LOSSY, **WORLDS[world]}) for name, world in WORLD_OF.items()}
    scenarios |= dict.fromkeys(OTHERS, Scenario(nodes=3, duration_s=5.0, publishers=0, subscribers=0))
    for name, scenario in scenarios.items():
        protocol = OTHERS.get(name, name)
        tally: list[str] = []
        simulate(scenario, protocol, {}, 7, level="frames", sink=endings.sink(name, tally.append), run=name)
        counted[name] = json.loads(tally[0])
    endings.flush()
    rows = [(n, s.nodes, s.duration_s, msgspec.json.encode(s).decode(), 7) for n, s in scenarios.items()]
    runs = spark.createDataFrame(rows, "run string, nodes int, sim_s double, scenario string, seed bigint")
    before = kept(spark)
    with measured(read_log(spark, folder, list(scenarios)), runs) as metrics:
        assert metrics.columns == schemas.TALLY.names
        from_logs = {row.run: row.asDict() for row in metrics.collect()}
        assert kept(spark) > before
    assert kept(spark) == before
    return {name: (from_logs[name], counted[name]) for name in scenarios}


@pytest.mark.parametrize("name", [*registry.BUILT_IN, *OTHERS])
def test_spark_measures_what_the_run_counted(name: str, both: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> None:
    measured, counted = both[name]
    for key, value in counted.items():
        if key not in ("fingerprint", "wall_s", "cpu_s"):
            assert measured[key] == value, key
    assert set(measured) - {"run"} == set(counted) - {"fingerprint", "wall_s", "cpu_s"}


def test_the_comparison_is_of_something(both: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Each count is above zero somewhere, so that none is right for want of cases."""
    for key, value in both["gossip"][0].items():
        if isinstance(value, int):
            assert any(measured[key] for measured, _ in both.values()), key
    assert any(measured["deterministic_hops"] for measured, _ in both.values())
    assert json.dumps(both["nothing"][0]["frames_by_kind"]) == "{}"
