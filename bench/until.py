"""How often `until` keeps its word: made-up metrics, thousands of campaigns each, before and after the corrections.

    .venv/bin/python bench/until.py            # about two minutes; prints the table of docs/explanation/stopping.md

A campaign draws seeds until judging/sequential.py says that there are enough. "before" is the rule without its
corrections: stop as soon as Student's interval is narrow enough. Covered are the campaigns whose mean lies within the
half width of the truth. The half width is such that somebody who knew the standard deviation would need `ideal` seeds.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from math import exp, sqrt
from typing import NamedTuple

from roamcast.judging import student
from roamcast.judging.sequential import seeds_for

CAMPAIGNS = 2000
IDEAL = (20, 50, 150)
MOST = 2000
Draw = Callable[[random.Random], float]
Rule = Callable[[list[float], int, float, bool], int]


class Metric(NamedTuple):
    name: str
    draw: Draw
    mean: float
    deviation: float
    share: bool = False


BETA = (5.4, 2.16)
MEAN = exp(0.125)
METRICS = (
    Metric("normal", lambda r: r.gauss(10.0, 1.0), 10.0, 1.0),
    Metric("share (beta, 0.71 ± 0.15)", lambda r: r.betavariate(*BETA), 0.7143, 0.1544, True),
    Metric("all or nothing, 9 of 10", lambda r: float(r.random() < 0.9), 0.9, 0.3, True),
    Metric("all or nothing, half", lambda r: float(r.random() < 0.5), 0.5, 0.5, True),
    Metric("skewed (exponential)", lambda r: r.expovariate(1.0), 1.0, 1.0),
    Metric(
        "skewed (log-normal, 0.5)", lambda r: r.lognormvariate(0.0, 0.5), exp(0.125), exp(0.125) * sqrt(exp(0.25) - 1)
    ),
)


def before(values: list[float], runs: int, asked: float, _: bool) -> int:
    interval = student.interval(values, student.ALPHA)
    assert interval is not None
    half = interval[2] - interval[0]
    if half <= asked:
        return runs
    return min(2 * runs, max(runs + 1, round(student.values_for(runs, half, asked))))


def campaign(metric: Metric, rule: Rule, start: int, asked: float, seed: int) -> tuple[bool, int]:
    """Whether the mean is near enough to the truth, and how many seeds it took."""
    draws = random.Random(seed)
    values = [metric.draw(draws) for _ in range(start)]
    while len(values) < MOST and (wanted := rule(values, len(values), asked, metric.share)) > len(values):
        values += [metric.draw(draws) for _ in range(min(MOST, wanted) - len(values))]
    return abs(student.mean(values) - metric.mean) <= asked, len(values)


def row(metric: Metric, ideal: int, campaigns: int) -> str:
    asked = 1.96 * metric.deviation / sqrt(ideal)
    texts = []
    for rule, start in ((before, 3), (before, 10), (seeds_for, 3)):
        ended = [campaign(metric, rule, start, asked, seed) for seed in range(campaigns)]
        share = sum(near for near, _ in ended) / campaigns
        texts.append(f"{100 * share:.1f} % | {sum(n for _, n in ended) / campaigns:.0f}")
    return f"| {metric.name} | {ideal} | {' | '.join(texts)} |"


def main() -> None:
    campaigns = int(sys.argv[1]) if len(sys.argv) > 1 else CAMPAIGNS
    covered = ("before, from 3", "before, from 10", "now")
    print(f"| metric | ideal | {' | '.join(f'{each}: covered | seeds' for each in covered)} |")
    print("|---|---|---|---|---|---|---|---|")
    for metric in METRICS:
        for ideal in IDEAL:
            print(row(metric, ideal, campaigns), flush=True)


if __name__ == "__main__":
    main()
