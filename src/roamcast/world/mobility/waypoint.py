"""Random waypoint: walk straight to a uniformly random point of the rectangle, pause, choose again.

The start is drawn from the stationary distribution (see `stationary`), so there is no transient: a node is on a leg, or
pauses at the end of one, with a probability proportional to that leg's mean duration, pause included. Walking nodes are
therefore denser in the middle, and slower than the mean speed if they draw a speed for each leg; pausing ones are
uniform. A pause is drawn for each leg, and so is a speed unless nodes keep theirs. If nodes start `together`, as in
many simulations in the literature, all stand at uniformly random points at 0 s and start walking then.
"""

from __future__ import annotations

from typing import final

from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import distance, end_x, end_y, walk
from roamcast.world.mobility.stationary import Pauses, Speeds, leg_at_start, pause_after
from roamcast.world.streams import Stream


@final
class RandomWaypoint(Mobility):
    def __init__(self, width_m: float, height_m: float, speeds: Speeds, pauses: Pauses, together: bool = False) -> None:
        self.width_m = width_m
        self.height_m = height_m
        self.speeds = speeds
        self.speeds_of: dict[int, Speeds] = {}  # each node's
        self.pauses = pauses
        self.together = together

    def first(self, node: int, stream: Stream) -> Leg:
        speeds = self.speeds.of_node(stream)
        self.speeds_of[node] = speeds
        if self.together:
            return self._on_from(0.0, stream.random() * self.width_m, stream.random() * self.height_m, speeds, stream)
        diagonal_m = distance(0.0, 0.0, self.width_m, self.height_m)
        while True:
            x = stream.random() * self.width_m
            y = stream.random() * self.height_m
            to_x = stream.random() * self.width_m
            to_y = stream.random() * self.height_m
            leg = leg_at_start(x, y, to_x, to_y, diagonal_m, speeds, self.pauses, stream)
            if leg is not None:
                return leg

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        x = end_x(leg)
        y = end_y(leg)
        pause = pause_after(leg, x, y, self.pauses, stream)
        if pause is not None:
            return pause
        return self._on_from(leg.end_s, x, y, self.speeds_of[node], stream)

    def _on_from(self, start_s: float, x: float, y: float, speeds: Speeds, stream: Stream) -> Leg:
        while True:
            to_x = stream.random() * self.width_m
            to_y = stream.random() * self.height_m
            on = walk(start_s, x, y, to_x, to_y, speeds.draw(stream))
            if on.end_s > start_s:
                return on
