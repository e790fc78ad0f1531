"""Random direction (Royer, Melliar-Smith and Moser 2001): walk straight to the border, pause, turn inwards at random.

The variant is the one that goes to the border, without reflection: at the border the new direction is uniform over the
half circle that points into the area (over the quarter, in a corner). Start: stationary. From a uniformly random point,
`MIXING` legs are walked, after which the position hardly depends on that point; the next leg, with the pause after it,
is weighted by its mean duration (see `stationary`).
"""

from __future__ import annotations

from typing import Final, final

from roamcast.world.mobility.area import heading, inwards, time_to_border, within
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import distance, end_x, end_y, walk
from roamcast.world.mobility.stationary import Pauses, Speeds, leg_at_start, pause_after
from roamcast.world.streams import Stream

MIXING: Final = 12


@final
class RandomDirection(Mobility):
    def __init__(self, width_m: float, height_m: float, speeds: Speeds, pauses: Pauses) -> None:
        self.width_m = width_m
        self.height_m = height_m
        self.speeds = speeds
        self.speeds_of: dict[int, Speeds] = {}  # each node's
        self.pauses = pauses

    def first(self, node: int, stream: Stream) -> Leg:
        speeds = self.speeds.of_node(stream)
        self.speeds_of[node] = speeds
        diagonal_m = distance(0.0, 0.0, self.width_m, self.height_m)
        while True:
            x = stream.random() * self.width_m
            y = stream.random() * self.height_m
            for _ in range(MIXING):
                x, y = self._border(x, y, stream)
            to_x, to_y = self._border(x, y, stream)
            leg = leg_at_start(x, y, to_x, to_y, diagonal_m, speeds, self.pauses, stream)
            if leg is not None:
                return leg

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        x = within(end_x(leg), self.width_m)
        y = within(end_y(leg), self.height_m)
        pause = pause_after(leg, x, y, self.pauses, stream)
        if pause is not None:
            return pause
        while True:
            to_x, to_y = self._border(x, y, stream)
            on = walk(leg.end_s, x, y, to_x, to_y, self.speeds_of[node].draw(stream))
            if on.end_s > leg.end_s:
                return on

    def _border(self, x: float, y: float, stream: Stream) -> tuple[float, float]:
        """Where a new direction from here meets the border."""
        dx, dy = heading(stream)
        dx = inwards(x, self.width_m, dx)
        dy = inwards(y, self.height_m, dy)
        s = min(time_to_border(x, self.width_m, dx), time_to_border(y, self.height_m, dy))
        return within(x + s * dx, self.width_m), within(y + s * dy, self.height_m)
