"""How many further seeds to spend on an undecided claim.

An answer that is too close to its limit says about how many seeds would decide it. Its cells get that many, up to the
limit of the claim, and the claim is judged again. If even the limit would hardly be enough, no seeds are spent: the
scorecard states how many it would take.

Judging again is a second chance for a wrong decision. By simulation of this rule, with the truth exactly on a limit, a
claim that gets further seeds is wrongly decided in one case of ten instead of one of twenty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from roamcast.judging.judge import Runs, answered, asked, decided
from roamcast.judging.runs import Spec
from roamcast.papers.claims import Claim

TIMES = 4
"""A claim may take this many times the seeds of its experiment, unless its file gives a number."""
SPARE = 1.15
"""The number of seeds that would decide is only an estimate: take some more."""
HOPELESS = 2.0
"""An estimate above this many times the limit is not worth trying."""


def limit(claim: Claim, seeds: int) -> int:
    """How many seeds may be spent on a claim whose experiment has this many."""
    return max(seeds, claim.most_seeds or TIMES * seeds)


def wanted(claim: Claim, runs: Runs, seeds: Mapping[str, int]) -> list[tuple[Spec, int]]:
    """The checks that keep a claim undecided, and how many seeds their cells should have; none if it is not worth it.

    `seeds` has the number of seeds of each experiment that can get more.
    """
    if decided(answered(claim, runs)) is not None:
        return []
    checks: list[tuple[Spec, int]] = []
    for check in claim.check:
        undecided = [answer for answer in asked(claim, check, runs) if answer.holds is None]
        if not undecided:
            continue
        experiment = check.get("experiment", "")
        most = limit(claim, seeds[experiment]) if experiment in seeds else 0
        count = affordable([answer.needs for answer in undecided], most)
        if not count:  # one undecided question keeps the whole claim undecided
            return []
        checks.append((check, count))
    return checks


def affordable(needs: Sequence[int | None], most: int) -> int:
    """How many seeds to have, 0 if it is not worth trying."""
    known = [n for n in needs if n is not None and n <= HOPELESS * most]
    return min(most, ceil(SPARE * max(known))) if len(known) == len(needs) else 0
