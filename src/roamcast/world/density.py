"""Where nodes stand, and how large the area must be for a given mean number of neighbours.

uniform   everywhere with equal probability: gaps and crowds.
grid      one in each of n grid cells of equal size that fill the area: about even.
triangle  one in each of n cells around the points of a triangular lattice, the widest that fits: rows are shifted by
          half of a cell against each other, and away from the border all six nearest points are equally far.

In its cell a node stands everywhere with equal probability, or nearer to the middle: `jitter` is the share of the
cell's width and height that it may use. With 0 it stands in the middle.

Nodes near the border have fewer neighbours than others, and that is included. For two points of a rectangle, the
distance along each side has a triangular density; the probability that they are within range (`nearness`) is one
integral. Nodes that stand uniformly have (n − 1) nearness(area) neighbours on average. On a grid, a random node is
anywhere in the area, and so is a point of a random cell. That cell must be another one, so the mean is n nearness(area)
less the mean of nearness(cell): almost one neighbour fewer in the same area. For parts of cells and for the triangular
lattice there is no such shortcut: the probability (`pair_in_range`) is summed over pairs of nodes, and pairs with the
same relative position are computed once.

Without jitter the mean falls in steps as the area grows, and a mean between two steps is refused.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Final

from roamcast.errors import InputError

STEPS: Final = 100
EXACT_M: Final = 0.001
SLACK: Final = 0.01
"""How far a step may be from the requested mean: people type two digits."""
HEIGHT: Final = 0.8660254037844386
"""Between the rows of a triangular lattice, over the distance between its points: sqrt(3) / 2."""

Cell = tuple[float, float, float, float]  # left, bottom, width, height
Offset = tuple[float, float, float, float, float, float]  # between the middles of two cells, then their sizes


# ---- where nodes stand


def places(nodes: int, width_m: float, height_m: float, placement: str, jitter: float) -> list[Cell]:
    """The rectangle that each node stands in."""
    whole = (triangle if placement == "triangle" else cells)(nodes, width_m, height_m)
    spare = (1.0 - jitter) / 2.0
    return [(left + spare * w, bottom + spare * h, jitter * w, jitter * h) for left, bottom, w, h in whole]


def cells(nodes: int, width_m: float, height_m: float) -> list[Cell]:
    """As square as possible. Rows may differ in their number of cells; rows with more are higher, in proportion."""
    rows = max(1, min(nodes, round(sqrt(nodes * height_m / width_m))))
    result: list[Cell] = []
    for row in range(rows):
        first, last = nodes * row // rows, nodes * (row + 1) // rows
        width, height = width_m / (last - first), height_m * (last - first) / nodes
        for column in range(last - first):
            result.append((width * column, height_m * first / nodes, width, height))
    return result


def triangle(nodes: int, width_m: float, height_m: float) -> list[Cell]:
    """Equal cells in the middle of the area. Rows differ by at most one point, and none is more than a quarter of a
    cell out of the middle."""
    rows, width = _widest(nodes, width_m, height_m)
    height = HEIGHT * width
    bottom = (height_m - rows * height) / 2.0
    result: list[Cell] = []
    for row in range(rows):
        points = nodes * (row + 1) // rows - nodes * row // rows
        shift = 0.25 if row % 2 else -0.25
        first = -((points - 1 + row % 2) // 2)  # its column in the lattice, counted from the middle of the area
        for column in range(first, first + points):
            result.append((width_m / 2.0 + (column + shift - 0.5) * width, bottom + row * height, width, height))
    return result


def _widest(nodes: int, width_m: float, height_m: float) -> tuple[int, float]:
    """The number of rows of the triangular lattice with this many points and the widest cells, and their width. More
    rows have fewer points each and need more height."""
    best, width = 1, 0.0
    for rows in range(1, nodes + 1):
        across = width_m / ((nodes + rows - 1) // rows + 0.5)
        up = height_m / (rows * HEIGHT)
        if min(across, up) > width:
            best, width = rows, min(across, up)
        if up < across:
            break
    return best, width


# ---- how many are in range


def nearness(width_m: float, height_m: float, range_m: float) -> float:
    """Probability that two points of a rectangle are within the range of each other.

    Simpson's rule over their distance x along the width, with x = span (1 − u²): in u the circle has no steep end.
    It uses only the four operations and square roots, so it is the same on every machine.
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


def pair_in_range(offset: Offset, range_m: float) -> float:
    """Probability that a point of one rectangle and a point of another are within the range of each other.

    By the midpoint rule over their distance along the width, and exactly over the other one; operations as above.
    """
    dx, dy, width, height, other_width, other_height = offset
    half_x, half_y = (width + other_width) / 2.0, (height + other_height) / 2.0
    near_x, near_y = max(0.0, abs(dx) - half_x), max(0.0, abs(dy) - half_y)
    if near_x * near_x + near_y * near_y > range_m * range_m:
        return 0.0
    far_x, far_y = abs(dx) + half_x, abs(dy) + half_y
    if far_x * far_x + far_y * far_y <= range_m * range_m:
        return 1.0
    start, end = max(dx - half_x, -range_m), min(dx + half_x, range_m)
    total, before = 0.0, _below(start - dx, width, other_width)
    for k in range(STEPS):
        x = start + (end - start) * (k + 0.5) / STEPS
        y = sqrt(max(0.0, range_m * range_m - x * x))
        after = _below(start + (end - start) * (k + 1) / STEPS - dx, width, other_width)
        total += (after - before) * (_below(y - dy, height, other_height) - _below(-y - dy, height, other_height))
        before = after
    return total


