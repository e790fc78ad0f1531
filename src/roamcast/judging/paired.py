"""Whether one is better than the other: differences seed by seed, tested, corrected for how many were asked.

The test is the paired t-test, because campaigns have few seeds: the signed-rank test of Wilcoxon cannot go below 0.05
with fewer than six seeds, whatever they show (2 / 2^5 = 0.0625). It is exact here and stands beside the t-test as
`pvalue_rank`: one wild seed moves the t-test far and the ranks hardly. Where all differences are equal but for rounding
there is no t, and the ranks decide alone.

Twenty comparisons at 5 % find one difference on average where there is none. `pvalue_holm` is corrected for that by
Holm's method (1979), over all comparisons that one question gives: it is never weaker than Bonferroni's, and holds
however the comparisons depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import erfc, sqrt
from typing import Any

from roamcast.judging.effect import beyond_rounding, effect
from roamcast.judging.student import ALPHA, deviation, half_width, mean, two_sided

MOST_EXACT = 50
"""Differences up to which all signs of the ranks are counted; beyond, the sum of ranks is as good as normal."""
Row = dict[str, Any]


def compared(differences: Sequence[float]) -> Row:
    """n, mean, interval, effect and p-values of one comparison; a single difference has only n and itself."""
    n, middle = len(differences), mean(differences)
    if n < 2:
        return {"n": n, "difference": middle}
    sd = beyond_rounding(deviation(differences), max(map(abs, differences)))
    half = half_width(sd, n, ALPHA)
    size = effect(middle, sd, n)
    by_rank = signed_rank(differences)
    return {
        **{"n": n, "difference": middle, "sd": sd, "half_width": half, "low": middle - half, "high": middle + half},
        **({} if size is None else {"effect": size.size, "effect_low": size.low, "effect_high": size.high}),
        "pvalue": by_rank if sd == 0.0 else two_sided(middle / (sd / sqrt(n)), n),
        "pvalue_rank": by_rank,
    }


def corrected(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The same comparisons with `pvalue_holm`: all of them belong to one question."""
    listed = [dict(row) for row in rows]
    for row, pvalue in zip(listed, holm([row.get("pvalue") for row in listed]), strict=True):
        row["pvalue_holm"] = pvalue
    return listed


def holm(pvalues: Sequence[float | None]) -> list[float | None]:
    """Step by step: the least p-value times how many there are, the next one times one less, none below the one before;
    what has no p-value was not tested."""
    order = sorted((p, k) for k, p in enumerate(pvalues) if p is not None)
    adjusted: list[float | None] = [None] * len(pvalues)
    so_far = 0.0
    for place, (p, k) in enumerate(order):
        so_far = max(so_far, min(1.0, (len(order) - place) * p))
        adjusted[k] = so_far
    return adjusted


def signed_rank(differences: Sequence[float]) -> float:
    """Wilcoxon's test, two-sided, that differences are symmetric around 0. Zeros are left out, ties share ranks."""
    largest = max(map(abs, differences), default=0.0)
    nonzero = [value for value in differences if beyond_rounding(value, largest)]
    if not nonzero:
        return 1.0
    doubled = _doubled_ranks([abs(value) for value in nonzero])
    positive = sum(rank for rank, value in zip(doubled, nonzero, strict=True) if value > 0.0)
    least = min(positive, sum(doubled) - positive)
    return _exact(doubled, least) if len(nonzero) <= MOST_EXACT else _normal(doubled, least)


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank, which is whole also where values that are equal but for rounding share theirs."""
    ranks = [0] * len(values)
    groups: list[list[int]] = []
    largest = max(values)
    for k in sorted(range(len(values)), key=values.__getitem__):
        if groups and not beyond_rounding(values[k] - values[groups[-1][0]], largest):
            groups[-1].append(k)
        else:
            groups.append([k])
    before = 0
    for equal in groups:
        for k in equal:
            ranks[k] = 2 * before + len(equal) + 1
        before += len(equal)
    return ranks


def _exact(doubled: Sequence[int], least: int) -> float:
    """Twice the share of all choices of signs whose positive ranks sum up to so little."""
    ways = [1] + [0] * least
    for rank in doubled:
        for total in range(least, rank - 1, -1):
            ways[total] += ways[total - rank]
    return min(1.0, 2 * sum(ways) / (1 << len(doubled)))


def _normal(doubled: Sequence[int], least: int) -> float:
    spread = sqrt(sum(rank * rank for rank in doubled)) / 2
    return erfc((sum(doubled) / 2 - least) / spread / sqrt(2.0))
