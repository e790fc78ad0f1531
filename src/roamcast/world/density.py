"""Where nodes stand, and how large a field must be for them to have so many neighbours in the mean.

uniform  everywhere with equal probability: gaps and crowds.
grid     one in each of n cells of equal area, everywhere in it with equal probability: about even.

Nodes near the border have fewer neighbours than others, and that counts. Of two points of a rectangle the distance
along each side has a triangular density; the probability that they are within a range (`nearness`) follows by one
integration. Nodes that stand uniformly have (n − 1) nearness(field) neighbours in the mean. On a grid, a random node is
anywhere in the field, and so is a point of a random cell. But that cell must be another one, and so the mean is
n nearness(field) less the mean of nearness(cell): almost one neighbour fewer on the same field.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Final

STEPS: Final = 100
EXACT_M: Final = 0.001

Cell = tuple[float, float, float, float]  # left, bottom, width, height


def cells(nodes: int, width_m: float, height_m: float) -> list[Cell]:
    """As square as can be. Rows need not have the same number of cells; those with more are as much higher."""
    rows = max(1, min(nodes, round(sqrt(nodes * height_m / width_m))))
    found: list[Cell] = []
    for row in range(rows):
        first, last = nodes * row // rows, nodes * (row + 1) // rows
        width, height = width_m / (last - first), height_m * (last - first) / nodes
        for column in range(last - first):
            found.append((width * column, height_m * first / nodes, width, height))
    return found


def nearness(width_m: float, height_m: float, range_m: float) -> float:
    """Probability that two points of a rectangle are within the range of each other.

    Simpson's rule over their distance x along the width, with x = span (1 − u²): in u the circle has no steep end.
    Nothing but the four operations and square roots: the same on every machine.
    """
    span = min(width_m, range_m)
    total = 0.0
    for k in range(STEPS + 1):
        u = k / STEPS
        x = span * (1.0 - u * u)
        y = sqrt(max(0.0, range_m * range_m - x * x)) / height_m
        within = 1.0 - (1.0 - y) * (1.0 - y) if y < 1.0 else 1.0
        weight = 1.0 if k in (0, STEPS) else 4.0 if k % 2 else 2.0
        total += weight * u * (1.0 - x / width_m) * within
    return total / (3.0 * STEPS) * 4.0 * span / width_m


def mean_neighbours(nodes: int, side_m: float, range_m: float, placement: str) -> float:
    """In a square field."""
    near = nearness(side_m, side_m, range_m)
    if placement == "uniform":
        return (nodes - 1) * near
    shapes: dict[tuple[float, float], int] = {}
    for _, _, width, height in cells(nodes, side_m, side_m):
        shapes[(width, height)] = shapes.get((width, height), 0) + 1
    own = sum([count * nearness(width, height, range_m) for (width, height), count in shapes.items()])
    return nodes * near - own / nodes


@cache
def side_for(nodes: int, neighbours: float, range_m: float, placement: str) -> float:
    """The side of the square, to the centimetre, in which nodes have so many neighbours, fewer than there are nodes."""
    low, high = 0.0, range_m
    while mean_neighbours(nodes, high, range_m, placement) > neighbours:
        low, high = high, 2.0 * high
    while high - low > EXACT_M:
        middle = (low + high) / 2.0
        if mean_neighbours(nodes, middle, range_m, placement) > neighbours:
            low = middle
        else:
            high = middle
    return round(high, 2)
