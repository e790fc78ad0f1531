"""Student's t: how far the mean of a few runs may be from the truth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp, fsum, lgamma, log1p, sqrt

ALPHA = 0.05
"""How often an interval may miss the truth: 95 % do not."""


def mean(values: Sequence[float]) -> float:
    """The mean, rounded once, so that it does not depend on the order of the values."""
    return fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample of at least two values."""
    middle = mean(values)
    return sqrt(fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def half_width(deviation: float, n: int, alpha: float) -> float:
    """Half the width of the interval around the mean of n values that misses the truth with probability alpha."""
    return quantile(n, alpha) * deviation / sqrt(n)


def interval(values: Sequence[float], alpha: float) -> tuple[float, float, float] | None:
    """Mean, and the interval around it; none for fewer than two values."""
    if len(values) < 2:
        return None
    middle = mean(values)
    half = half_width(deviation(values), len(values), alpha)
    return middle, middle - half, middle + half


def values_for(n: int, half: float, wanted: float) -> float:
    """About how many values an interval of half width `wanted` needs if n give `half`: it shrinks like 1/√n."""
    return n * (half / wanted) ** 2


@cache
def quantile(n: int, alpha: float) -> float:
    """The distance from the truth, in standard errors, that the mean of n values exceeds with probability alpha.

    The probability falls and its slope flattens as t grows, so Newton's steps from 0 never go too far.
    """
    t = 0.0
    while True:
        further = t + (two_sided(t, n) - alpha) / (2 * _density(t, n))
        if further <= t:
            return t
        t = further


def two_sided(t: float, n: int) -> float:
    """The probability that the mean of n values is t or more standard errors from the truth.

    It is the regularised incomplete beta function at x = ν / (ν + t²), of ν / 2 and 1 / 2 (Abramowitz and Stegun,
    26.7.1). Its continued fraction converges fast on one side of the mean; the other side is one minus that.
    """
    freedom, square = n - 1, t * t
    if square == 0.0:
        return 1.0
    factor = exp(_log_beta(freedom) - freedom / 2 * log1p(square / freedom) - log1p(freedom / square) / 2)
    if square > (freedom + 2.0) / (freedom + 1.0):
        return factor * _fraction(freedom / 2, 0.5, freedom / (freedom + square)) * 2 / freedom
    return 1.0 - factor * _fraction(0.5, freedom / 2, square / (freedom + square)) * 2


def _density(t: float, n: int) -> float:
    freedom = n - 1
    return exp(_log_beta(freedom) - (freedom + 1) / 2 * log1p(t * t / freedom)) / sqrt(freedom)


def _log_beta(freedom: int) -> float:
    """The logarithm of 1 / B(ν / 2, 1 / 2)."""
    return lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - lgamma(0.5)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), from the front, by
    Lentz's method."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    m = 0
    while True:
        m += 1
        before = value
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + step * d)
            c = 1.0 + step / c
            value *= c * d
        if abs(value - before) <= 1e-15 * value:
            return value
