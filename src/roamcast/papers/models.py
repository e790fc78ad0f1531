"""Claims that follow from a paper's model or arithmetic alone: computed exactly, not measured.

Each check takes the claim's entry and gives the number, whether the claim holds, and why not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from roamcast.papers import distance_model

Spec = Mapping[str, Any]
Outcome = tuple[float | None, bool, str]

SPEEDS = (0.2, 0.5, 0.8)
STEPS = 200
EARLY = 5
"""Ticks after a link broke at which speeds are compared: "a given small k"."""


def distance_rises_then_flattens(spec: Spec) -> Outcome:
    """000, Fig. 9: E[D(k)] rises with k up to a threshold, then is flat; at a small k it grows with the speed."""
    curves = {s: _distance(spec, s) for s in spec.get("speeds", SPEEDS)}
    for s, curve in curves.items():
        top = max(curve)
        threshold = next(k for k, d in enumerate(curve) if d >= 0.99 * top)
        if any(later < earlier - 1e-9 for earlier, later in pairwise(curve[: threshold + 1])):
            return float(threshold), False, f"at s={s:g} it falls before k={threshold}"
        if min(curve[threshold:]) < 0.97 * top:
            return float(threshold), False, f"at s={s:g} it falls again after k={threshold}"
    early = [curve[EARLY] for _, curve in sorted(curves.items())]
    grows = all(a < b for a, b in pairwise(early))
    return early[-1], grows, "" if grows else f"at k={EARLY} it does not grow with the speed"


def _distance(spec: Spec, s: float) -> list[float]:
    return distance_model.curve(int(spec["A"]), int(spec["L"]), *distance_model.alpha_beta_for_speed(s), STEPS)


def nobody_rebroadcasts(spec: Spec) -> Outcome:
    """002, §IV: with eta neighbours that each re-send with probability tau, the probability that none does."""
    found = (1.0 - float(spec["tau"])) ** float(spec["eta"])
    off = abs(found - float(spec["value"]))
    return found, off <= float(spec["abs"]), f"it is {off:.3f} off" if off > float(spec["abs"]) else ""


CHECKS: dict[str, Callable[[Spec], Outcome]] = {
    "distance_rises_then_flattens": distance_rises_then_flattens,
    "nobody_rebroadcasts": nobody_rebroadcasts,
}
