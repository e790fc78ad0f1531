"""Paired comparisons: equal to scipy, to twins that count everything, and to what Holm promises."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from roamcast.judging.paired import MOST_EXACT, compared, corrected, holm, signed_rank

FEW = [0.31, 0.12, -0.05, 0.44, 0.27, 0.09, 0.18]
WHOLE = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)
SHARES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


def ranks_by_counting(values: list[float]) -> float:
    """All signs of all ranks, one by one."""
    nonzero = [value for value in values if value]
    if not nonzero:
        return 1.0
    ranks = stats.rankdata([abs(value) for value in nonzero])
    mine = sum(rank for rank, value in zip(ranks, nonzero, strict=True) if value > 0)
    far = abs(mine - sum(ranks) / 2)
    sums = [sum(r for r, up in zip(ranks, ups, strict=True) if up) for ups in product((0, 1), repeat=len(ranks))]
    return sum(abs(each - sum(ranks) / 2) >= far for each in sums) / len(sums)


@given(WHOLE)
def test_the_rank_test_counts_all_signs_also_with_ties_and_zeros(values: list[float]) -> None:
    assert signed_rank(values) == pytest.approx(ranks_by_counting(values), abs=1e-12)


def test_the_rank_test_is_that_of_scipy_for_few_values_and_for_many() -> None:
    assert signed_rank(FEW) == pytest.approx(stats.wilcoxon(FEW, method="exact").pvalue, abs=1e-12)
    many = [((k * 37) % 101 - 40) / 10 for k in range(MOST_EXACT + 30)]
    assert signed_rank(many) == pytest.approx(stats.wilcoxon(many, method="approx").pvalue, rel=1e-9)


def test_below_six_values_ranks_cannot_be_below_a_twentieth() -> None:
    assert signed_rank([1.0, 2.0, 3.0, 4.0, 5.0]) == 0.0625
    assert signed_rank([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == 0.03125


def test_a_comparison_is_the_paired_t_test() -> None:
    row = compared(FEW)
    test = stats.ttest_1samp(FEW, 0.0)
    low, high = test.confidence_interval(0.95)
    assert (row["n"], row["difference"]) == (7, pytest.approx(sum(FEW) / 7))
    assert (row["low"], row["high"], row["pvalue"]) == pytest.approx((low, high, test.pvalue), rel=1e-9)


@pytest.mark.parametrize(
    ("values", "pvalue"),
    [
        ([0.9 - 0.8, 0.8 - 0.7, 0.7 - 0.6], 0.25),
        ([0.3 - 0.1, 0.5 - 0.3], 0.5),
        ([0.1 - 0.2, 0.2 - 0.3, 0.7 - 0.8], 0.25),
    ],
)
def test_differences_that_only_rounding_tells_apart_do_not_vary(values: list[float], pvalue: float) -> None:
    assert len(set(values)) > 1
    row = compared(values)
    assert (row["sd"], row["pvalue"], row["pvalue_rank"], "effect" in row) == (0.0, pvalue, pvalue, False)


def test_differences_that_only_rounding_tells_apart_share_ranks_and_are_no_signs_of_their_own() -> None:
    assert signed_rank([0.9 - 0.8, 0.7 - 0.8, 0.3, 0.5]) == signed_rank([0.1, -0.1, 0.3, 0.5])
    assert signed_rank([0.1 + 0.2 - 0.3, 0.4, 0.5, 0.6]) == signed_rank([0.0, 0.4, 0.5, 0.6])


def test_small_differences_between_differences_count() -> None:
    assert compared([1.0, 1.0 + 1e-9, 1.0 - 1e-9])["sd"] == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize(("values", "pvalue"), [([0.0, 0.0, 0.0], 1.0), ([2.0, 2.0, 2.0], 0.25), ([2.0, 2.0], 0.5)])
def test_where_differences_do_not_vary_the_ranks_decide_and_there_is_no_effect_size(
    values: list[float], pvalue: float
) -> None:
    row = compared(values)
    assert (row["pvalue"], row["pvalue_rank"], "effect" in row) == (pvalue, pvalue, False)


def test_one_difference_proves_nothing() -> None:
    assert compared([0.5]) == {"n": 1, "difference": 0.5}


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == [0.03, 0.06, 0.06, 0.02]
    assert holm([0.5, None, 0.8]) == [1.0, None, 1.0]
    rows = corrected([{"pvalue": 0.01, "of": "a"}, {"of": "b"}, {"pvalue": 0.04, "of": "c"}])
    assert [(row["of"], row["pvalue_holm"]) for row in rows] == [("a", 0.02), ("b", None), ("c", 0.04)]


@given(SHARES)
def test_holm_raises_p_values_keeps_their_order_and_rejects_what_the_step_down_rejects(pvalues: list[float]) -> None:
    adjusted = [p for p in holm([*pvalues]) if p is not None]
    m = len(pvalues)
    assert all(p <= q <= min(1.0, m * p) + 1e-12 for p, q in zip(pvalues, adjusted, strict=True))
    assert sorted(range(m), key=lambda k: (pvalues[k], adjusted[k])) == sorted(range(m), key=lambda k: pvalues[k])
    rejected: set[int] = set()
    for place, k in enumerate(sorted(range(m), key=lambda k: pvalues[k])):
        if pvalues[k] > 0.05 / (m - place):
            break
        rejected.add(k)
    close = any(abs(q - 0.05) < 1e-12 for q in adjusted)
    assert close or {k for k, q in enumerate(adjusted) if q <= 0.05} == rejected
