"""Strengths of LoRa radios: laws of path loss by hand, antennas of different heights, measured links."""

from __future__ import annotations

from math import log10

import pytest

from roamcast.world.radio import Lora, build
from roamcast.world.radio.path_loss import LAWS, coefficients, free_space
from roamcast.world.specs import LoraSpec, RadioSpec
from tests.world.stage import Stage


def radio(nodes: int = 2, shadowing_db: float = 0.0, **lora: object) -> Lora:
    spec = RadioSpec(name="lora", shadowing_db=shadowing_db, lora=LoraSpec(**lora))  # type: ignore[arg-type]
    made = build(spec, nodes, 1)
    assert isinstance(made, Lora)
    return made


def loss_db(law: str, d_m: float, one_m: float = 1.0, other_m: float = 1.0, mhz: float = 908.75) -> float:
    a, b = coefficients(law, mhz, one_m, other_m, 3.5)
    return a + b * log10(d_m)


@pytest.mark.parametrize(
    "law, one_m, other_m, expected_db",
    [
        ("3gpp-suburban", 1.0, 1.0, 147.85),
        ("3gpp-urban", 1.0, 1.0, 150.85),
        ("3gpp-suburban", 30.0, 1.5, 126.16),
        ("hata-urban", 30.0, 1.5, 126.51),
        ("hata-suburban", 30.0, 1.5, 116.545),
        ("hata-open", 30.0, 1.5, 97.965),
        ("free-space", 1.0, 1.0, 91.62),
        ("log-distance", 1.0, 1.0, 136.62),
    ],
)
def test_the_loss_at_a_kilometre_is_that_of_the_law(law: str, one_m: float, other_m: float, expected_db: float) -> None:
    assert loss_db(law, 1000.0, one_m, other_m) == pytest.approx(expected_db, abs=0.01)


@pytest.mark.parametrize("law", LAWS)
def test_losses_grow_with_the_distance_and_are_the_same_both_ways(law: str) -> None:
    assert loss_db(law, 2000.0, 10.0, 1.5) > loss_db(law, 1000.0, 10.0, 1.5) == loss_db(law, 1000.0, 1.5, 10.0)


def test_thirty_dbm_and_antennas_at_one_metre_reach_two_kilometres() -> None:
    assert radio().ranges == pytest.approx([2013.0, 2013.0], abs=4.0)
    assert radio().strength(0, 1, 0.0, radio().ranges[0] ** 2) == pytest.approx(1.0)


def test_activity_is_noticed_three_decibels_below() -> None:
    r = radio()
    far = r.sensed_up_to(r.ranges[0])
    assert r.strength(0, 1, 0.0, far * far) == pytest.approx(10**-0.3) == pytest.approx(r.threshold)


def test_no_law_is_better_than_free_space_close_to_an_antenna() -> None:
    r = radio()
    assert r.nominal_dbm(0, 1, 2.0**2) == pytest.approx(30.0 - free_space(908.75)[0] - 20 * log10(2.0))
    assert r.nominal_dbm(0, 1, 0.0) == r.nominal_dbm(0, 1, 1.0)


def test_high_antennas_and_gains_reach_farther_in_both_directions() -> None:
    r = radio(3, antennas=((1.0, 0.0), (30.0, 0.0), (1.0, 6.0)))
    at = 1500.0**2
    assert r.strength(0, 1, 0.0, at) == r.strength(1, 0, 0.0, at) > r.strength(0, 2, 0.0, at)
    assert r.dbm(r.strength(0, 2, 0.0, at)) == pytest.approx(r.dbm(r.strength(0, 0, 0.0, at)) + 6.0)
    assert r.ranges[1] == max(r.ranges) and r.ranges[0] > 2013.0  # the best receiver decides


def test_shadowing_belongs_to_pairs_and_makes_the_farthest_distance_longer() -> None:
    r = radio(3, shadowing_db=6.0)
    assert r.strength(0, 1, 0.0, 1e6) == r.strength(1, 0, 0.0, 1e6) != r.strength(0, 2, 0.0, 1e6)
    assert r.farthest(1000.0) > 1000.0 == radio().farthest(1000.0)


def test_the_signal_of_a_frame_is_power_minus_loss() -> None:
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], access="lora", law="lora")
    stage.send(1.0, 0, size=24)
    stage.run(5.0)
    ((_, sender, _, signal_dbm),) = stage.happened(1, "frame")
    assert sender == 0 and signal_dbm == pytest.approx(30.0 - 147.85, abs=0.01)
