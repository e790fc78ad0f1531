"""The hearers of a station, as station objects: a transmission goes through them.

A row of stations is made from numbers when it is needed, and stays until a link of its sender begins or ends, or the
contacts say that it is outdated; most stations send often between two changes.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.world.contacts.neighbourhood import LinkObserver, Neighbourhood
from roamcast.world.station import Station

Row = tuple[Station, ...]


class Hearers(LinkObserver):
    __slots__ = ("motion", "rows", "stations")

    def __init__(self, stations: list[Station], motion: Neighbourhood) -> None:
        self.stations = stations
        self.motion = motion
        self.rows: list[Row | None] = [None] * len(stations)  # None: to be made
        assert motion.observer is None, "these contacts have an observer already"
        motion.observer = self

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        self.rows[i] = None

    def row(self, station: Station, t: i64) -> Row:
        """The stations that a frame of this one reaches if it starts at `t`, in the order of their numbers."""
        motion = self.motion
        now = float(t) * 1e-6
        if now >= motion.next:
            motion.advance(now)
        row = self.rows[station.index]
        if row is None or motion.outdated(station.index, now):
            stations = self.stations
            row = tuple([stations[j] for j in motion.around(station.index, now)])
            self.rows[station.index] = row
        return row


@final
class PartedHearers(Hearers):
    """From `begin` to `end` no frame crosses the line x = `wall_m`."""

    __slots__ = ("begin", "end", "wall_m")

    def __init__(self, stations: list[Station], motion: Neighbourhood, begin: i64, end: i64, wall_m: float) -> None:
        super().__init__(stations, motion)
        self.begin = begin
        self.end = end
        self.wall_m = wall_m

    def row(self, station: Station, t: i64) -> Row:
        row = super().row(station, t)
        if self.begin <= t < self.end:
            now = float(t) * 1e-6
            left = self.motion.x(station.id, now) < self.wall_m
            row = tuple([other for other in row if (self.motion.x(other.id, now) < self.wall_m) == left])
        return row
