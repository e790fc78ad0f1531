"""Who hears a station, as the stations themselves: what a transmission goes through.

Rows of numbers (near.py) are what changes. A row of stations is made of one when it is asked for and kept until a
link of its sender comes or goes; most stations send often between two changes.
"""

from __future__ import annotations

from typing import final

from roamcast.world.contacts import LinkObserver, Neighbourhood
from roamcast.world.station import Station

Row = tuple[Station, ...]


@final
class Hearing(LinkObserver):
    __slots__ = ("motion", "rows", "stations")

    def __init__(self, stations: list[Station], motion: Neighbourhood) -> None:
        self.stations = stations
        self.motion = motion
        self.rows: list[Row | None] = [None] * len(stations)  # None: to be made
        assert motion.observer is None, "somebody else is told of links"
        motion.observer = self

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        self.rows[i] = None

    def row(self, station: Station, now: float) -> Row:
        """Those who hear it now, in the order of their numbers."""
        motion = self.motion
        if now >= motion.next:
            motion.advance(now)
        row = self.rows[station.index]
        if row is None:
            stations = self.stations
            row = tuple([stations[j] for j in motion.near[station.index]])
            self.rows[station.index] = row
        return row
