"""Manhattan: streets `block_m` apart in both directions, from the corner (0, 0) of the area as far as they fit.

A node walks from crossing to crossing, with a speed drawn for each block and a pause (if there are pauses) at each
crossing. If all directions exist it turns with probability `turn`, left or right equally often, and never back. At the
border, where a direction is missing, the others are equally likely; in a dead end it goes back. Then as many nodes
enter each block as leave it, and every street is equally busy in both directions, whatever the probability of turning.
So the start is exactly stationary: a uniformly random block and direction, walking or pausing at its end (see
`stationary`).
"""

from __future__ import annotations

from typing import Final, final

from roamcast.errors import InputError
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import end_x, end_y, walk
from roamcast.world.mobility.stationary import Pauses, Speeds, leg_at_start, pause_after
from roamcast.world.streams import Stream

EAST: Final = 0
NORTH: Final = 1  # counted against the clock: left is one more, right one less
WEST: Final = 2


def step_x(way: int) -> int:
    return 1 if way == EAST else -1 if way == WEST else 0


def step_y(way: int) -> int:
    return 0 if way in (EAST, WEST) else 1 if way == NORTH else -1


@final
class Manhattan(Mobility):
    def __init__(
        self, width_m: float, height_m: float, block_m: float, turn: float, speeds: Speeds, pauses: Pauses
    ) -> None:
        self.columns = int(width_m / block_m)
        self.rows = int(height_m / block_m)
        if self.columns == 0 and self.rows == 0:
            raise InputError(
                f"block_m ({block_m:g}) must not be above both width_m ({width_m:g}) and height_m ({height_m:g})"
            )
        self.block_m = block_m
        self.turn = turn
        self.speeds = speeds
        self.speeds_of: dict[int, Speeds] = {}  # each node's
        self.pauses = pauses
        self.column: list[int] = []  # of the crossing that each node is at or walks to
        self.row: list[int] = []
        self.way: list[int] = []  # the direction in which it came

    def first(self, node: int, stream: Stream) -> Leg:
        while len(self.way) <= node:
            self.column.append(0)
            self.row.append(0)
            self.way.append(EAST)
        speeds = self.speeds.of_node(stream)
        self.speeds_of[node] = speeds
        column, row, way = self._block(stream)
        self.column[node] = column + step_x(way)
        self.row[node] = row + step_y(way)
        self.way[node] = way
        to_x = self.column[node] * self.block_m
        to_y = self.row[node] * self.block_m
        x = column * self.block_m
        y = row * self.block_m
        while True:
            leg = leg_at_start(x, y, to_x, to_y, self.block_m, speeds, self.pauses, stream)
            if leg is not None:
                return leg

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        x = end_x(leg)
        y = end_y(leg)
        pause = pause_after(leg, x, y, self.pauses, stream)
        if pause is not None:
            return pause
        way = self._onward(node, stream)
        self.way[node] = way
        self.column[node] += step_x(way)
        self.row[node] += step_y(way)
        to_x = self.column[node] * self.block_m
        to_y = self.row[node] * self.block_m
        return walk(leg.end_s, x, y, to_x, to_y, self.speeds_of[node].draw(stream))

    def _block(self, stream: Stream) -> tuple[int, int, int]:
        """A uniformly random block of a street: the crossing it starts from, and the way it goes."""
        along_x = self.columns * (self.rows + 1)
        along_y = self.rows * (self.columns + 1)
        k = int(stream.below(along_x + along_y))
        back = stream.random() < 0.5
        if k < along_x:
            column, row, way = k % self.columns, k // self.columns, EAST
        else:
            k -= along_x
            column, row, way = k // self.rows, k % self.rows, NORTH
        if back:
            return column + step_x(way), row + step_y(way), way + 2
        return column, row, way

    def _onward(self, node: int, stream: Stream) -> int:
        came = self.way[node]
        left = (came + 1) % 4
        right = (came + 3) % 4
        ways = [way for way in (came, left, right) if self._exists(node, way)]
        if len(ways) == 3:
            if stream.random() >= self.turn:
                return came
            return left if stream.random() < 0.5 else right
        return ways[int(stream.below(len(ways)))] if ways else (came + 2) % 4

    def _exists(self, node: int, way: int) -> bool:
        column = self.column[node] + step_x(way)
        row = self.row[node] + step_y(way)
        return 0 <= column <= self.columns and 0 <= row <= self.rows
