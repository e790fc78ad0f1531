"""Nodes that stand still: uniformly at random in the area, one in each grid cell, or at given places."""

from __future__ import annotations

from math import inf
from typing import final

from roamcast.world.density import Cell
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import rest
from roamcast.world.streams import Stream


@final
class Static(Mobility):
    def __init__(self, width_m: float, height_m: float) -> None:
        self.width_m = width_m
        self.height_m = height_m

    def first(self, node: int, stream: Stream) -> Leg:
        x = stream.random() * self.width_m
        return rest(0.0, x, stream.random() * self.height_m, inf)


@final
class InCells(Mobility):
    """Node i stands in the i-th grid cell, uniformly at random."""

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells

    def first(self, node: int, stream: Stream) -> Leg:
        left, bottom, width, height = self.cells[node]
        x = left + stream.random() * width
        return rest(0.0, x, bottom + stream.random() * height, inf)


@final
class Placed(Mobility):
    """Node i stands at the i-th position."""

    def __init__(self, positions: list[tuple[float, float]]) -> None:
        self.positions = positions

    def first(self, node: int, stream: Stream) -> Leg:
        x, y = self.positions[node]
        return rest(0.0, x, y, inf)


@final
class SomeMove(Mobility):
    """Nodes stand at their places, except those that move as another model says."""

    def __init__(self, positions: list[tuple[float, float]], moving: list[bool], model: Mobility) -> None:
        self.positions = positions
        self.moving = moving
        self.model = model

    def first(self, node: int, stream: Stream) -> Leg:
        if self.moving[node]:
            return self.model.first(node, stream)
        x, y = self.positions[node]
        return rest(0.0, x, y, inf)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        return self.model.next(node, leg, stream)
