"""Cohen's d_z: its interval is that of the noncentral t distribution, and covers what it says."""

from __future__ import annotations

import random
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from roamcast.judging.effect import effect, probability
from roamcast.judging.student import deviation, mean


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 29, 99, 999])
@pytest.mark.parametrize("t", [0.0, 0.3, 2.0, 10.0, 25.0])
def test_the_noncentral_t_is_that_of_scipy(freedom: int, t: float) -> None:
    for shift in (-2.0, -0.5, 0.4, 1.5):
        delta = t + shift * (1.0 + t * t / (2 * freedom)) ** 0.5
        expected = stats.nct.cdf(t, freedom, delta)
        assert isnan(expected) or probability(t, freedom, delta) == pytest.approx(expected, abs=3e-6)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("size", [0.0, 0.2, 1.0, -3.0, 40.0])
def test_both_ends_leave_out_a_fortieth(n: int, size: float) -> None:
    measured = effect(size, 1.0, n)
    assert measured is not None and measured.size == size and measured.low < size < measured.high
    t = size * n**0.5
    beyond = [stats.nct.cdf(t, n - 1, end * n**0.5) for end in (measured.low, measured.high)]
    assert beyond == pytest.approx([0.975, 0.025], abs=3e-6)


def test_the_interval_excludes_zero_exactly_where_the_t_test_rejects() -> None:
    for t in (2.1, 2.2, 2.3, 2.4):  # the quantile of ten values is 2.262
        measured = effect(t, 10**0.5, 10)
        assert measured is not None and (measured.low > 0) == (t > 2.262)


@given(st.floats(0.01, 5.0), st.integers(2, 40))
def test_what_turns_the_sign_turns_the_interval(size: float, n: int) -> None:
    up, down = effect(size, 1.0, n), effect(-size, 1.0, n)
    assert up is not None and down is not None
    assert (up.size, up.low, up.high) == pytest.approx((-down.size, -down.high, -down.low), abs=1e-6)


def test_what_does_not_vary_has_no_effect_size() -> None:
    assert effect(1.0, 0.0, 5) is None and effect(0.0, 0.0, 5) is None and effect(1.0, 1.0, 1) is None
    assert effect(0.1, 1e-17, 5) is None and effect(0.1, 1e-9, 5) is not None


def test_nineteen_of_twenty_intervals_have_the_true_size() -> None:
    draws = random.Random(5)
    covered = 0
    for _ in range(400):
        values = [draws.gauss(0.8, 1.0) for _ in range(5)]
        measured = effect(mean(values), deviation(values), 5)
        assert measured is not None
        covered += measured.low <= 0.8 <= measured.high
    assert 368 <= covered <= 392  # 380, four deviations of 4.4 to each side less a few
