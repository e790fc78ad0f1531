"""When to stop adding seeds: the mean lies within ± `half_width` of the truth, 95 times of 100.

Whoever looks at an interval again and again and stops when it is narrow enough stops too early too often: at a moment
when the runs differ less than they usually do. Chow and Robbins (1965) show that this error vanishes as intervals get
narrow; with ten or a hundred seeds it does not. Three corrections, sized by simulation (bench/until.py; the results are
in docs/explanation/stopping.md):

- nothing is decided from fewer than LEAST seeds;
- the variance counts as large as it may well be: CAUTION standard errors above its estimate, by the fourth moment of
  the values, so that skewed metrics, whose variance is hard to estimate, take more;
- a share counts as if one more run had given 0 and one more had given 1. Ten runs that all give 1 do not differ, and
  yet the next one may give 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, fsum, sqrt

from roamcast.judging.student import ALPHA, mean, quantile, values_for

LEAST = 20
CAUTION = 1.5


def seeds_for(values: Sequence[float], runs: int, asked: float, share: bool) -> int:
    """How many seeds to have next: `runs`, as many as there are, if those are enough for the half width asked for.

    Never more than twice as many at a time, because all this is only an estimate. `values` are those of the runs that
    have the metric.
    """
    if runs < LEAST or len(values) < 2:
        return max(LEAST, 2 * runs)
    half = half_width(values, share)
    if half <= asked:
        return runs
    return min(2 * runs, max(runs + 1, ceil(values_for(runs, half, asked))))


def half_width(values: Sequence[float], share: bool) -> float:
    """Of an interval around the mean that was not chosen for being narrow."""
    n = len(values)
    return quantile(n, ALPHA) * sqrt(_variance(values, share) / n)


def _variance(values: Sequence[float], share: bool) -> float:
    n, middle = len(values), mean(values)
    squares = [(value - middle) ** 2 for value in values]
    variance = fsum(squares) / (n - 1)
    fourth = fsum(square * square for square in squares) / n
    cautious = variance + CAUTION * sqrt(max(0.0, fourth - variance * variance) / n)
    return max(cautious, _variance_with_both_ends(values)) if share else cautious


def _variance_with_both_ends(values: Sequence[float]) -> float:
    more = [*values, 0.0, 1.0]
    middle = mean(more)
    return fsum((value - middle) ** 2 for value in more) / (len(more) - 1)
