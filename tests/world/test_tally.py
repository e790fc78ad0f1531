"""The tally of a run equals what tests/support/log_metrics.py computes from the rows alone, key by key.

The world counts while it runs, without rows; the log has only rows. An omission in one of them shows here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from roamcast.log.reader import read
from roamcast.papers import presets
from roamcast.protocols import registry
from roamcast.world.faults import SLEEP
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import Result, simulate
from tests.support.log_metrics import channel, energy, metrics
from tests.support.sinks import MemorySink
from tests.world.stage import ACK_US, AIRTIME_US, DIFS_US, SIFS_US, US, Stage

PREAMBLE_US = 192

OF_THE_CHANNEL = {"reachable", "reach", "airtime_s_per_hour", "utilisation_mean", "utilisation_max", "hops"}
NOT_IN_THE_LOG = {"energy_j", "possible", "of_possible"} | OF_THE_CHANNEL
"""Without the scenario, that is."""

LOSSY: dict[str, Any] = {
    "nodes": 20,
    "width_m": 350.0,
    "height_m": 350.0,
    "duration_s": 10.0,
    "publishers": 5,
    "subscribers": 12,
    "rate_hz": 0.5,
    "speed_max_mps": 10.0,
    "loss": 0.1,
    "local_share": 0.3,
    "local_range_m": 200.0,
}
WORLDS: dict[str, dict[str, Any]] = {
    "disc, crashes": {"crash_mean_s": 8.0, "repair_mean_s": 2.0},
    "log-distance, duty cycle, short queue": {
        "radio": "log-distance",
        "shadowing_db": 4.0,
        "awake_s": 3.0,
        "asleep_s": 1.0,
        "queue": 2,
        "retries": 2,
    },
    "several subscriptions, nothing lost by chance": {
        "loss": 0.0,
        "workload": "interests",
        "interests": 8,
        "subscriptions_per_node": 3,
        "attributes_max": 2,
        "range_max_m": 250.0,
    },
    "LoRa, crashes": {
        "radio": "lora",
        "mac": "lora",
        "modem": "short-turbo",
        "width_m": 3000.0,
        "height_m": 3000.0,
        "local_range_m": 1000.0,
        "crash_mean_s": 8.0,
        "repair_mean_s": 2.0,
        "retries": 1,
    },
}
QUIET: dict[str, dict[str, Any]] = {
    "crashes": {"loss": 0.0, "crash_mean_s": 8.0, "repair_mean_s": 2.0},
    "crowded": {"loss": 0.0, "duration_s": 4.0, "rate_hz": 8.0, "rate_bps": 250_000.0, "range_max_m": 250.0},
    "motes": {"loss": 0.0, "mac": "tinyos", "rate_bps": 38_400.0},
    "ideal": {"loss": 0.0, "mac": "ideal", "rate_hz": 4.0, "rate_bps": 250_000.0},
    "nodding off": {"loss": 0.0, "duration_s": 4.0, "rate_hz": 4.0, "awake_s": 0.03, "asleep_s": 0.02},
    "asleep for less than a frame": {
        "loss": 0.0,
        "duration_s": 4.0,
        "rate_hz": 4.0,
        "rate_bps": 250_000.0,
        "awake_s": 0.004,
        "asleep_s": 0.001,
    },
}
SHORTER: dict[str, dict[str, str]] = {
    "baehni-city": {"duration_s": "40", "publish_from_s": "10", "publish_until_s": "10"},
    "baehni-waypoint": {"duration_s": "25", "publish_from_s": "10", "publish_until_s": "10"},
    "baldoni": {"duration_s": "20", "publish_from_s": "10"},
    "costa": {"duration_s": "15", "publish_until_s": "10"},
    "li": {"duration_s": "10.5", "publish_until_s": "10.3", "nodes": "200", "publishers": "200", "subscribers": "200"},
    "mesh-city": {"duration_s": "1000", "publish_until_s": "960"},
    "mesh-hills": {"duration_s": "1200", "publish_until_s": "1200"},
    "rezende": {"duration_s": "20", "publish_until_s": "10", "events": "40"},
}


def counted_from_rows(table: pa.Table, result: Result) -> None:
    counted = metrics(table)
    assert set(result.metrics) == set(counted) | NOT_IN_THE_LOG
    for key, value in counted.items():
        assert result.metrics[key] == value, key


def joules(table: pa.Table, s: Scenario) -> float:
    return sum(energy(table, s.nodes, s.duration_s, s.tx_w, s.rx_w, s.idle_w, s.sleep_w))


def same_energy(table: pa.Table, s: Scenario, result: Result) -> None:
    assert result.metrics["energy_j"] == pytest.approx(joules(table, s), rel=1e-12)
    counted = channel(table, s.nodes, s.duration_s, s.mac == "lora")
    assert set(counted) == OF_THE_CHANNEL
    for key, value in counted.items():
        assert result.metrics[key] == (None if value is None else pytest.approx(value, rel=1e-12)), key


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("protocol", registry.BUILT_IN)
def test_every_protocol_in_a_lossy_world(protocol: str, world: str) -> None:
    s = Scenario(**(LOSSY | WORLDS[world]))
    sink = MemorySink()
    result = simulate(s, protocol, level="frames", sink=sink)
    assert result.metrics["deliveries"] > 0 and result.metrics["losses"] > 0
    counted_from_rows(sink.table(), result)
    same_energy(sink.table(), s, result)


@pytest.mark.parametrize("world", QUIET)
@pytest.mark.parametrize("protocol", registry.BUILT_IN)
def test_the_tally_without_a_log_is_the_same(protocol: str, world: str) -> None:
    """Without rows to write, the world uses faster code."""
    s = Scenario(**(LOSSY | QUIET[world]))
    sink = MemorySink()
    quiet, logged = simulate(s, protocol, seed=2), simulate(s, protocol, seed=2, level="frames", sink=sink)
    counted_from_rows(sink.table(), quiet)
    same_energy(sink.table(), s, quiet)
    same_energy(sink.table(), s, logged)
    assert quiet.fingerprint == logged.fingerprint


@pytest.mark.parametrize("name", presets.names())
def test_gossip_in_every_preset(name: str, tmp_path: Path) -> None:
    preset = presets.load(name)
    s = preset.scenario(SHORTER[name])
    log = tmp_path / "log.parquet"
    result = simulate(s, "gossip", preset.parameters("gossip", {}), level="frames", log=log)
    assert result.metrics["frames_sent"] > 0
    counted_from_rows(read(log), result)
    same_energy(read(log), s, result)


def test_a_run_without_publications_is_all_warm_up() -> None:
    sink = MemorySink()
    result = simulate(Scenario(**(LOSSY | {"publishers": 0})), "treegroup", level="frames", sink=sink)
    assert result.metrics["warmup_frames"] == result.metrics["frames_sent"] > 0
    counted_from_rows(sink.table(), result)


def test_a_row_more_or_less_would_be_noticed() -> None:
    s = Scenario(**LOSSY)
    sink = MemorySink()
    result = simulate(s, "gossip", level="frames", sink=sink)
    for kind in (3, 4, 5, 6, 7):
        at = next(k for k, row in enumerate(sink.rows) if row[2] == kind)
        row = sink.rows.pop(at)
        with pytest.raises(AssertionError):
            counted_from_rows(sink.table(), result)
        sink.rows.insert(at, row)
    counted_from_rows(sink.table(), result)


# ---- frames that the protocol never sees also cost energy


def rx_us(stage: Stage) -> list[int]:
    return [int(station.rx_us) for station in stage.stations]


def overheard(stage: Stage) -> list[tuple[int, str]]:
    return [(row.node, row.reason) for row in stage.rows("overhear")]


def gap_j(stage: Stage, nodes: int) -> float:
    """The energy that the world counted, minus the energy in the rows."""
    logged_j = sum(energy(stage.sink.table(), nodes, 1.0, 1.4, 1.0, 0.83, 0.13))
    return float(stage.world.energy_j(US)) - logged_j


@pytest.mark.parametrize("law", ["disc", "log-distance"])
def test_a_station_that_overhears_a_frame_uses_energy_for_it_and_for_its_acknowledgement(law: str) -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0)], law=law)
    stage.send(0.1, 0, to=1)
    stage.run(1.0)
    assert rx_us(stage) == [ACK_US, AIRTIME_US, AIRTIME_US + ACK_US, AIRTIME_US + ACK_US]
    assert [int(station.tx_us) for station in stage.stations] == [AIRTIME_US, ACK_US, 0, 0]
    assert overheard(stage)[:2] == [(2, "for another"), (3, "for another")]
    assert overheard(stage)[2:] == [(node, "acknowledgement") for node in (0, 2, 3)]
    assert stage.world.recorder.tally.metrics()["overheard"] == 2
    assert gap_j(stage, 4) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("law", ["disc", "log-distance"])
def test_rows_of_acknowledgements_name_no_frame(law: str) -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0)], law=law)
    stage.send(0.05, 1)  # so that the object of the transmission was used before
    stage.send(0.1, 0, to=1)
    stage.run(1.0)
    (sent,) = stage.rows("acknowledge")
    assert (sent.node, sent.peer, sent.frame, sent.bytes, sent.value) == (1, 0, 0, 14, ACK_US)
    (heard,) = stage.rows("overhear")
    assert (heard.node, heard.peer, heard.frame, heard.bytes, heard.value) == (0, 1, 0, 14, ACK_US)
    assert heard.t == sent.t + ACK_US


@pytest.mark.parametrize("law", ["disc", "log-distance"])
def test_a_garbled_acknowledgement_costs_as_much_as_an_intact_one(law: str) -> None:
    """2 is locked on to the acknowledgement of 1 when 3, which hears neither 0 nor 1, begins to send."""
    stage = Stage([(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (300.0, 0.0)], law=law)
    stage.send(0.1, 0, to=1)
    stage.send(0.1 + (AIRTIME_US + SIFS_US + 100) / US, 3)
    stage.run(1.0)
    assert rx_us(stage) == [ACK_US, AIRTIME_US, ACK_US, 0]
    assert overheard(stage) == [(0, "acknowledgement"), (2, "acknowledgement")]
    assert stage.lost(2) == [(100_000 + AIRTIME_US + SIFS_US + 100, "collision")]
    assert gap_j(stage, 4) == pytest.approx(0.0, abs=1e-12)


def test_a_station_that_falls_asleep_during_an_acknowledgement_uses_no_energy_for_it() -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)])
    stage.send(0.1, 0, to=1)
    stage.switch(0.1 + (AIRTIME_US + SIFS_US + 100) / US, 2, SLEEP)
    stage.run(1.0)
    assert rx_us(stage) == [ACK_US, AIRTIME_US, AIRTIME_US]
    assert gap_j(stage, 3) == pytest.approx(0.0, abs=1e-12)


def test_a_frame_for_another_station_is_overheard_on_an_ideal_medium_too() -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)], access="ideal")
    stage.send(0.1, 0, to=1)
    stage.run(1.0)
    airtime_us = AIRTIME_US - PREAMBLE_US
    assert rx_us(stage) == [0, airtime_us, airtime_us]
    assert overheard(stage) == [(2, "for another")] and not stage.rows("acknowledge")


def test_of_frames_that_end_at_one_instant_the_order_of_rows_decides() -> None:
    """On an ideal medium a radio receives several frames at once; a short and a long one end together at 2."""
    stage = Stage([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)], access="ideal")
    stage.send(0.1, 0, to=1)
    stage.send(0.1 + 8 * 300 / US, 1, size=100)
    stage.run(1.0)
    assert [row.t for row in stage.rows("overhear", 2)] == [row.t for row in stage.rows("receive", 2)]
    assert gap_j(stage, 3) == pytest.approx(0.0, abs=1e-12)


def test_a_repetition_costs_as_much_as_the_frame() -> None:
    """0 does not hear 1, so the frame is sent four times, and four acknowledgements reach no station."""
    stage = Stage([(0.0, 0.0), (100.0, 0.0)], ranges=[150.0, 50.0], range_m=50.0, retries=3)
    stage.send(0.1, 0, to=1)
    stage.run(1.0)
    assert rx_us(stage) == [0, 4 * AIRTIME_US]
    assert int(stage.stations[1].tx_us) == 4 * ACK_US
    assert overheard(stage) == [(1, "repetition")] * 3
    assert [row.frame for row in stage.rows("repeat", 0)] == [row.frame for row in stage.rows("send", 0)][1:]
    assert int(stage.world.recorder.tally.repeats) == 3
    assert stage.world.recorder.tally.metrics()["overheard"] == 0
    assert gap_j(stage, 2) == pytest.approx(0.0, abs=1e-12)


def test_an_acknowledgement_after_the_end_of_the_run_costs_nothing() -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0)])
    end_us = US - SIFS_US - 100
    stage.send((end_us - AIRTIME_US - DIFS_US) / US, 0, to=1)
    stage.run(1.0)
    (row,) = stage.rows("acknowledge")
    assert row.t <= US < row.t + ACK_US
    assert [int(station.tx_us) for station in stage.stations] == [AIRTIME_US, US - row.t]
    assert gap_j(stage, 2) == pytest.approx(0.0, abs=1e-12)


def test_a_station_that_sends_during_a_frame_for_another_uses_no_energy_for_receiving_it() -> None:
    """With rows, every station in range is visited at the end; without, most are only counted at the start."""
    s = Scenario(**(LOSSY | QUIET["crowded"]))
    sink = MemorySink()
    quiet = simulate(s, "treegroup", seed=4)
    logged = simulate(s, "treegroup", seed=4, level="frames", sink=sink)
    assert quiet.metrics["losses_by_reason"]["half-duplex"] > 0 and quiet.metrics["overheard"] > 0
    assert quiet.metrics["overheard"] == logged.metrics["overheard"]
    same_energy(sink.table(), s, quiet)
