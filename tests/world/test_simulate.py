"""Whole runs: the same scenario and seed give the same run, whatever is recorded; and the results of a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import roamcast
from roamcast.errors import InputError
from roamcast.log.reader import read, summary
from roamcast.log.schema import LEVELS, RECEIVE, SEND
from roamcast.log.writer import LogSink
from roamcast.protocols.kit.interface import Params
from roamcast.world.assembly import build
from roamcast.world.kernel import World
from roamcast.world.queue import COMPILED
from roamcast.world.radio import LogDistance
from roamcast.world.scenario import Scenario, with_values
from roamcast.world.simulate import Result, run_id, simulate, what_was_possible
from roamcast.world.workload import Workload
from tests.support.sinks import MemorySink

GOLDEN = Path(__file__).with_name("fingerprints.json")
UPDATE = "UPDATE_GOLDEN"

SMALL: dict[str, Any] = {"nodes": 25, "width_m": 400.0, "height_m": 400.0, "duration_s": 10.0, "publishers": 4}

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "walkers on a disc": ("gossip", SMALL),
    "ranges of frames over ground": (
        "proximity",
        SMALL
        | {"mobility": "gauss-markov", "radio": "two-ray", "range_m": 80.0, "range_max_m": 160.0, "range_per": "frame"},
    ),
    "cars in a city": (
        "frugal",
        SMALL
        | {"mobility": "city", "speed_min_mps": 8.0, "speed_max_mps": 13.0, "validity_s": 5.0, "workload": "topics"},
    ),
    "motes that stand": (
        "semiprob",
        SMALL | {"mobility": "static", "mac": "tinyos", "rate_bps": 19_200.0, "payload_bytes": 2, "rate_hz": 0.2},
    ),
    "sleepers in free space": (
        "psamanet",
        SMALL
        | {"radio": "free-space", "carrier_sense_ratio": 2.2, "awake_s": 4.0, "asleep_s": 2.0, "pause_max_s": 3.0}
        | {"workload": "ranges", "events": 30},
    ),
    "crashes behind walls": (
        "semiprob-links",
        SMALL
        | {"nodes": 12, "speed_max_mps": 10.0}
        | {"radio": "log-distance", "shadowing_db": 6.0, "crash_mean_s": 8.0, "repair_mean_s": 2.0, "loss": 0.05}
        | {"workload": "interests", "local_share": 0.5, "partition_from_s": 3.0, "partition_until_s": 5.0},
    ),
}
"""Six small worlds that together use every model: name -> (protocol, scenario)."""

NAMES = pytest.mark.parametrize("name", RUNS)


def run(name: str, seed: int = 1, **options: Any) -> Result:
    protocol, values = RUNS[name]
    return simulate(with_values(values, {}), protocol, {}, seed, **options)


def same(a: Result, b: Result) -> bool:
    """Sums of joules may differ by rounding, because the order of their terms depends on the level."""
    metrics = [dict(r.metrics) for r in (a, b)]
    joules = [m.pop("energy_j") for m in metrics]
    return (
        a.fingerprint == b.fingerprint and metrics[0] == metrics[1] and joules[0] == pytest.approx(joules[1], rel=1e-12)
    )


# ---- determinism


@NAMES
def test_the_fingerprint_is_the_recorded_one(name: str) -> None:
    """UPDATE_GOLDEN=1 writes new ones; a change belongs into the changelog, under "Changes to results"."""
    recorded = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    fingerprint = run(name).fingerprint
    if os.environ.get(UPDATE):
        GOLDEN.write_text(json.dumps(dict(sorted({**recorded, name: fingerprint}.items())), indent=2) + "\n")
        return
    assert recorded.get(name) == fingerprint


def test_every_recorded_fingerprint_is_used() -> None:
    assert sorted(json.loads(GOLDEN.read_text())) == sorted(RUNS)


@NAMES
def test_the_same_seed_gives_the_same_run_and_another_another(name: str) -> None:
    first, again, other = run(name), run(name), run(name, seed=2)
    assert first.metrics == again.metrics and first.fingerprint == again.fingerprint
    assert other.fingerprint != first.fingerprint


@NAMES
def test_logging_and_progress_do_not_change_the_run(name: str) -> None:
    """At every level, with a progress bar, and without the ideal flood beside it."""
    plain = run(name)
    for level in LEVELS[1:]:
        assert same(run(name, level=level, sink=MemorySink()), plain), level
    shares: list[float] = []
    assert same(run(name, progress=shares.append), plain)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 200
    alone = run(name, possible=False)
    assert alone.fingerprint == plain.fingerprint
    unknown = {"possible": None, "of_possible": None}
    assert alone.metrics | unknown == plain.metrics | unknown


@NAMES
def test_rows_are_the_same_twice_and_in_order_of_time(name: str) -> None:
    one, two = MemorySink(), MemorySink()
    run(name, level="full", sink=one)
    run(name, level="full", sink=two)
    assert one.rows == two.rows
    assert [row[0] for row in one.rows] == sorted(row[0] for row in one.rows)
    assert one.rows[-1][0] <= 10_000_000


PRINT_ALL = """
import json
from tests.world.test_simulate import RUNS, run
print(json.dumps({name: [r.fingerprint, r.metrics] for name in RUNS for r in [run(name)]}, sort_keys=True))
"""


def elsewhere(tmp_path: Path, package: Path, hash_seed: str) -> Any:
    """All runs in another process."""
    checkout = Path(__file__).resolve().parents[2]
    search = os.pathsep.join([str(package), str(checkout)])
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": search}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ALL], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def here() -> Any:
    return json.loads(json.dumps({name: [r.fingerprint, r.metrics] for name in RUNS for r in [run(name)]}))


def test_a_process_with_another_hash_seed_runs_the_same(tmp_path: Path) -> None:
    package = Path(roamcast.__path__[0]).parent
    assert elsewhere(tmp_path, package, "0") == elsewhere(tmp_path, package, "4711") == here()


def test_compiled_modules_run_the_same_as_their_sources(tmp_path: Path) -> None:
    if not COMPILED:
        pytest.skip("no compiled modules here: nothing to compare the sources with")
    shutil.copytree(roamcast.__path__[0], tmp_path / "roamcast", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    assert elsewhere(tmp_path, tmp_path, "0") == here()


def test_more_nodes_do_not_change_the_movement_of_the_others() -> None:
    def walks(nodes: int) -> list[Any]:
        sink = MemorySink()
        simulate(with_values(SMALL | {"nodes": nodes}, {}), "gossip", level="full", sink=sink)
        return [row for row in sink.rows if row[2] == 12 and row[1] < 25]

    assert walks(25) == walks(26) != []


# ---- a seed of its own for the traffic


def traffic(name: str, traffic_seed: int, seed: int) -> tuple[Scenario, World]:
    scenario = with_values(RUNS[name][1] | {"traffic_seed": traffic_seed}, {})
    return scenario, build(scenario, seed, "summary", LogSink())


@NAMES
def test_one_traffic_is_the_same_under_two_seeds(name: str) -> None:
    """Movement, ranges of nodes, shadowing and faults."""

    def traffic_values(traffic_seed: int, seed: int) -> list[Any]:
        s, world = traffic(name, traffic_seed, seed)
        radio = world.radio
        faults = [world.faults.first(i) for i in range(s.nodes)]
        shadows = [radio.shadow(i, i + 1) for i in range(s.nodes - 1)] if isinstance(radio, LogDistance) else []
        world.motion.advance(8.0)
        return [[world.motion.position(i, 8.0) for i in range(s.nodes)], world.radio.ranges, faults, shadows]

    assert traffic_values(7, 1) == traffic_values(7, 2) == traffic_values(0, 7)
    for one, other in zip(traffic_values(0, 1), traffic_values(0, 2), strict=True):  # constants are always equal
        assert one != other or len({*map(repr, one)}) <= 1


@NAMES
def test_two_seeds_on_one_traffic_have_other_publishers_and_other_random_numbers(name: str) -> None:
    (s, one), (_, other) = traffic(name, 7, 1), traffic(name, 7, 2)
    people = [Workload(s, seed) for seed in (1, 2)]
    assert people[0].publishers != people[1].publishers
    assert [(f.node, str(f.filter)) for f in people[0].subscriptions] != [
        (f.node, str(f.filter)) for f in people[1].subscriptions
    ]
    assert all(
        a.protocol_rng.random() != b.protocol_rng.random() for a, b in zip(one.stations, other.stations, strict=True)
    )


def test_ranges_of_nodes_belong_to_the_traffic_and_ranges_of_frames_to_the_run() -> None:
    def ranges(per: str, seed: int) -> list[float]:
        s = with_values(SMALL | {"range_m": 80.0, "range_max_m": 160.0, "range_per": per, "traffic_seed": 7}, {})
        radio = build(s, seed, "summary", LogSink()).radio
        return [radio.frame_range(i) for i in range(25)]

    assert ranges("node", 1) == ranges("node", 2)
    assert ranges("frame", 1) != ranges("frame", 2)


@NAMES
def test_the_seed_of_the_run_is_its_traffic_seed_by_default(name: str) -> None:
    protocol, values = RUNS[name]
    own = with_values(values | {"traffic_seed": 1}, {})
    assert simulate(own, protocol, {}, 1).fingerprint == run(name).fingerprint
    assert run_id(own, protocol, Params(), 1) != run_id(with_values(values, {}), protocol, Params(), 1)
    other = with_values(values | {"traffic_seed": 2}, {})
    assert len({simulate(other, protocol, {}, seed).fingerprint for seed in (1, 2)}) == 2


def test_what_was_possible_depends_on_the_traffic_alone() -> None:
    publications = [(0, i, 10_000_000, [j for j in range(25) if j != i]) for i in range(5)]

    def possible(traffic_seed: int, seed: int) -> int:
        sparse = SMALL | {"traffic_seed": traffic_seed, "range_m": 40.0, "range_max_m": 90.0}
        return what_was_possible(with_values(sparse, {}), seed, publications, [])

    assert possible(7, 1) == possible(7, 2) == possible(0, 7)
    assert len({possible(0, seed) for seed in (1, 2, 7)}) > 1


# ---- the results of a run


def test_a_log_in_a_file_is_the_log_in_memory(tmp_path: Path) -> None:
    sink = MemorySink()
    in_memory = run("walkers on a disc", level="frames", sink=sink)
    in_file = run("walkers on a disc", level="frames", log=tmp_path / "x.parquet", run="r1")
    assert same(in_memory, in_file)
    table = read(tmp_path / "x.parquet")
    assert table.num_rows == len(sink.rows)
    assert table["t"].to_pylist() == [row[0] for row in sink.rows]
    assert set(table["run"].to_pylist()) == {"r1"}


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_has_the_rows_of_the_level_below_and_more(level: str) -> None:
    sink = MemorySink()
    run("walkers on a disc", level=level, sink=sink)
    kinds = {row[2] for row in sink.rows}
    expected = {"summary": set(), "deliveries": {0, 1, 6, 17}, "frames": {3, 4, 5, 7}, "full": {12}}
    wanted = set[int]().union(*(expected[name] for name in LEVELS[: LEVELS.index(level) + 1]))
    assert wanted <= kinds
    assert not kinds & set[int]().union(*(expected[name] for name in LEVELS[LEVELS.index(level) + 1 :]))


def test_a_run_that_fails_leaves_no_log(tmp_path: Path) -> None:
    def fail(share: float) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        run("walkers on a disc", level="frames", log=tmp_path / "x.parquet", progress=fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "ful"}, "level=ful: must be one of summary, deliveries, frames, full"),
        ({"protocol": "gosip"}, "did you mean 'gossip'"),
        ({"params": {"p": 2.0}}, "p=2"),
        ({"params": {"q": 2.0}}, "unknown gossip parameter 'q'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    asked = {"protocol": "gossip", "log": tmp_path / "x.parquet", **options}
    with pytest.raises(InputError, match=message):
        simulate(Scenario(nodes=2, subscribers=1), asked.pop("protocol"), asked.pop("params", None), **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_one_node_and_a_run_without_subscribers_end() -> None:
    for values in ({"nodes": 1, "subscribers": 1}, {"nodes": 5, "subscribers": 0}, {"publishers": 0}):
        result = simulate(with_values(values | {"duration_s": 5.0}, {}), "gossip")
        assert result.metrics["delivery"] is None and result.metrics["of_possible"] is None
        assert result.metrics["deliveries"] == 0
    assert result.sim_s == 5.0 and result.wall_s >= 0.0


@pytest.mark.parametrize("level", LEVELS)
def test_a_log_of_any_level_has_the_metrics_that_the_run_counted(level: str, tmp_path: Path) -> None:
    result = simulate(Scenario(nodes=20, duration_s=10.0), "gossip", level=level, log=tmp_path / "log")
    others = {"fingerprint": result.fingerprint, "wall_s": result.wall_s, "cpu_s": result.cpu_s}
    assert summary(tmp_path / "log") == {**result.metrics, **others}


def test_the_id_of_a_run_depends_on_everything_that_decides_the_run(tmp_path: Path) -> None:
    def name(seed: int, **params: float) -> str:
        s = Scenario(nodes=5, duration_s=2.0, subscribers=2)
        simulate(s, "gossip", params, seed, level="deliveries", log=tmp_path / "log")
        return str(read(tmp_path / "log")["run"][0])

    assert name(1) == name(1) == name(1, p=0.5)
    assert len({name(1), name(2), name(1, p=0.6)}) == 3


def test_sleepers_on_an_ideal_medium_wake_up_again() -> None:
    crowd = {"nodes": 30, "width_m": 400.0, "height_m": 400.0, "subscribers": 20}
    s = Scenario(**crowd, duration_s=20.0, mac="ideal", awake_s=1.0, asleep_s=0.5)
    assert simulate(s, "flooding-periodic").metrics["deliveries"] > 0


@pytest.mark.parametrize("mac", ["ideal", "dcf"])
def test_no_node_uses_more_energy_than_its_time_allows(mac: str) -> None:
    """Many nodes at a few bits a second: every node always sends or receives, also when the run ends."""
    s = Scenario(
        nodes=20,
        width_m=50.0,
        height_m=50.0,
        duration_s=20.0,
        mac=mac,
        rate_bps=2000.0,
        publishers=10,
        idle_w=0.0,
        tx_w=1.0,
        rx_w=1.0,
    )
    most_j = 20 * 20.0 * (2.0 if mac == "ideal" else 1.0)  # an ideal radio can send and receive at once
    assert 0 < simulate(s, "gossip", {"p": 1.0}).metrics["energy_j"] <= most_j


@pytest.mark.parametrize("mac", ["ideal", "dcf"])
def test_overhead_is_paid_in_bytes_airtime_and_energy(mac: str) -> None:
    """Two nodes, five events, one frame each: 38 bytes more are 304 us more of sending and of receiving."""
    few = {"nodes": 2, "subscribers": 1, "mobility": "static", "width_m": 10.0, "height_m": 10.0, "events": 5}

    def run(overhead_bytes: int) -> dict[str, Any]:
        scenario = with_values(few, {"mac": mac, "overhead_bytes": str(overhead_bytes)})
        sink = MemorySink()
        metrics = simulate(scenario, "gossip", {"ttl": 1}, level="frames", sink=sink).metrics
        assert {row[2] for row in sink.rows} >= {SEND, RECEIVE}
        return {**metrics, "sent": [row[6:8] for row in sink.rows if row[2] == SEND]}

    bare, secured = run(0), run(38)
    assert bare["frames_sent"] == secured["frames_sent"] == secured["receptions"] == 5
    assert secured["bytes_sent"] == bare["bytes_sent"] + 5 * 38
    assert secured["sent"] == [(size + 38, airtime + 304) for size, airtime in bare["sent"]]
    more_j = 5 * 304e-6 * ((1.4 - 0.83) + (1.0 - 0.83))
    assert secured["energy_j"] - bare["energy_j"] == pytest.approx(more_j, rel=1e-6)


def test_stations_are_in_the_order_of_their_ids_wherever_they_are() -> None:
    world = build(Scenario(nodes=60, width_m=5000.0, height_m=5000.0), 1, "summary", LogSink())
    assert [station.id for station in world.stations] == list(range(60))
