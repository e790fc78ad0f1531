"""Every registered protocol in the whole simulator, with and without faults."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.protocols import registry
from roamcast.protocols.kit import interface
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import Result, simulate

FAIR: dict[str, Any] = {
    "nodes": 14,
    "width_m": 300.0,
    "height_m": 300.0,
    "duration_s": 40.0,
    "mobility": "waypoint",
    "speed_min_mps": 1.0,
    "speed_max_mps": 5.0,
    "pause_max_s": 5.0,
    "range_m": 120.0,
    "workload": "topics",
    "publishers": 3,
    "subscribers": 8,
    "rate_hz": 0.2,
    "publish_from_s": 10.0,
    "validity_s": 10.0,
    "payload_bytes": 20,
}

FOUL: dict[str, dict[str, Any]] = {
    "loss": {"loss": 0.3},
    "crashes": {"crash_mean_s": 15.0, "repair_mean_s": 3.0},
    "crashes with tables kept": {"crash_mean_s": 15.0, "repair_mean_s": 3.0, "keep_tables": True},
    "duty cycle": {"awake_s": 1.5, "asleep_s": 0.5},
    "asymmetric links": {"range_m": 60.0, "range_max_m": 150.0},
    "a range for each frame": {"range_m": 60.0, "range_max_m": 150.0, "range_per": "frame"},
    "interference": {"radio": "two-ray", "carrier_sense_ratio": 2.0, "loss": 0.1},
    "no contention": {"mac": "ideal", "loss": 0.1},
    "motes": {"mac": "tinyos", "rate_bps": 19_200.0},
    "partition": {"partition_from_s": 15.0, "partition_until_s": 25.0},
    "events that interest few": {"workload": "ranges", "interested": 0.1, "subscriptions_per_node": 2},
    "conjunctions, some of local scope": {
        "workload": "interests",
        "interests": 5,
        "attributes_max": 3,
        "local_share": 0.5,
        "local_range_m": 100.0,
    },
    "a single node": {"nodes": 1, "publishers": 1, "subscribers": 1},
}


def run(protocol: str, **changes: Any) -> Result:
    return simulate(Scenario(**{**FAIR, **changes}), protocol, seed=3)


@pytest.mark.parametrize("protocol", registry.names())
def test_in_fair_weather_it_delivers_and_the_same_seed_gives_the_same_run(protocol: str) -> None:
    first, second = run(protocol), run(protocol)
    assert first.metrics["deliveries"] > 0
    assert first.fingerprint == second.fingerprint
    assert first.metrics == second.metrics


@pytest.mark.parametrize("weather", FOUL)
@pytest.mark.parametrize("protocol", registry.names())
def test_in_foul_weather_it_goes_on(protocol: str, weather: str) -> None:
    metrics = run(protocol, **FOUL[weather]).metrics
    assert metrics["deliveries"] <= metrics["interested"]
    assert metrics["deliveries"] > 0 or weather == "a single node"


def test_protocols_that_share_a_label_share_its_sentence() -> None:
    """A row of the log has kind and label; `explain` takes the first sentence declared with them."""
    for protocol in registry.names():
        registry.get(protocol)
    sentences: dict[tuple[str, str], str] = {}
    for code in range(interface.reason_count()):
        shared = (interface.reason_kind(code), interface.reason_label(code))
        text = interface.sentence(code, 1, 2, 3)
        assert sentences.setdefault(shared, text) == text
