"""Where nodes were, from the `move` rows of a log of level full."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from math import hypot

from roamcast.log.reader import LogRow

Leg = tuple[int, int, float, float, float, float]
"""Begin and end in microseconds, then x, y in metres and the speeds along both in metres a second."""


class Places:
    def __init__(self, moves: Iterable[LogRow]) -> None:
        self._legs: dict[int, list[Leg]] = {}
        for row in moves:
            x, y, vx, vy = map(float, row.reason.split())
            self._legs.setdefault(row.node, []).append((row.t, row.value, x, y, vx, vy))

    def position(self, node: int, t_us: int) -> tuple[float, float] | None:
        legs = self._legs.get(node, [])
        place = bisect_right(legs, t_us, key=lambda leg: leg[0]) - 1
        if place < 0:
            return None
        begin, end, x, y, vx, vy = legs[place]
        took_s = (min(t_us, end) - begin) / 1e6
        return x + vx * took_s, y + vy * took_s

    def distance_m(self, node: int, other: int, t_us: int) -> float | None:
        a, b = self.position(node, t_us), self.position(other, t_us)
        return None if a is None or b is None else hypot(a[0] - b[0], a[1] - b[1])