def _below(t: float, a: float, b: float) -> float:
    """Probability that the sum of two numbers is at most t, one uniform in ±a/2 and the other in ±b/2."""
    if t <= -(a + b) / 2.0:
        return 0.0
    if t >= (a + b) / 2.0:
        return 1.0
    total = 0.0
    for corner, sign in ((a + b, 1.0), (a - b, -1.0), (b - a, -1.0)):
        beyond = max(0.0, t + corner / 2.0)
        total += sign * beyond * beyond
    return total / (2.0 * a * b)


def mean_neighbours(nodes: int, side_m: float, range_m: float, placement: str, jitter: float = 1.0) -> float:
    """The mean number of neighbours in a square area."""
    if placement == "uniform":
        return (nodes - 1) * nearness(side_m, side_m, range_m)
    if placement == "grid" and jitter == 1.0:
        return _mean_on_grid(nodes, side_m, range_m)
    pairs = _offsets(places(nodes, side_m, side_m, placement, jitter), range_m)
    return 2.0 * sum([count * pair_in_range(offset, range_m) for offset, count in pairs.items()]) / nodes


def _mean_on_grid(nodes: int, side_m: float, range_m: float) -> float:
    shapes: dict[tuple[float, float], int] = {}
    for _, _, width, height in cells(nodes, side_m, side_m):
        shapes[(width, height)] = shapes.get((width, height), 0) + 1
    own = sum([count * nearness(width, height, range_m) for (width, height), count in shapes.items()])
    return nodes * nearness(side_m, side_m, range_m) - own / nodes


def _offsets(where: list[Cell], range_m: float) -> dict[Offset, int]:
    """The number of pairs of rectangles for each relative position, without pairs that are entirely out of range.

    Rectangles come in rows, from below and from the left, so the search can stop at the first that is out of range.
    """
    rows: list[list[Cell]] = []
    for cell in where:
        if not rows or rows[-1][0][1] != cell[1]:
            rows.append([])
        rows[-1].append(cell)
    counts: dict[Offset, int] = {}
    for k, row in enumerate(rows):
        for other in rows[k:]:
            if other[0][1] - row[0][1] - row[0][3] > range_m:
                break
            _compare(row, other, range_m, counts)
    return counts


def _compare(row: list[Cell], other: list[Cell], range_m: float, counts: dict[Offset, int]) -> None:
    """Count the pairs of one cell of each row; for one row with itself, each pair once."""
    first = 0
    for k, (left, bottom, width, height) in enumerate(row):
        while first < len(other) and other[first][0] + other[first][2] < left - range_m:
            first += 1
        for j in range(max(first, k + 1) if row is other else first, len(other)):
            x, y, w, h = other[j]
            if x - left - width > range_m:
                break
            dx, dy = x - left + (w - width) / 2.0, y - bottom + (h - height) / 2.0
            offset = (round(abs(dx), 9), round(dy, 9), width, height, w, h)
            counts[offset] = counts.get(offset, 0) + 1


# ---- how large the area must be


@cache
def side_for(nodes: int, neighbours: float, range_m: float, placement: str, jitter: float = 1.0) -> float:
    """The side of the square, to the centimetre, in which nodes have this mean number of neighbours (below `nodes`)."""
    low, high = _around(nodes, neighbours, range_m, placement, jitter)
    if placement == "uniform" or jitter == 1.0:
        return round(high, 2)
    if jitter == 0.0:  # the middle of a step, so that rounding moves no node out of range
        longest = _around(nodes, max(neighbours - SLACK, neighbours / 2.0), range_m, placement, jitter)[1]
        side_m = round((_around(nodes, neighbours + SLACK, range_m, placement, jitter)[1] + longest) / 2.0, 2)
    else:
        side_m = round(high, 2)
    if abs(mean_neighbours(nodes, side_m, range_m, placement, jitter) - neighbours) > SLACK:
        fewer = mean_neighbours(nodes, high, range_m, placement, jitter)
        more = mean_neighbours(nodes, low, range_m, placement, jitter)
        raise InputError(
            f"neighbours={neighbours:g}: must be {f'at most {fewer:.2f} or ' if fewer else ''}at least {more:.2f} with "
            f"placement={placement}, placement_jitter={jitter:g} and nodes={nodes}"
        )
    return side_m


def _around(nodes: int, neighbours: float, range_m: float, placement: str, jitter: float) -> tuple[float, float]:
    """Two sides a millimetre apart: nodes have more neighbours than given only with the shorter one."""
    low, high = 0.0, range_m
    while mean_neighbours(nodes, high, range_m, placement, jitter) > neighbours:
        low, high = high, 2.0 * high
    while high - low > EXACT_M:
        middle = (low + high) / 2.0
        if mean_neighbours(nodes, middle, range_m, placement, jitter) > neighbours:
            low = middle
        else:
            high = middle
    return low, high
