"""One choice of runs against another: equal, order, ratio, no_best."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from roamcast.errors import NoData
from roamcast.judging.answers import ABOVE, Answer, estimated, jackknife, judged, unanswered
from roamcast.judging.runs import Samples, Spec, coordinate, mean, number, paired, samples, selected
from roamcast.judging.words import question
from roamcast.log.metric import Row


def equal(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    a, b = (samples(selected(rows, spec[side]), spec["metric"]) for side in ("of", "to"))
    differences, slack = paired(a, b), float(spec["abs"])
    return [judged(question(spec), estimated(differences, alpha), -slack, slack, float(np.mean(differences)))]


def order(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """One answer, or one for each value of `across`."""
    above, below = selected(rows, spec["above"]), selected(rows, spec["below"])
    factor = float(spec.get("factor", 1.0))
    if "across" not in spec:
        return [_above(question(spec), above, below, spec["metric"], factor, alpha)]
    pairs = _across(above, below, spec["across"])
    return [
        _above(f"{question(spec)} at {at}", a, b, spec["metric"], factor, alpha / len(pairs))
        for at, (a, b) in pairs.items()
    ]


def _above(question_text: str, a: list[Row], b: list[Row], metric: str, factor: float, alpha: float) -> Answer:
    below = {seed: factor * v for seed, v in samples(b, metric).items()}
    differences = paired(samples(a, metric), below)
    return judged(question_text, estimated(differences, alpha), ABOVE, np.inf, float(np.mean(differences)))


def ratio(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """One answer, or one for each value of `across`."""
    above, below = selected(rows, spec["of"]), selected(rows, spec["to"])
    if "across" not in spec:
        return [_quotient(question(spec), above, below, spec, alpha)]
    pairs = _across(above, below, spec["across"])
    return [_quotient(f"{question(spec)} at {at}", a, b, spec, alpha / len(pairs)) for at, (a, b) in pairs.items()]


def _quotient(question_text: str, above: list[Row], below: list[Row], spec: Spec, alpha: float) -> Answer:
    a, b = (samples(side, spec["metric"]) for side in (above, below))
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        raise NoData("the two have no seed in common")

    def quotient(chosen: list[int]) -> float:
        whole = sum(b[seed] for seed in chosen)
        return sum(a[seed] for seed in chosen) / whole if whole else np.inf

    low, high = float(spec.get("low", -np.inf)), float(spec.get("high", np.inf))
    whole = quotient(seeds)
    if not isfinite(whole):
        return unanswered(question_text, f"{spec['metric']} is 0 in the divisor")
    return judged(question_text, jackknife(quotient, seeds, alpha), low, high, whole)


def _across(above: list[Row], below: list[Row], x: str) -> dict[str, tuple[list[Row], list[Row]]]:
    """The runs of both sides at every value of x that both have, by that value."""
    common = sorted({number(row, x) for row in above} & {number(row, x) for row in below})
    if not common:
        raise NoData(f"the two have no {x} in common")
    return {
        f"{x}={at:g}": ([row for row in above if number(row, x) == at], [row for row in below if number(row, x) == at])
        for at in common
    }


def no_best(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The series that is best at one end is significantly worse than another at the other end."""
    chosen = selected(rows, spec["where"])
    names = sorted({coordinate(row, spec["series"]) or "" for row in chosen})
    xs = sorted({number(row, spec["x"]) for row in chosen})

    def at(name: str, x: float) -> Samples:
        return samples(selected(chosen, {spec["series"]: name, spec["x"]: x}), spec["metric"])

    answers = []
    for here, there in ((xs[0], xs[-1]), (xs[-1], xs[0])):
        best = max(names, key=lambda name: mean(at(name, here)))
        rival = max((name for name in names if name != best), key=lambda name: mean(at(name, there)))
        less = paired(at(rival, there), at(best, there))
        question_text = f"{spec['series']}={best}, best at {spec['x']}={here:g}, is worse than {rival} at {there:g}"
        answers.append(judged(question_text, estimated(less, alpha / 2), 0.0, np.inf, float(np.mean(less))))
    return answers
