"""Laws of propagation: known values, and the distances that follow from them."""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from roamcast.world.radio import RADIOS, SENSITIVITY_DBM, SHADOW_SIGMAS, LogDistance, Radio, Table, build
from roamcast.world.specs import RadioSpec

GRADED = ["free-space", "two-ray", "log-distance"]


def radio(
    law: str,
    *,
    range_m: float = 100.0,
    range_max_m: float = 0.0,
    ranges: list[float] | None = None,
    per_frame: bool = False,
    ratio: float = 1.0,
    crossover_m: float = 86.1,
    exponent: float = 3.0,
    shadowing_db: float = 0.0,
    seed: int = 1,
) -> Radio:
    spec = RadioSpec(
        name=law,
        range_m=range_m,
        range_max_m=range_max_m,
        range_per="frame" if per_frame else "node",
        carrier_sense_ratio=ratio,
        crossover_m=crossover_m,
        path_loss_exponent=exponent,
        shadowing_db=shadowing_db,
    )
    return build(spec, 2, seed, ranges=ranges)


def shadow(r: Radio, i: int, j: int) -> float:
    assert isinstance(r, LogDistance)
    return r.shadow(i, j)


def strength(r: Radio, range_m: float, d: float) -> float:
    return r.strength(0, 1, range_m * range_m, d * d)


# ---- the laws


@pytest.mark.parametrize("law", [name for name in RADIOS if name not in ("table", "lora")])
def test_a_frame_has_strength_1_at_the_end_of_its_range(law: str) -> None:
    assert strength(radio(law), 100.0, 100.0) == pytest.approx(1.0)


def test_a_disc_is_all_or_nothing() -> None:
    disc = radio("disc", ratio=2.0)
    assert [strength(disc, 100.0, d) for d in (0.0, 50.0, 100.0, 100.1, 200.0, 200.1)] == [1, 1, 1, 0.5, 0.5, 0]
    assert disc.threshold == 0.5
    assert strength(disc, 40.0, 79.0) == 0.5 and strength(disc, 40.0, 81.0) == 0.0


def test_free_space_falls_with_the_square() -> None:
    free = radio("free-space")
    assert strength(free, 100.0, 50.0) == pytest.approx(4.0)
    assert strength(free, 100.0, 10.0) == pytest.approx(100.0)
    assert strength(free, 100.0, 200.0) == pytest.approx(0.25)


@pytest.mark.parametrize(("exponent", "expected"), [(2.0, 4.0), (3.0, 8.0), (4.0, 16.0), (2.5, 2**2.5)])
def test_log_distance_falls_with_its_exponent(exponent: float, expected: float) -> None:
    law = radio("log-distance", exponent=exponent)
    assert strength(law, 100.0, 50.0) == pytest.approx(expected)
    assert strength(law, 100.0, 200.0) == pytest.approx(1 / expected)


def test_two_rays_fall_with_the_square_first_and_with_the_fourth_power_beyond_the_crossover() -> None:
    ground = radio("two-ray", range_m=400.0, crossover_m=100.0)
    assert strength(ground, 400.0, 800.0) == pytest.approx(1 / 16)
    assert strength(ground, 400.0, 200.0) == pytest.approx(16.0)
    assert strength(ground, 400.0, 100.0) == pytest.approx(256.0)
    assert strength(ground, 400.0, 50.0) == pytest.approx(4 * 256.0)


def test_two_rays_are_free_space_when_the_range_ends_before_the_crossover() -> None:
    ground, free = radio("two-ray", range_m=50.0), radio("free-space", range_m=50.0)
    for d in (5.0, 50.0, 80.0):
        assert strength(ground, 50.0, d) == pytest.approx(strength(free, 50.0, d))


def test_two_rays_are_continuous_at_the_crossover() -> None:
    ground = radio("two-ray", crossover_m=86.1)
    for range_m in (40.0, 86.1, 250.0):
        before, at, after = (strength(ground, range_m, 86.1 + step) for step in (-1e-6, 0.0, 1e-6))
        assert before == pytest.approx(at, rel=1e-6) and after == pytest.approx(at, rel=1e-6)
        assert before > at > after


