"""Claims that follow from a paper's model or arithmetic alone: computed exactly, not measured.

Each check takes the claim's entry and returns the number, whether the claim holds, and why not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from roamcast.papers import distance_model

Spec = Mapping[str, Any]
Outcome = tuple[float | None, bool, str]

SPEEDS = (0.2, 0.5, 0.8)
STEPS = 600
"""Ticks after which E[D(k)] has practically reached its limit at these speeds."""
EARLY = 5
"""Ticks after a link broke at which speeds are compared: "a given small k"."""
NEARLY = 0.1
"""A curve has risen when it is within this share of the rise from k = 0 to the limit."""
ROUNDING = 1e-9


def distance_rises_to_a_threshold(spec: Spec) -> Outcome:
    """Baldoni et al., Fig. 9: below a threshold, the lower k the lower E[D(k)]; at a small k it grows with the speed.

    The threshold is the first k with nine tenths of the rise; there is one if the last tenth takes longer than the
    others together. After it, the distance must not fall below this level again; otherwise a long time could mean a
    short distance. It may fall to the limit from above: a fast node runs past the far side of the torus and comes
    nearer again.
    """
    curves = {s: _distance(spec, s) for s in spec.get("speeds", SPEEDS)}
    for s, curve in curves.items():
        measured, why = _shape(curve)
        if why:
            return measured, False, f"at s={s:g} {why}"
    early = [curve[EARLY] for _, curve in sorted(curves.items())]
    grows = all(a < b for a, b in pairwise(early))
    return early[-1], grows, "" if grows else f"at k={EARLY} it does not grow with the speed"


def _shape(curve: list[float]) -> tuple[float, str]:
    """A number that describes the shape (a share of the rise, or a tick), and what is wrong with the shape, if
    anything."""
    start, limit = curve[0], curve[-1]
    rise = limit - start
    if rise <= 0:
        return rise, "it does not rise"
    threshold = next(k for k, d in enumerate(curve) if d >= limit - NEARLY * rise)
    if threshold > len(curve) // 2:
        return float(threshold), "it rises to the end"
    falls = next((k for k in range(threshold) if curve[k + 1] <= curve[k]), None)
    if falls is not None:
        return float(falls), f"it does not rise from k={falls}, before the threshold at k={threshold}"
    under = (limit - min(curve[threshold:])) / rise
    if under > NEARLY + ROUNDING:
        return under, f"it falls below its threshold again, to {under:.0%} of the rise below the limit"
    return float(threshold), ""


def _distance(spec: Spec, s: float) -> list[float]:
    alpha, beta = distance_model.alpha_beta_for_speed(s, float(spec.get("change", distance_model.CHANGE)))
    return distance_model.curve(int(spec["A"]), int(spec["L"]), alpha, beta, STEPS)


def nobody_rebroadcasts(spec: Spec) -> Outcome:
    """Costa et al. 2005, §IV: the probability that none of eta neighbours forwards, each with probability tau."""
    probability = (1.0 - float(spec["tau"])) ** float(spec["eta"])
    off = abs(probability - float(spec["value"]))
    return probability, off <= float(spec["abs"]), f"it is {off:.3f} off" if off > float(spec["abs"]) else ""


CHECKS: dict[str, Callable[[Spec], Outcome]] = {
    "distance_rises_to_a_threshold": distance_rises_to_a_threshold,
    "nobody_rebroadcasts": nobody_rebroadcasts,
}
