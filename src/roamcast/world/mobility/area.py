"""The area, a rectangle from (0, 0) to (width, height): directions in it, and its border."""

from __future__ import annotations

from math import inf, sqrt
from typing import Final

from roamcast.world.streams import Stream

BORDER_M: Final = 1e-6  # nearer than that, rounding decides on which side of the border a node stands


def heading(stream: Stream) -> tuple[float, float]:
    """A direction uniform over the circle; by rejection, as sine and cosine differ between C libraries."""
    while True:
        x = 2.0 * stream.random() - 1.0
        y = 2.0 * stream.random() - 1.0
        d = x * x + y * y
        if 1e-6 < d <= 1.0:
            d = sqrt(d)
            return x / d, y / d


def inwards(at: float, size: float, component: float) -> float:
    """The component of a direction, mirrored if it would leave the area."""
    if at <= BORDER_M:
        return abs(component)
    if at >= size - BORDER_M:
        return -abs(component)
    return component


def time_to_border(at: float, size: float, velocity: float) -> float:
    """The time until this component of the velocity reaches the border."""
    if velocity > 0.0:
        return (size - at) / velocity
    return -at / velocity if velocity < 0.0 else inf


def within(value: float, size: float) -> float:
    """The nearest value inside the area."""
    return 0.0 if value < 0.0 else size if value > size else value
