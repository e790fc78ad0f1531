"""A picture of every world: what is delivered over air, roam's curve and the points of all others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.front.pareto import Point, front
from bench.front.world import World

COLUMNS = 4
OWN, OTHER = "#d55e00", "0.45"


def draw(measured: Mapping[str, tuple[World, Mapping[str, Point]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = -(-len(measured) // COLUMNS)
    figure, panels = plt.subplots(rows, COLUMNS, figsize=(13.5, 3.1 * rows), layout="constrained", squeeze=False)
    for place, (name, (world, every)) in enumerate(measured.items()):
        panel = panels[place // COLUMNS][place % COLUMNS]
        _world(panel, world, every)
        panel.set(title=name)
        panel.grid(alpha=0.25)
    for place in range(len(measured), rows * COLUMNS):
        panels[place // COLUMNS][place % COLUMNS].axis("off")
    figure.supxlabel("air, s per node and hour")
    figure.supylabel("delivered of the possible")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _world(panel: Any, world: World, every: Mapping[str, Point]) -> None:
    """Roam's efforts and their front in black, with a large mark for the default; the paper's own system in orange."""
    efforts = [(point.air_s, point.delivered) for label, point in every.items() if label.startswith("roam")]
    panel.plot(*zip(*efforts, strict=True), color="black", marker=".", linestyle="", zorder=3)
    panel.plot(*zip(*front(efforts), strict=True), color="black", zorder=3)
    panel.plot(every["roam"].air_s, every["roam"].delivered, color="black", marker="o", markersize=8, zorder=4)
    others = {label: point for label, point in every.items() if not label.startswith("roam")}
    for label, point in others.items():
        colour = OWN if label == world.own else OTHER
        panel.plot(point.air_s, point.delivered, color=colour, marker="o", markersize=4, linestyle="", zorder=2)
    _labels(panel, world, others)


def _labels(panel: Any, world: World, others: Mapping[str, Point]) -> None:
    """The paper's own system first; a name that would lie on another one is left out."""
    panel.set(xscale="log", ylim=(-0.05, 1.12))
    panel.xaxis.set_minor_formatter("")  # labels between powers of ten would lie on each other
    taken: list[tuple[float, float]] = []
    for label in sorted(others, key=lambda label: label != world.own):
        at = (others[label].air_s, others[label].delivered)
        x, y = panel.transAxes.inverted().transform(panel.transData.transform(at))
        if any(abs(x - x2) < 0.3 and abs(y - y2) < 0.055 for x2, y2 in taken):
            continue
        taken.append((x, y))
        side = {"ha": "right", "xytext": (-3, 3)} if x > 0.6 else {"ha": "left", "xytext": (3, 3)}
        colour = OWN if label == world.own else OTHER
        panel.annotate(label, at, textcoords="offset points", fontsize=7, color=colour, **side)
