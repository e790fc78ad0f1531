"""Gauss–Markov (Liang and Haas 1999): a velocity depends on the one before it.

Every `step_s` each component of the velocity becomes  memory·v + sqrt(1 - memory²)·σ·g, g standard normal. There is
no preferred direction (the mean velocity is zero), and σ is chosen so that the mean speed is the middle of [min, max];
the actual speed is limited to that interval. A node that meets the border is reflected: that component of its velocity
changes sign, in the middle of a step. Memory 1 is a billiard ball, memory 0 a new velocity each step.

Start: stationary, exactly. Position is uniform (which reflection preserves), velocity Gaussian, and each node's steps
have a phase of their own.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, final

from roamcast.world.mobility.area import inwards, time_to_border, within
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import distance, end_x, end_y, rest
from roamcast.world.streams import Stream

MEAN_SPEED: Final = 0.7978845608028654  # sqrt(2/π): σ of a component over the mean length of a Gaussian vector


@final
class GaussMarkov(Mobility):
    def __init__(
        self, width_m: float, height_m: float, speed_min_mps: float, speed_max_mps: float, memory: float, step_s: float
    ) -> None:
        self.width_m = width_m
        self.height_m = height_m
        self.speed_min_mps = speed_min_mps
        self.speed_max_mps = speed_max_mps
        self.memory = memory
        self.step_s = step_s
        self.deviation = 0.5 * (speed_min_mps + speed_max_mps) * MEAN_SPEED
        self.vx: list[float] = []  # of each node, before its speed is cut
        self.vy: list[float] = []
        self.step_end_s: list[float] = []

    def first(self, node: int, stream: Stream) -> Leg:
        while len(self.vx) <= node:
            self.vx.append(0.0)
            self.vy.append(0.0)
            self.step_end_s.append(0.0)
        x = stream.random() * self.width_m
        y = stream.random() * self.height_m
        self.vx[node] = stream.normal(0.0, self.deviation)
        self.vy[node] = stream.normal(0.0, self.deviation)
        self.step_end_s[node] = self.step_s * (1.0 - stream.random())
        return self._leg(node, 0.0, x, y)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        t = leg.end_s
        if t >= self.step_end_s[node]:
            fresh = sqrt(1.0 - self.memory * self.memory) * self.deviation
            self.vx[node] = self.memory * self.vx[node] + stream.normal(0.0, fresh)
            self.vy[node] = self.memory * self.vy[node] + stream.normal(0.0, fresh)
            self.step_end_s[node] = t + self.step_s
        return self._leg(node, t, within(end_x(leg), self.width_m), within(end_y(leg), self.height_m))

    def _leg(self, node: int, t: float, x: float, y: float) -> Leg:
        """To the end of the step or to the border, whichever comes first."""
        self.vx[node] = inwards(x, self.width_m, self.vx[node])
        self.vy[node] = inwards(y, self.height_m, self.vy[node])
        raw = distance(0.0, 0.0, self.vx[node], self.vy[node])
        if raw == 0.0:
            return rest(t, x, y, self.step_end_s[node])
        share = min(max(raw, self.speed_min_mps), self.speed_max_mps) / raw
        vx = self.vx[node] * share
        vy = self.vy[node] * share
        end_s = min(
            self.step_end_s[node], t + time_to_border(x, self.width_m, vx), t + time_to_border(y, self.height_m, vy)
        )
        return Leg(t, x, y, vx, vy, end_s)
