"""Imported traces drive simulations: a protocol over every format, and nodes that are not always present."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from roamcast.world.traces.formats import FORMATS
from tests.world.traces import samples
from tests.world.traces.samples import written


def scenario(path: Path, **values: Any) -> Scenario:
    defaults: dict[str, Any] = {"nodes": 3, "publishers": 3, "subscribers": 3, "workload": "topics", "mac": "ideal"}
    return Scenario(trace=str(path), **{**defaults, **values})


def run(world: Scenario, protocol: str = "flooding-periodic") -> dict[str, Any]:
    return simulate(world, protocol, {}, seed=3).metrics


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.kind == "positions"])
def test_a_protocol_runs_over_every_format_of_positions(tmp_path: Path, name: str) -> None:
    """Nodes 0 and 1 are in range of 50 m from 6.25 s on; node 2 never is."""
    path = samples.positions(tmp_path)[name]
    world = scenario(path, mobility="trace", range_m=50.0, duration_s=20.0, events=30, publish_until_s=5.0)
    metrics = run(world)
    assert 0 < metrics["possible"] < metrics["interested"]
    assert metrics["deliveries"] == metrics["possible"]
    assert run(scenario(path, mobility="trace", range_m=50.0, duration_s=6.0, events=30))["possible"] == 0


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.kind == "contacts"])
def test_a_protocol_runs_over_every_format_of_contacts(tmp_path: Path, name: str) -> None:
    path = samples.contacts(tmp_path)[name]
    metrics = run(scenario(path, mobility="contacts", duration_s=120.0, events=30, publish_until_s=30.0))
    assert metrics["deliveries"] == metrics["possible"] > 0


@pytest.mark.parametrize(
    ("kind", "mobility", "message"),
    [
        ("csv", "contacts", "csv has positions; use mobility=trace"),
        ("one-conn", "trace", "one-conn has contacts; use mobility=contacts"),
    ],
)
def test_a_trace_of_the_other_kind_is_refused(tmp_path: Path, kind: str, mobility: str, message: str) -> None:
    path = {**samples.positions(tmp_path), **samples.contacts(tmp_path)}[kind]
    with pytest.raises(InputError, match=message):
        run(scenario(path, mobility=mobility))


# ---- absence

NEAR = "$node_(0) set X_ 0.0\n$node_(1) set X_ 10.0\n"


def absent(t: float, order: str) -> str:
    return f'$ns_ at {t} "$node_(1) switch {order}"\n'


def deliveries(tmp_path: Path, script: str, **values: Any) -> dict[str, Any]:
    path = written(tmp_path, "a.tcl", NEAR + script)
    world = scenario(path, mobility="trace", nodes=2, publishers=2, subscribers=2, duration_s=30.0, **values)
    return run(world, "gossip")


def test_a_node_that_is_switched_off_neither_receives_nor_sends(tmp_path: Path) -> None:
    there = deliveries(tmp_path, "", events=40)
    assert there["deliveries"] == there["interested"] == 40
    away = deliveries(tmp_path, absent(0, "OFF") + absent(10, "ON") + absent(20, "OFF"), events=40)
    assert 0 < away["deliveries"] == away["interested"] == away["possible"] < 25
    assert deliveries(tmp_path, absent(0, "OFF"), events=40)["interested"] == 0


def test_absence_and_faults_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"crash_mean_s must be 0: trace=.* already says when nodes are present"):
        deliveries(tmp_path, absent(5, "OFF"), crash_mean_s=10.0)
    deliveries(tmp_path, "", crash_mean_s=10.0)


def test_a_node_that_vanishes_stays_away_to_the_end_of_a_long_run(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tcl", NEAR + absent(5, "OFF"))
    world = scenario(path, mobility="trace", nodes=2, publishers=2, subscribers=2, duration_s=400_000.0, events=20)
    assert run(world, "gossip")["interested"] == 0
