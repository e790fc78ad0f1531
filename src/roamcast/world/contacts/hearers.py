"""The hearers of a station, as station objects: a transmission goes through them.

Contacts change rows of numbers (rows.py). A row of stations is made from one when it is needed, and stays until a link
of its sender begins or ends; most stations send often between two changes.
"""

from __future__ import annotations

from typing import final

from roamcast.world.contacts.neighbourhood import LinkObserver, Neighbourhood
from roamcast.world.station import Station

Row = tuple[Station, ...]


@final
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

    def row(self, station: Station, now: float) -> Row:
        """The stations that hear this one now, in the order of their numbers."""
        motion = self.motion
        if now >= motion.next:
            motion.advance(now)
        row = self.rows[station.index]
        if row is None:
            stations = self.stations
            row = tuple([stations[j] for j in motion.hearers[station.index]])
            self.rows[station.index] = row
        return row
