"""How large a paired difference is beside its own spread: Cohen's d_z, the mean of the differences over their standard
deviation, with its exact interval for normal differences (the noncentral t distribution; Cumming and Finch 2001).

A difference of 0.02 says little by itself. d_z = 2 says that hardly any seed turns it around; d_z = 0.2, that it comes
out either way.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import erfc, exp, inf, isfinite, lgamma, log, sqrt
from typing import NamedTuple

from roamcast.judging.student import ALPHA

STEPS = 120
"""Of Simpson's rule, on each piece: probabilities are right to about 1e-6, at 2 to 4 degrees of freedom the worst."""
FAR = 9.0
"""Standard deviations beyond which nothing is left of a normal distribution."""
ENOUGH = 1e-9
ROUNDING = 1e-12
"""What is so small beside the largest of the values is the rounding of their arithmetic: 0.9 - 0.8 is not 0.8 - 0.7."""


class Effect(NamedTuple):
    size: float
    low: float
    high: float


def beyond_rounding(value: float, largest: float) -> float:
    """The value, or 0 where it is only the rounding of values up to `largest`."""
    return 0.0 if abs(value) <= ROUNDING * abs(largest) else value


def effect(mean: float, deviation: float, n: int, alpha: float = ALPHA) -> Effect | None:
    """d_z of n differences and its interval; None if they do not vary, because then no finite number says it."""
    if n < 2 or not beyond_rounding(deviation, mean) or not isfinite(mean / deviation):
        return None
    t = mean / deviation * sqrt(n)
    low, high = (noncentrality(t, n - 1, share) for share in (1.0 - alpha / 2, alpha / 2))
    return Effect(mean / deviation, low / sqrt(n), high / sqrt(n))


def noncentrality(t: float, freedom: int, share: float) -> float:
    """The noncentrality under which a value of at most t has this probability."""
    if t < 0.0:
        return -noncentrality(-t, freedom, 1.0 - share)
    scale = sqrt(1.0 + t * t / (2.0 * freedom))
    low, high = t - 2.0 * scale, t + 2.0 * scale
    while probability(t, freedom, low) < share:
        low -= 2.0 * scale
    while probability(t, freedom, high) > share:
        high += 2.0 * scale
    return _root(lambda delta: probability(t, freedom, delta) - share, low, high)


def probability(t: float, freedom: int, delta: float) -> float:
    """That a noncentral t variable is at most t, for t of at least 0: it is (Z + δ) / S, Z normal, S² a χ² over its
    degrees of freedom.

    The integral over s of the density of S times P(Z ≤ t·s - δ). The second factor rises from 0 to 1 around s = δ / t,
    within a span that is narrow if t is large, so that span is a piece of its own.
    """
    end = 1.0 + 12.0 / sqrt(2.0 * freedom)
    rises, risen = ((delta - FAR) / t, (delta + FAR) / t) if t > 0.0 else (0.0, inf)
    cuts = sorted({0.0, end, *(min(max(cut, 0.0), end) for cut in (rises, risen, 1.0 - 12.0 / sqrt(2.0 * freedom)))})
    log_factor = log(2.0) + freedom / 2 * log(freedom / 2) - lgamma(freedom / 2)

    def weight(s: float) -> float:
        if s == 0.0:
            density = exp(log_factor) if freedom == 1 else 0.0
        else:
            density = exp(log_factor + (freedom - 1) * log(s) - freedom * s * s / 2)
        return density * erfc((delta - t * s) / sqrt(2.0)) / 2

    return sum(_simpson(weight, low, high) for low, high in pairwise(cuts) if high > rises)


def _simpson(function: Callable[[float], float], low: float, high: float) -> float:
    step = (high - low) / STEPS
    odd = sum(function(low + k * step) for k in range(1, STEPS, 2))
    even = sum(function(low + k * step) for k in range(2, STEPS, 2))
    return step / 3 * (function(low) + 4 * odd + 2 * even + function(high))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Of a falling function, by the Illinois method: like the secant, and never outside the bracket."""
    at_low, at_high = function(low), function(high)
    while high - low > ENOUGH * max(1.0, abs(low)):
        middle = high - at_high * (high - low) / (at_high - at_low) if at_high < at_low else (low + high) / 2
        value = function(middle)
        if abs(value) < ENOUGH * ENOUGH or middle in (low, high):
            return middle
        if value > 0.0:
            low, at_low, at_high = middle, value, at_high / 2
        else:
            high, at_high, at_low = middle, value, at_low / 2
    return (low + high) / 2
