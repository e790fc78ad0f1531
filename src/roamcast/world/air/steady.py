"""Swift air where no station ever goes off: a station that listens to a frame listens to all of it.

So listening need not be counted by each station. And of a frame for one neighbour (or an acknowledgement) all other
stations need only the length, which they sense when it starts. So they are counted then. At the end only the addressee
is visited, and stations whose EIFS may end. Stations that lose the frame meanwhile are counted when that happens
(`Transmission.collisions`, `Transmission.deaf`).
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.log.schema import COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.swift import SwiftAir
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import NOTHING, Station


class SteadyAir(SwiftAir):
    def turn_away(self, station: Station, t: i64) -> None:
        """Check whether the station misses the end of a frame for one neighbour."""
        if station.busy_until <= t:  # it does not: that frame is over, and its end did not concern the station
            station.receiving = NOTHING
            return
        tx = self.transmissions[station.receiving]
        if tx.to >= 0:
            tx.deaf += 1
            station.receiving = NOTHING
            station.turns_away()

    def start_addressed(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        mac = self.mac
        nav = self.reserved(tx, end)
        ifs = mac.ifs
        to = tx.to
        locked: i64 = 0
        hearers: list[Station] = []
        for other in self.hearers.row(station, t):
            if other.busy_until > t:
                self.clash(other, t, end)
                continue
            if other.contending:  # `lock_on`, written out
                mac.freeze(other, t)
            elif other.slots > 0:
                mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s
            locked += 1
            if other.index != to:
                if other.idle_since < nav:
                    other.idle_since = nav
                if other.ifs == ifs:
                    continue
            hearers.append(other)
        tx.hearers = hearers
        tx.locked = locked

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        if tx.events:
            self.end_one_by_one(station, tx, frame, s, t)
        else:
            self.energy.shared_rx_us += self.end_at_once(station, tx, frame, s, t) * tx.airtime

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        got: i64 = 0
        for other in tx.hearers:
            if other.receiving != s:
                continue
            other.receiving = NOTHING
            self.understood(other)
            if other.index == tx.to:
                got += 1
                if self.accept(other, station, tx, t) and self.received(other, station, tx, frame, t):
                    other.protocol.on_frame(frame, station.id)
        tally = self.tally
        tally.losses[COLLISION] += tx.collisions
        tally.losses[HALF_DUPLEX] += tx.deaf
        tally.overheard += tx.locked - tx.collisions - tx.deaf - got
        self.add_shared_listening(tx)
        self.fingerprint.stamp(t, station.index, tx.serial, got)
        self.await_acknowledgement(station, t)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        for other in tx.hearers:
            if other.receiving != s:
                continue
            other.receiving = NOTHING
            self.understood(other)
            if other.index == tx.to and other.waiting:
                self.acknowledged(other)
        self.add_shared_listening(tx)

    def add_shared_listening(self, tx: Transmission) -> None:
        self.energy.shared_rx_us += (tx.locked - tx.deaf) * tx.airtime


@final
class MeteredAir(SteadyAir):
    """The same for a protocol that reads its battery: each station counts its own listening."""

    def start_addressed(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        super().start_addressed(station, tx, s, t, end)
        for other in self.hearers.row(station, t):
            if other.receiving == s:
                other.listens(t, end)

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)

    def add_shared_listening(self, tx: Transmission) -> None:
        pass
