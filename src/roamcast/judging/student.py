"""Student's t: how far the mean of a few runs may be from the truth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import fsum, sqrt

ALPHA = 0.05
"""How often an interval may miss the truth: 95 % do not."""


def mean(values: Sequence[float]) -> float:
    """Rounded once, so that the order of the values does not show."""
    return fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Of a sample of at least two."""
    middle = mean(values)
    return sqrt(fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def half_width(deviation: float, n: int, alpha: float) -> float:
    """Of the interval around the mean of n values that misses the truth with probability alpha."""
    return quantile(n, alpha) * deviation / sqrt(n)


def interval(values: Sequence[float], alpha: float) -> tuple[float, float, float] | None:
    """Mean, and the interval around it; none for fewer than two values."""
    if len(values) < 2:
        return None
    middle = mean(values)
    half = half_width(deviation(values), len(values), alpha)
    return middle, middle - half, middle + half


def values_for(n: int, half: float, wanted: float) -> float:
    """About how many values it takes for an interval of half width `wanted`, if n of them give `half`: it shrinks like
    1/√n."""
    return n * (half / wanted) ** 2


@cache
def quantile(n: int, alpha: float) -> float:
    """What n values' means exceed on either side, in standard errors, with probability alpha."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 1 - alpha / 2))


def two_sided(t: float, n: int) -> float:
    """The probability that n values' mean is so many standard errors from the truth, or more."""
    from scipy.special import stdtr

    return float(2 * stdtr(n - 1, -abs(t)))
