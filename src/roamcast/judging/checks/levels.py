"""A mean against a number: value, at_least, at_most, bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roamcast.judging.answers import Answer, estimated, judged
from roamcast.judging.runs import Samples, Spec, curve, mean, samples, selected
from roamcast.judging.words import question
from roamcast.log.metric import Row


def value(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    wanted, tolerance = float(spec["value"]), slack(spec)
    return [_within(spec, _chosen(spec, rows), alpha, wanted - tolerance, wanted + tolerance)]


def at_least(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    return [_within(spec, _chosen(spec, rows), alpha, float(spec["value"]) - slack(spec), np.inf)]


def at_most(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    return [_within(spec, _chosen(spec, rows), alpha, -np.inf, float(spec["value"]) + slack(spec))]


def bounds(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """One answer for the mean at every point."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    low = float(np.nextafter(spec.get("low", -np.inf), np.inf))  # the bounds themselves are excluded
    high = float(np.nextafter(spec.get("high", np.inf), -np.inf))
    return [
        judged(
            f"{question(spec)} at {spec['x']}={at:g}",
            estimated(by_seed.values(), alpha / len(points)),
            low,
            high,
            mean(by_seed),
        )
        for at, by_seed in points.items()
    ]


def slack(spec: Spec) -> float:
    """How far from its `value` a check allows a number to be."""
    if "rel" in spec:
        return float(spec["rel"]) * abs(float(spec["value"]))
    return float(spec.get("abs", 0.0))


def _chosen(spec: Spec, rows: Sequence[Row]) -> Samples:
    return samples(selected(rows, spec["where"]), spec["metric"])


def _within(spec: Spec, by_seed: Samples, alpha: float, low: float, high: float) -> Answer:
    return judged(question(spec), estimated(by_seed.values(), alpha), low, high, mean(by_seed))
