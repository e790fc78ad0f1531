"""Nodes that move by a model, without contacts, for tests of the models."""

from __future__ import annotations

from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import end_x, end_y
from roamcast.world.streams import Stream


class Walker:
    """One node and the leg it is on."""

    def __init__(self, model: Mobility, node: int = 0, seed: int = 1) -> None:
        self.model = model
        self.node = node
        self.stream = Stream(seed, node, "mobility")
        self.leg = model.first(node, self.stream)
        assert self.leg.start_s <= 0.0 < self.leg.end_s

    def turn(self) -> Leg:
        """The next leg, which must follow without a gap or a jump."""
        before = self.leg
        self.leg = self.model.next(self.node, before, self.stream)
        assert self.leg.start_s == before.end_s < self.leg.end_s
        assert abs(self.leg.x - end_x(before)) < 1e-6 and abs(self.leg.y - end_y(before)) < 1e-6
        return self.leg

    def legs(self, count: int) -> list[Leg]:
        return [self.leg, *(self.turn() for _ in range(count - 1))]

    def to(self, t: float) -> Walker:
        while self.leg.end_s <= t:
            self.turn()
        return self

    def at(self, t: float) -> tuple[float, float]:
        self.to(t)
        return self.leg.x + self.leg.vx * (t - self.leg.start_s), self.leg.y + self.leg.vy * (t - self.leg.start_s)


def crowd(model: Mobility, n: int, seed: int = 1) -> list[Walker]:
    return [Walker(model, node, seed) for node in range(n)]


def speed(leg: Leg) -> float:
    return float((leg.vx**2 + leg.vy**2) ** 0.5)
