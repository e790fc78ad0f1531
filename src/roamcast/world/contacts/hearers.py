"""The hearers of a frame, by their numbers: those that its sender reaches when it starts."""

from __future__ import annotations

from typing import final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.contacts.neighbourhood import Neighbourhood


class Hearers:
    __slots__ = ("motion",)

    def __init__(self, motion: Neighbourhood) -> None:
        self.motion = motion

    def row(self, i: i64, t: i64) -> vec[i64]:
        """The stations that a frame of station i reaches if it starts at `t`, in order."""
        motion = self.motion
        now = float(t) * 1e-6
        if now >= motion.next:
            motion.advance(now)
        return motion.around(i, now)


@final
class PartedHearers(Hearers):
    """From `begin` to `end` no frame crosses the line x = `wall_m`."""

    __slots__ = ("begin", "end", "wall_m")

    def __init__(self, motion: Neighbourhood, begin: i64, end: i64, wall_m: float) -> None:
        super().__init__(motion)
        self.begin = begin
        self.end = end
        self.wall_m = wall_m

    def row(self, i: i64, t: i64) -> vec[i64]:
        row = super().row(i, t)
        return self.on_its_side(i, row, float(t) * 1e-6) if self.begin <= t < self.end else row

    def on_its_side(self, i: i64, row: vec[i64], now: float) -> vec[i64]:
        left = self.motion.x(int(i), now) < self.wall_m
        here = row[:]  # room for as many
        count: i64 = 0
        for j in row:
            if (self.motion.x(j, now) < self.wall_m) == left:
                here[count] = j
                count += 1
        return here[:count]
