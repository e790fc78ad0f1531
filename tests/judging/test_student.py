"""Student's t, compared with scipy."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from roamcast.judging.student import deviation, interval, mean, quantile, two_sided

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(VALUES, st.sampled_from([0.05, 0.01, 0.3]))
def test_an_interval_is_that_of_scipy(values: list[float], alpha: float) -> None:
    result = interval(values, alpha)
    assert result is not None
    middle, low, high = result
    half = stats.sem(values) * stats.t.ppf(1 - alpha / 2, len(values) - 1)
    assert middle == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)
    assert (high - middle, middle - low) == pytest.approx((half, half), rel=1e-6, abs=1e-6)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert (mean(shuffled), deviation(shuffled)) == (mean(values), deviation(values))


def test_one_value_has_no_interval() -> None:
    assert interval([0.5], 0.05) is None


def test_the_probability_of_a_quantile_is_alpha() -> None:
    for n in (2, 5, 100):
        assert two_sided(quantile(n, 0.05), n) == pytest.approx(0.05)
        assert two_sided(-quantile(n, 0.05), n) == pytest.approx(0.05)


def test_a_paired_test_agrees_with_scipy() -> None:
    values = [0.1, 0.3, -0.05, 0.2]
    t = mean(values) / (deviation(values) / sqrt(len(values)))
    assert two_sided(t, len(values)) == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
