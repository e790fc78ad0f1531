"""From numbers by seed to an answer: an interval, and whether it lies within what a claim allows.

If the interval is inside, the claim holds; if it is outside, the claim does not. If it crosses a limit, the runs are
too few to decide, and the answer estimates how many seeds would be enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, nextafter
from typing import NamedTuple

import msgspec

from roamcast.judging import student

ABOVE = nextafter(0.0, 1.0)
"""The smallest difference above zero."""
MOST_TIMES = 100.0
"""If half an interval is more than this many times the distance to a limit, no affordable number of seeds decides."""


class Answer(msgspec.Struct, frozen=True):
    """The answer to one question: the number, its interval, and whether it holds (None: the runs are too few).

    `seeds` is how many seeds the number comes from, `needs` about how many would decide, if more would.
    """

    asks: str
    measured: float | None
    low: float | None
    high: float | None
    holds: bool | None
    why: str = ""
    seeds: int = 0
    needs: int | None = None


class Estimate(NamedTuple):
    """A number, the interval around it, and how many seeds it comes from."""

    middle: float
    least: float
    most: float
    seeds: int


def unanswered(question: str, why: str) -> Answer:
    """The answer if there is nothing to measure."""
    return Answer(question, None, None, None, None, why)


def estimated(values: Iterable[float], alpha: float) -> Estimate | None:
    """The mean of a number by seed; None for a single seed."""
    each = [*values]
    interval = student.interval(each, alpha)
    return None if interval is None else Estimate(*interval, len(each))


def jackknife(statistic: Callable[[list[int]], float], seeds: list[int], alpha: float) -> Estimate | None:
    """A statistic of many seeds and its interval, by leaving out one seed at a time."""
    import numpy as np  # here, because verdicts are also shown where it is not installed

    n = len(seeds)
    if n < 2:
        return None
    whole = statistic(seeds)
    without = np.array([statistic([s for s in seeds if s != seed]) for seed in seeds])
    error = float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
    half = error * student.quantile(n, alpha)
    return Estimate(whole, whole - half, whole + half, n)


def judged(question: str, estimate: Estimate | None, low: float, high: float, mean: float | None) -> Answer:
    """The answer if everything from `low` to `high` is allowed."""
    if estimate is None:
        return Answer(question, mean, None, None, None, "one run has no interval", 1)
    middle, least, most, seeds = estimate
    if low <= least and most <= high:
        return Answer(question, middle, least, most, True, seeds=seeds)
    if most < low or least > high:
        return Answer(question, middle, least, most, False, seeds=seeds)
    needs = _needed(estimate, [limit for limit in (low, high) if least <= limit <= most])
    return Answer(question, middle, least, most, None, _undecided(needs), seeds, needs)


def _needed(estimate: Estimate, limits: list[float]) -> int | None:
    """About how many seeds it takes until no limit is inside the interval any more."""
    gap = min(abs(estimate.middle - limit) for limit in limits)
    half = (estimate.most - estimate.least) / 2
    return ceil(student.values_for(estimate.seeds, half, gap)) if gap > half / MOST_TIMES else None


def _undecided(needs: int | None) -> str:
    about = f"about {needs} seeds would tell" if needs else "more seeds would hardly help"
    return f"the interval reaches over the limit: {about}"
