"""Positions and telemetry that wait while the channel is busy."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.world.courtesy import AGAIN_US, NEVER, NOW, Courtesy
from roamcast.world.mac.lora import Lora
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.world.stage import Stage

MINUTE_US = 60_000_000


def courtesy(busy: float) -> tuple[Courtesy, Stage]:
    """Station 0 has sensed others for this share of the first minute, which is over."""
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], access="lora", law="lora")
    assert isinstance(stage.mac, Lora)
    stage.mac.sensed(0, 0, 0, int(busy * MINUTE_US))
    return Courtesy(stage.mac), stage


@pytest.mark.parametrize(
    "topic, busy, waits",
    [
        ("position", 0.25, False),
        ("position", 0.26, True),
        ("telemetry", 0.40, False),
        ("telemetry", 0.41, True),
        ("text", 1.0, False),
        ("nodeinfo", 1.0, False),
    ],
)
def test_positions_wait_above_a_quarter_and_telemetry_above_two_fifths(topic: str, busy: float, waits: bool) -> None:
    asked, stage = courtesy(busy)
    assert asked.wait_us(stage.stations[0], topic, 0, MINUTE_US - 1) == (AGAIN_US if waits else NOW)
    assert asked.wait_us(stage.stations[1], topic, 1, MINUTE_US - 1) == NOW  # the channel is free there


def test_a_message_that_waits_goes_when_the_channel_is_calmer() -> None:
    asked, stage = courtesy(0.3)
    assert asked.wait_us(stage.stations[0], "position", 0, MINUTE_US - 1) == AGAIN_US
    assert asked.wait_us(stage.stations[0], "position", 0, MINUTE_US + 5_000_000) == AGAIN_US  # 27.5 % are in sight
    assert asked.wait_us(stage.stations[0], "position", 0, MINUTE_US + 15_000_000) == NOW  # 22.5 %


def test_a_newer_message_of_the_kind_takes_the_place_of_one_that_waits() -> None:
    asked, stage = courtesy(0.5)
    station = stage.stations[0]
    assert asked.wait_us(station, "position", 0, MINUTE_US - 1) == AGAIN_US
    assert asked.wait_us(station, "telemetry", 1, MINUTE_US - 1) == AGAIN_US
    assert asked.wait_us(station, "position", 2, MINUTE_US - 1) == AGAIN_US
    assert asked.wait_us(station, "position", 0, 2 * MINUTE_US) == NEVER
    assert asked.wait_us(station, "position", 2, 3 * MINUTE_US) == NOW
    assert asked.wait_us(station, "telemetry", 1, 3 * MINUTE_US) == NOW


BUSY: dict[str, Any] = {
    "nodes": 30,
    "publishers": 30,
    "width_m": 4000.0,
    "height_m": 4000.0,
    "mobility": "static",
    "radio": "lora",
    "mac": "lora",
    "workload": "mesh",
    "interested": 1.0,
    "rate_hz": 0.02,
    "duration_s": 600.0,
}


def test_a_polite_mesh_sends_fewer_messages_and_more_of_them_arrive() -> None:
    rude = simulate(Scenario(**BUSY), "managed", seed=1, possible=False).metrics
    polite = simulate(Scenario(**BUSY, polite=True), "managed", seed=1, possible=False).metrics
    assert polite["events_published"] < rude["events_published"]
    assert polite["delivery"] > rude["delivery"]
    assert polite["reasons"]["delay: channel busy"] > 0 and "delay: channel busy" not in rude["reasons"]


def test_every_message_is_sent_or_outdated_or_still_waits() -> None:
    rude = simulate(Scenario(**BUSY), "managed", seed=1, possible=False).metrics
    polite = simulate(Scenario(**BUSY, polite=True), "managed", seed=1, possible=False).metrics
    missing = rude["events_published"] - polite["events_published"] - polite["reasons"]["suppress: newer one"]
    assert 0 <= missing <= 2 * 30  # a position and telemetry of every node


def test_a_quiet_mesh_is_the_same_with_it() -> None:
    quiet = {**BUSY, "rate_hz": 0.0005}
    assert (
        simulate(Scenario(**quiet), "managed", seed=1, possible=False).fingerprint
        == simulate(Scenario(**quiet, polite=True), "managed", seed=1, possible=False).fingerprint
    )


@pytest.mark.parametrize("world", [{"mac": "dcf"}, {"workload": "topics", "subscribers": 30}])
def test_only_the_traffic_of_meshes_can_wait(world: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="only what mac=lora and workload=mesh send can wait"):
        Scenario(**{**BUSY, **world, "polite": True})
