"""Air on a plain radio, a disc: a frame reaches every station in range, and two frames at one receiver are both lost.

This class is right in every world. `SteadyAir` is faster.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from roamcast.log.schema import COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import COLLIDED, DEAF, INTACT, UNHEARD, AcknowledgedAir
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import NO_HEARERS, Transmission
from roamcast.world.contacts.hearers import Row
from roamcast.world.station import NOTHING, Station

NOBODY: Final[list[Station]] = []


class PlainAir(AcknowledgedAir):
    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        self.alone: list[Row] = [(station,) for station in medium.stations]

    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        end = t + tx.airtime
        if station.receiving >= 0:
            self.turn_away(station, t)
        station.occupy(end)
        row = self.hearers.row(station, t)
        self.collided = 0
        self.deaf = 0
        tx.hearers = row
        if tx.to < 0:
            self.reach(row, s, t, end)
        else:
            self.reach_around(row, tx, s, t, end)
        self.await_end(row, tx, s, t)
        frame = tx.frame
        if frame is not None:
            self.count_lost()
            if self.rows.frames:
                self.write_clashes(row, station, tx, frame, s, t)

    def turn_away(self, station: Station, t: i64) -> None:
        """A station that was receiving is about to send."""

    def await_end(self, row: Row, tx: Transmission, s: i64, t: i64) -> None:
        """Those that locked on to a frame must be visited when it ends."""
        tx.hearers = tuple([other for other in row if other.receiving == s])

    def reach(self, row: Row, s: i64, t: i64, end: i64) -> None:
        """A frame for all reaches these stations: the idle ones lock on to it, and their back-offs stop."""
        mac = self.mac
        for other in row:
            if other.busy_until > t:
                self.clash(other, t, end)
                continue
            if other.contending:
                mac.freeze(other, t)
            elif other.slots > 0:
                mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s

    def reach_around(self, row: Row, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        """The same for a frame for one neighbour. All others only wait until its acknowledgement is over, unless it
        ends their EIFS."""
        mac = self.mac
        nav = self.reserved(tx, end)
        to = tx.to
        got: i64 = 0
        concerned = NOBODY
        for other in row:
            if other.busy_until > t:
                self.clash(other, t, end)
                continue
            if other.contending:
                mac.freeze(other, t)
            elif other.slots > 0:
                mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s
            if other.index == to:
                got = 1
                continue
            if other.idle_since < nav:
                other.idle_since = nav
            if other.ifs != mac.ifs:
                concerned = [*concerned, other]
        tx.hearers = self.alone[to] if got > 0 else NO_HEARERS
        if len(concerned) > 0:
            tx.hearers += tuple(concerned)

    def clash(self, other: Station, t: i64, end: i64) -> None:
        """A frame starts where the medium is busy: it is lost there, and so is the frame that the station was
        receiving."""
        if other.receiving >= 0:
            self.spoil(other, t)
            other.receiving = NOTHING
        if other.busy_until < end:
            other.busy_until = end
        if other.sending:
            self.deaf += 1
        elif other.up:
            self.collided += 1

    def write_clashes(self, row: Row, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """The rows of stations in range that did not lock on to the frame: they were busy (or off: no row)."""
        for other in row:
            if other.receiving != s and other.up:
                self.write_loss(other, station, tx, frame, t, HALF_DUPLEX if other.sending else COLLISION)

    # ---- frames end

    def leave(self, other: Station, tx: Transmission, s: i64, k: i64) -> i64:
        """A station that had locked on to the frame may have begun to send, lost it to another frame, or gone off."""
        if other.receiving == s:
            other.receiving = NOTHING
            return INTACT
        if other.deafened == s:
            other.deafened = NOTHING
            return DEAF
        return COLLIDED if other.up else UNHEARD
