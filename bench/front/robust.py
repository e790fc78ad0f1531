"""One world, the league's common one, and one thing about it that gets worse and worse."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from bench.front.pareto import Point
from bench.front.worlds import of_league

SEEDS = 10
RIVALS = ("gossip", "counter", "managed", "mpl", "proximity", "frugal", "semiprob", "psamanet", "flooding-interest")
LIAR = "bench.front.liars:LyingRoam"
COLOURS = {"counter": "#0072b2", "mpl": "#e69f00", "frugal": "#009e73", "semiprob": "#cc79a7"}
"""Of those that are best somewhere, from Okabe and Ito's palette; all others are grey."""


def world() -> dict[str, Any]:
    return {**of_league("common"), "publish_until_s": 90.0}


class Axis(NamedTuple):
    name: str
    x: str
    points: list[tuple[float, Mapping[str, Any]]]
    rivals: tuple[str, ...] = RIVALS


def _axis(name: str, x: str, values: list[float], fields: Any, rivals: tuple[str, ...] = RIVALS) -> Axis:
    return Axis(name, x, [(value, fields(value)) for value in values], rivals)


def _neighbours(n: float) -> dict[str, Any]:
    """On average, by the area; nodes go straight on until they reach a wall, which spreads them evenly."""
    side_m = world()["range_m"] * sqrt(pi * world()["nodes"] / n)
    return {"width_m": side_m, "height_m": side_m, "mobility": "direction"}


def _churn(per_minute: float) -> dict[str, Any]:
    return {"crash_mean_s": 60.0 / per_minute if per_minute else 0.0, "repair_mean_s": 10.0}


def _halves(seconds: float) -> dict[str, Any]:
    return {"partition_from_s": 20.0, "partition_until_s": 20.0 + seconds} if seconds else {"partition_from_s": 0.0}


AXES = [
    _axis("density", "neighbours of a node", [3, 6, 12, 25, 60], _neighbours),
    _axis("speed", "m/s", [0, 1, 5, 15, 40], lambda v: {"speed_min_mps": v / 2, "speed_max_mps": v}),
    _axis("load", "events a minute", [1, 10, 60, 300, 1000], lambda n: {"rate_hz": n / 600}),
    _axis("interest", "% of the nodes subscribe", [1, 5, 20, 50, 100], lambda n: {"subscribers": int(n)}),
    _axis("loss", "% of the receptions fail", [0, 10, 20, 35, 50], lambda n: {"loss": n / 100}),
    _axis("churn", "crashes of a node a minute", [0, 0.5, 1, 2, 4], _churn),
    _axis("sleep", "% of the time asleep", [0, 20, 40, 60, 80], lambda n: {"awake_s": 10 - n / 10, "asleep_s": n / 10}),
    _axis("partition", "s in two halves", [0, 10, 20, 40, 60], _halves),
]


def lines(axis: Axis, measured: Mapping[float, Mapping[str, Point]]) -> list[str]:
    """A table: roam, whoever delivers most among the others, and whoever delivers most for no more air than roam."""
    rows = [f"| {axis.x} | roam | the best other | the best other for no more air |", "| --- | --- | --- | --- |"]
    for x, at in measured.items():
        roam = at["roam"]
        others = {name: point for name, point in at.items() if name != "roam"}
        cheap = {name: point for name, point in others.items() if point.air_s <= 1.05 * roam.air_s}
        rows.append(f"| {x:g} | {_cell(roam)} | {_best(others)} | {_best(cheap)} |")
    return rows


def _cell(point: Point) -> str:
    return f"{point.delivered:.3f} ({point.air_s:,.1f} s)"


def _best(points: Mapping[str, Point]) -> str:
    if not points:
        return "—"
    name = max(points, key=lambda name: points[name].delivered)
    return f"`{name}` {_cell(points[name])}"


def draw(measured: Mapping[str, tuple[Axis, Mapping[float, Mapping[str, Point]]]], path: Path) -> None:
    """Delivered above, air below, a column for each axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(4, 4, figsize=(12.5, 11), layout="constrained")
    for place, (axis, at) in enumerate(measured.values()):
        row, column = 2 * (place // 4), place % 4
        upper, lower = panels[row][column], panels[row + 1][column]
        for name in dict.fromkeys(name for points in at.values() for name in points):
            xs = [x for x, points in at.items() if name in points]
            style = _style(name)
            upper.plot(range(len(xs)), [at[x][name].delivered for x in xs], **style)
            lower.plot(range(len(xs)), [at[x][name].air_s for x in xs], **style)
        for panel in (upper, lower):
            panel.set_xticks(range(len(at)), [f"{x:g}" for x in at])
            panel.grid(alpha=0.3)
        upper.set(title=axis.name, ylim=(-0.02, 1.02), ylabel="delivered of the possible" if column == 0 else "")
        lower.set(xlabel=axis.x, yscale="log", ylabel="air, s per node and hour" if column == 0 else "")
    handles, labels = panels[0][0].get_legend_handles_labels()
    shown = [(h, label) for h, label in zip(handles, labels, strict=True) if not label.startswith("_")]
    figure.legend(*zip(*shown, strict=True), loc="outside lower center", ncols=len(shown), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _style(name: str) -> dict[str, Any]:
    if name == "roam":
        return {"label": "roam", "color": "black", "linewidth": 2.5, "marker": "o", "markersize": 4, "zorder": 3}
    if name in COLOURS:
        return {"label": name, "color": COLOURS[name], "linewidth": 1.5, "marker": ".", "zorder": 2}
    return {"label": f"_{name}", "color": "0.75", "linewidth": 1, "zorder": 1}
