"""How to start in the stationary state: the distributions that movement has after a long time.

A node alternates between a leg of length L, walked at a speed v drawn for it, and a pause P. At a random time it is
(Palm calculus; Le Boudec and Vojnović 2005, Navidi and Camp 2004):

- on a leg of length L, or in the pause after it, with probability proportional to its mean duration L·E[1/v] + E[P];
- walking with the share L·E[1/v] of that, at a speed with density proportional to f(v)/v, at a uniform place on it;
- or pausing, in a pause with density proportional to p·f(p), of which a uniform part has passed.

The same holds for a node that keeps one speed v for all its legs: E[1/v] is then 1/v. Over all nodes, speeds then have
the density f(v) that they were drawn from, at every time.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Final, final

from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.legs import distance, rest, rests, walk
from roamcast.world.streams import Stream

SIMPSON: Final = 200  # intervals


@final
class Speeds:
    """Speeds (m/s) between `low` > 0 and `high`: uniform, or normal around the middle with a deviation of a quarter of
    the width and cut at both ends. A node draws one for each leg, or a single one that it keeps (`per_node`)."""

    def __init__(self, low: float, high: float, law: str, per_node: bool = False) -> None:
        self.low = low
        self.high = high
        self.per_node = per_node
        self.normal = law == "normal" and high > low
        self.inverse_mean = self._inverse_mean()

    def of_node(self, stream: Stream) -> Speeds:
        """The speeds of one node for all its legs."""
        if not self.per_node:
            return self
        v = self.draw(stream)
        return Speeds(v, v, "uniform")

    def draw(self, stream: Stream) -> float:
        if not self.normal:
            return stream.uniform(self.low, self.high)
        while True:
            v = stream.normal(0.5 * (self.low + self.high), 0.25 * (self.high - self.low))
            if self.low <= v <= self.high:
                return v

    def draw_underway(self, stream: Stream) -> float:
        """The speed of a node that walks at a random time: slow legs last longer, so the density is f(v)/v."""
        while True:
            v = self.draw(stream)
            if stream.random() * v < self.low:
                return v

    def _inverse_mean(self) -> float:
        """E[1/v]: the mean time for a metre."""
        if self.low == self.high:
            return 1.0 / self.low
        if not self.normal:
            return log(self.high / self.low) / (self.high - self.low)
        mass = 0.0
        moment = 0.0
        for k in range(SIMPSON + 1):
            z = 4.0 * k / SIMPSON - 2.0
            v = 0.5 * (self.low + self.high) + 0.25 * (self.high - self.low) * z
            weight = exp(-0.5 * z * z) * (1.0 if k in (0, SIMPSON) else 4.0 if k % 2 else 2.0)
            mass += weight
            moment += weight / v
        return moment / mass


@final
class Pauses:
    """Pauses (s) uniform between `low` and `high`."""

    def __init__(self, low: float, high: float) -> None:
        self.low = low
        self.high = high
        self.mean = 0.5 * (low + high)

    def draw(self, stream: Stream) -> float:
        return stream.uniform(self.low, self.high)

    def draw_rest(self, stream: Stream) -> float:
        """The rest of a pause at a random time in it."""
        pause = sqrt(stream.uniform(self.low * self.low, self.high * self.high))
        return pause * (1.0 - stream.random())


def leg_at_start(
    x: float, y: float, to_x: float, to_y: float, longest_m: float, speeds: Speeds, pauses: Pauses, stream: Stream
) -> Leg | None:
    """The rest of this leg, or of the pause after it, for a node that is there at 0 s; None: draw another leg.

    A leg is accepted in proportion to its mean duration. That needs a bound: no leg is longer than `longest_m`.
    """
    walk_s = distance(x, y, to_x, to_y) * speeds.inverse_mean
    drawn_s = stream.random() * (longest_m * speeds.inverse_mean + pauses.mean)
    if drawn_s < walk_s:
        done = stream.random()
        leg = walk(0.0, x + done * (to_x - x), y + done * (to_y - y), to_x, to_y, speeds.draw_underway(stream))
    elif drawn_s < walk_s + pauses.mean:
        leg = rest(0.0, to_x, to_y, pauses.draw_rest(stream))
    else:
        return None
    return leg if leg.end_s > 0.0 else None


def pause_after(leg: Leg, x: float, y: float, pauses: Pauses, stream: Stream) -> Leg | None:
    """The pause at (x, y), where a walk has ended; None after a pause, or if the pause has no length."""
    if rests(leg):
        return None
    pause = rest(leg.end_s, x, y, leg.end_s + pauses.draw(stream))
    return pause if pause.end_s > leg.end_s else None
