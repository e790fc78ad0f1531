"""Random waypoint: walk straight to a uniformly random point of the rectangle, pause, choose again.

The start is drawn from the stationary distribution (see `stationary`), so there is no transient: a node is found on a
leg, or pausing at the end of one, with a probability proportional to that leg's mean duration, pause included. Walking
nodes are therefore denser in the middle and slower than the mean of the speed law; pausing ones are uniform. Speed and
pause are drawn anew for each leg.
"""

from __future__ import annotations

from typing import final

from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import distance, end_x, end_y, rest, rests, walk
from roamcast.world.mobility.stationary import Pauses, Speeds
from roamcast.world.streams import Stream


@final
class RandomWaypoint(Mobility):
    def __init__(self, width_m: float, height_m: float, speeds: Speeds, pauses: Pauses) -> None:
        self.width_m = width_m
        self.height_m = height_m
        self.speeds = speeds
        self.pauses = pauses

    def first(self, node: int, stream: Stream) -> Leg:
        pace = self.speeds.inverse_mean
        longest_s = distance(0.0, 0.0, self.width_m, self.height_m) * pace + self.pauses.mean
        while True:
            x = stream.random() * self.width_m
            y = stream.random() * self.height_m
            to_x = stream.random() * self.width_m
            to_y = stream.random() * self.height_m
            walk_s = distance(x, y, to_x, to_y) * pace
            drawn = stream.random() * longest_s
            if drawn < walk_s:
                done = stream.random()
                x += done * (to_x - x)
                y += done * (to_y - y)
                leg = walk(0.0, x, y, to_x, to_y, self.speeds.draw_underway(stream))
            elif drawn < walk_s + self.pauses.mean:
                leg = rest(0.0, to_x, to_y, self.pauses.draw_rest(stream))
            else:
                continue
            if leg.end_s > 0.0:
                return leg

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        t = leg.end_s
        x = end_x(leg)
        y = end_y(leg)
        if not rests(leg):
            pause = rest(t, x, y, t + self.pauses.draw(stream))
            if pause.end_s > t:
                return pause
        while True:
            to_x = stream.random() * self.width_m
            to_y = stream.random() * self.height_m
            on = walk(t, x, y, to_x, to_y, self.speeds.draw(stream))
            if on.end_s > t:
                return on
