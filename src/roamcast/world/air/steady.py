"""Plain air where no station ever goes off, no rows are written and no frame is lost by chance.

A station that listens to a frame listens to all of it, so listening need not be counted by each station. Stations that
lose a frame are counted when that happens (`Transmission.collisions`, `Transmission.deaf`), so nobody needs to know at
its end which stations had locked on to it. And of a frame for one neighbour (or an acknowledgement) all other stations
need only the length, which they sense when it starts: at the end only the addressee is visited, and stations whose EIFS
may end.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.medium import Medium
from roamcast.world.air.plain import PlainAir
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import NOTHING, Station


class SteadyAir(PlainAir):
    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        self.visits_all = False

    def turn_away(self, station: Station, t: i64) -> None:
        """Check whether the station misses the end of a frame."""
        if station.busy_until > t:  # otherwise that frame is over, and its end did not concern the station
            self.transmissions[station.receiving].deaf += 1
            station.turns_away()
        station.receiving = NOTHING

    def settle(self, tx: Transmission, s: i64, t: i64) -> i64:
        receivers = self.receivers
        stations = self.stations
        hearers = tx.hearers
        ifs = self.mac.ifs
        got: i64 = 0
        for k in range(tx.visits):
            j = hearers[k]
            other = stations[j]
            if other.receiving == s:
                other.receiving = NOTHING
                if other.ifs != ifs:
                    self.understood(other)
                receivers[got] = j
                got += 1
        self.collided = tx.collisions
        self.deaf = tx.deaf
        self.add_listening(tx)
        return got

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        got = self.leave_only(tx.to, self.settle(tx, s, t))
        self.count_lost()
        self.tally.overheard += tx.locked - tx.collisions - tx.deaf - got
        self.end_at_addressee(station, tx, frame, got, t)
        self.await_acknowledgement(station, t)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        if self.leave_only(tx.to, self.settle(tx, s, t)) > 0:
            addressee = self.stations[tx.to]
            if addressee.waiting:
                self.acknowledged(addressee)

    def add_listening(self, tx: Transmission) -> None:
        """The time of all stations that listened up to the end of a frame."""
        self.energy.shared_rx_us += (tx.locked - tx.deaf) * tx.airtime


@final
class MeteredAir(SteadyAir):
    """The same for a protocol that reads its battery: each station counts its own listening."""

    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        self.visits_all = True

    def listen(self, tx: Transmission, t: i64, end: i64) -> None:
        for k in range(tx.visits):
            self.stations[tx.hearers[k]].listens(t, end)

    def add_listening(self, tx: Transmission) -> None:
        pass
