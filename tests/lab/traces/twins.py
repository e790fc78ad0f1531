"""Dumb twins of what Spark computes: all pairs, one after the other, with fifty digits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, getcontext
from itertools import combinations, pairwise
from math import floor

Leg = tuple[int, int, int, float, float, float, float]
"""Node, from us, until us, x, y, and the velocity in metres a microsecond."""
Contact = tuple[int, int, int, int]


def contacts(legs: list[Leg], range_m: float) -> list[Contact]:
    getcontext().prec = 50
    pieces: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for one, other in combinations(sorted(legs), 2):
        if one[0] != other[0]:
            piece = together(one, other, range_m)
            if piece is not None:
                pieces.setdefault((one[0], other[0]), []).append(piece)
    return sorted((i, j, start, end) for (i, j), intervals in pieces.items() for start, end in union(intervals))


def together(one: Leg, other: Leg, range_m: float) -> tuple[int, int] | None:
    t0, t1 = max(one[1], other[1]), min(one[2], other[2])
    if t0 >= t1:
        return None

    def at(leg: Leg, axis: int) -> Decimal:
        return Decimal(leg[3 + axis]) + Decimal(leg[5 + axis]) * (t0 - leg[1])

    p = [at(other, axis) - at(one, axis) for axis in (0, 1)]
    w = [Decimal(other[5 + axis]) - Decimal(one[5 + axis]) for axis in (0, 1)]
    a, b = w[0] ** 2 + w[1] ** 2, p[0] * w[0] + p[1] * w[1]
    c = p[0] ** 2 + p[1] ** 2 - Decimal(range_m) ** 2
    if a == 0:
        return (t0, t1) if c <= 0 else None
    if b * b - a * c <= 0:
        return None
    root = (b * b - a * c).sqrt()
    start, end = max(Decimal(0), (-b - root) / a), min(Decimal(t1 - t0), (root - b) / a)
    from_us, until_us = t0 + floor(start + Decimal("0.5")), t0 + floor(end + Decimal("0.5"))
    return (from_us, until_us) if from_us < until_us else None


def union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Point by point: the ends of intervals, and whether what lies between two of them is covered."""
    remaining = list(intervals)
    marks = sorted({t for interval in remaining for t in interval})
    covered = [any(start <= a and b <= end for start, end in remaining) for a, b in pairwise(marks)]
    merged: list[tuple[int, int]] = []
    for (a, b), inside in zip(pairwise(marks), covered, strict=True):
        if inside and merged and merged[-1][1] == a:
            merged[-1] = merged[-1][0], b
        elif inside:
            merged.append((a, b))
    return merged
