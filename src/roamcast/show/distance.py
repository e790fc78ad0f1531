"""Fig. 9 of Baldoni et al. 2005: how far away is a node last heard k ticks ago? Solved, and measured in movement."""

from __future__ import annotations

from functools import cache
from typing import Any

from roamcast.papers import distance_model as model
from roamcast.papers import presets
from roamcast.papers.models import SPEEDS
from roamcast.show.panels import Panel, Point, Series
from roamcast.world.scenario import Scenario

A, L = 20, 10
"""As in Fig. 9, in grid points: half the side of the torus, and the range."""
STEPS = 100
MOST_S = 60.0


@cache
def panels() -> tuple[Panel, Panel]:
    return _solved(), _measured()


def movement(duration_s: float = 600.0) -> dict[str, Any]:
    """The mean distance in the movement of the paper's scenario, with the mean of its random range (§VI-A)."""
    from roamcast.world import mobility

    scenario, range_m = _scenario()
    walk = mobility.build(scenario, seed=1)
    positions = model.positions_of(walk, scenario.nodes, duration_s=duration_s, step_s=1.0)
    seen = model.measured(positions, range_m, step_s=1.0, most_s=MOST_S)
    return {
        "mobility": movement_of_preset(),
        "elapsed_s": [o.elapsed_s for o in seen],
        "distance_m": [round(o.distance_m, 3) for o in seen],
        "pairs": [o.pairs for o in seen],
    }


def movement_of_preset() -> str:
    s, range_m = _scenario()
    field = f"{s.width_m:,g} m × {s.height_m:,g} m"
    return (
        f"{s.mobility}, {s.nodes} nodes, {field}, {s.speed_min_mps:g} to {s.speed_max_mps:g} m/s, range {range_m:g} m"
    )


def _scenario() -> tuple[Scenario, float]:
    scenario = presets.load("baldoni").scenario()
    return scenario, (scenario.range_m + scenario.range_max_m) / 2


def _solved() -> Panel:
    curves = {s: model.curve(A, L, *model.alpha_beta_for_speed(s), STEPS) for s in SPEEDS}
    series = [
        Series(f"speed s = {s:g}", [Point(float(k), d, None, 0) for k, d in enumerate(curve)])
        for s, curve in curves.items()
    ]
    return Panel("model, exact", "ticks since the link broke", "expected distance [grid points]", series, smooth=True)


def _measured() -> Panel:
    seen = movement()
    points = [
        Point(t, d, None, n) for t, d, n in zip(seen["elapsed_s"], seen["distance_m"], seen["pairs"], strict=True)
    ]
    series = [Series("random waypoint", points)]
    return Panel(
        "measured in simulated movement", "time since last contact [s]", "mean distance [m]", series, smooth=True
    )