@pytest.mark.parametrize("law", GRADED)
def test_strength_only_falls(law: str) -> None:
    r = radio(law)
    values = [strength(r, 100.0, d) for d in np.linspace(0.5, 400.0, 300)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("law", GRADED)
def test_two_nodes_at_one_position_hear_each_other_well(law: str) -> None:
    assert 1e6 < strength(radio(law), 100.0, 0.0) < float("inf")


# ---- distances


@pytest.mark.parametrize("law", GRADED)
@settings(max_examples=60, deadline=None)
@given(
    range_m=st.floats(5.0, 500.0),
    own_m=st.floats(5.0, 500.0),
    ratio=st.floats(1.0, 4.0),
    crossover_m=st.floats(5.0, 500.0),
    exponent=st.floats(1.5, 5.0),
)
def test_reach_is_where_strength_equals_the_threshold(
    law: str, range_m: float, own_m: float, ratio: float, crossover_m: float, exponent: float
) -> None:
    """Also for nodes whose range is not the one that defined the threshold."""
    r = radio(law, range_m=range_m, ratio=ratio, crossover_m=crossover_m, exponent=exponent)
    assert strength(r, own_m, r.sensed_up_to(own_m)) == pytest.approx(r.threshold, rel=1e-9)


@pytest.mark.parametrize("law", [*GRADED, "disc"])
def test_the_carrier_sense_range_of_a_plain_node_is_the_ratio_times_its_range(law: str) -> None:
    assert radio(law, range_m=120.0, ratio=2.2).sensed_up_to(120.0) == pytest.approx(264.0)


@pytest.mark.parametrize("law", [*GRADED, "disc"])
def test_without_a_ratio_every_sensed_frame_can_be_decoded(law: str) -> None:
    assert radio(law).sensed_up_to(100.0) == pytest.approx(100.0)
    assert radio(law).threshold <= 1.0


def test_shadowing_widens_the_reach_by_its_largest_gain() -> None:
    """3 sigma of 4 dB at exponent 3 are 10^(12/30) times the distance."""
    r = radio("log-distance", shadowing_db=4.0)
    assert isinstance(r, LogDistance)
    assert r.sensed_up_to(100.0) == pytest.approx(100.0 * 10 ** (12 / 30))
    gain = 10 ** (SHADOW_SIGMAS * 4.0 / 10)
    assert gain * r.fall(100.0**2, r.sensed_up_to(100.0) ** 2) == pytest.approx(r.threshold)


# ---- shadowing


def test_shadowing_is_the_same_in_both_directions_and_at_every_call() -> None:
    r, again = radio("log-distance", shadowing_db=6.0), radio("log-distance", shadowing_db=6.0)
    forward = {(i, j): shadow(r, i, j) for i in range(8) for j in range(i)}
    for i, j in reversed(list(forward)):
        assert shadow(r, j, i) == shadow(r, i, j) == shadow(again, j, i) == forward[i, j]
    assert len(set(forward.values())) == len(forward)


def test_shadowing_depends_on_the_seed() -> None:
    one, other = (radio("log-distance", shadowing_db=6.0, seed=seed) for seed in (1, 2))
    assert shadow(one, 0, 1) != shadow(other, 0, 1)


def test_shadowing_is_log_normal_and_cut_off() -> None:
    r = radio("log-distance", shadowing_db=6.0)
    drawn = 10 * np.log10([shadow(r, 0, j) for j in range(1, 4000)])
    assert drawn.mean() == pytest.approx(0.0, abs=0.4)
    assert drawn.std() == pytest.approx(6.0, rel=0.05)
    assert abs(drawn).max() <= SHADOW_SIGMAS * 6.0 + 1e-9
    assert stats.kstest(drawn, "norm", (0.0, 6.0)).pvalue > 1e-3


def test_shadowing_multiplies_the_strength_of_log_distance_alone() -> None:
    r = radio("log-distance", shadowing_db=6.0)
    assert strength(r, 100.0, 50.0) == pytest.approx(8.0 * shadow(r, 0, 1))
    assert strength(radio("free-space", shadowing_db=6.0), 100.0, 50.0) == pytest.approx(4.0)


# ---- ranges and signals


def test_a_node_has_its_range_and_a_frame_may_have_its_own() -> None:
    fixed = radio("disc", ranges=[30.0, 70.0])
    assert [fixed.frame_range(i) for i in (0, 1, 0)] == [30.0, 70.0, 30.0]
    drawn = radio("disc", range_m=100.0, range_max_m=200.0, per_frame=True)
    values = np.array([drawn.frame_range(0) for _ in range(3000)])
    assert stats.kstest(values, "uniform", (100.0, 100.0)).pvalue > 1e-3
    assert drawn.frame_range(1) not in values


def test_strength_matters_wherever_it_is_not_all_or_nothing() -> None:
    assert radio("disc").plain and radio("table").plain
    assert not radio("disc", ratio=2.0).plain
    assert not radio("disc", range_max_m=200.0, per_frame=True).plain
    assert not any(radio(law).plain for law in GRADED)


def test_decibels_over_a_milliwatt_count_from_the_sensitivity() -> None:
    assert radio("free-space").dbm(1.0) == SENSITIVITY_DBM
    assert radio("free-space").dbm(100.0) == pytest.approx(SENSITIVITY_DBM + 20.0)


def test_where_strength_does_not_matter_it_is_nominal() -> None:
    disc = radio("disc", ranges=[100.0, 50.0])
    assert disc.nominal_dbm(0, 1, 100.0**2) == pytest.approx(SENSITIVITY_DBM)
    assert disc.nominal_dbm(0, 1, 10.0**2) == pytest.approx(SENSITIVITY_DBM + 30.0)
    assert disc.nominal_dbm(1, 0, 50.0**2) == pytest.approx(SENSITIVITY_DBM)
    assert disc.nominal_dbm(0, 1, 0.0) == disc.nominal_dbm(0, 1, 1.0)
    measured = radio("table")
    assert isinstance(measured, Table)
    measured.links[0 << 20 | 1] = -71.5
    assert measured.nominal_dbm(0, 1, 1.0) == -71.5
    assert isnan(measured.nominal_dbm(1, 0, 1.0))


def test_capture_is_a_ratio_of_powers_and_none_on_a_disc() -> None:
    assert radio("free-space").capture == pytest.approx(10.0)
    assert radio("disc").capture > sqrt(1e50)
