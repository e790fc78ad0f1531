"""Air on a plain radio, a disc: a frame reaches every station in range, and two frames at one receiver are both lost.

This class is right in every world. `SteadyAir` is faster.
"""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.log.schema import COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import COLLIDED, DEAF, INTACT, UNHEARD, AcknowledgedAir
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import NOTHING, Station


class PlainAir(AcknowledgedAir):
    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        self.visits_all = True  # that lock on to a frame for one neighbour, when it ends

    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        end = t + tx.airtime
        if station.receiving >= 0:
            self.turn_away(station, t)
        station.occupy(end)
        tx.hearers = self.hearers.row(station.index, t)
        self.collided = 0
        self.deaf = 0
        if tx.to < 0:
            self.reach(tx, s, t, end)
        else:
            self.reach_around(tx, s, t, end)
        self.listen(tx, t, end)
        frame = tx.frame
        if frame is not None:
            self.count_lost()
            if self.rows.frames:
                self.write_clashes(self.hearers.row(station.index, t), station, tx, frame, s, t)

    def turn_away(self, station: Station, t: i64) -> None:
        """A station that was receiving is about to send."""

    def listen(self, tx: Transmission, t: i64, end: i64) -> None:
        """Those that locked on to a frame listen to it."""

    def reach(self, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        """A frame for all reaches its hearers: the idle ones lock on to it, and their back-offs stop. Only these are
        left as hearers, to be visited when it ends."""
        mac = self.mac
        stations = self.stations
        hearers = tx.hearers
        locked: i64 = 0
        for j in hearers:
            other = stations[j]
            if other.busy_until > t:
                self.clash(other, t, end)
                continue
            if other.contending:
                mac.freeze(other, t)
            elif other.slots > 0:
                mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s
            hearers[locked] = j
            locked += 1
        tx.locked = locked
        tx.visits = locked

    def reach_around(self, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        """The same for a frame for one neighbour. All others only wait until its acknowledgement is over, unless it
        ends their EIFS."""
        mac = self.mac
        nav = self.reserved(tx, end)
        to = tx.to
        stations = self.stations
        hearers = tx.hearers
        locked: i64 = 0
        visits: i64 = 0
        for j in hearers:
            other = stations[j]
            if other.busy_until > t:
                self.clash(other, t, end)
                continue
            if other.contending:
                mac.freeze(other, t)
            elif other.slots > 0:
                mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s
            locked += 1
            if other.index != to and other.idle_since < nav:
                other.idle_since = nav
            if self.visits_all or other.index == to or other.ifs != mac.ifs:
                hearers[visits] = j
                visits += 1
        tx.locked = locked
        tx.visits = visits

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

    def write_clashes(self, row: vec[i64], station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """The rows of stations in range that did not lock on to the frame: they were busy (or off: no row)."""
        for j in row:
            other = self.stations[j]
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
