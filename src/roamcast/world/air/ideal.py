"""Air in which no frame disturbs another. A frame for one neighbour is delivered at once or not at all."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.log.schema import FOR_ANOTHER, LOSS, NO_ACK
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.base import Air
from roamcast.world.air.medium import UNSENSED, Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import Station


@final
class IdealAir(Air):
    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        self.plain = medium.radio.plain
        self.faulty = medium.faults.any()

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        station.sending = True
        station.sends_until = t + tx.airtime
        if self.plain:
            tx.hearers = self.hearers.row(station.index, t)
            tx.strengths = self.ones
        else:
            self.medium.aim(station, tx, t)
        if self.faulty:
            strengths = tx.strengths[: len(tx.hearers)]
            for k, j in enumerate(tx.hearers):
                if not self.stations[j].up:
                    strengths[k] = UNSENSED
            tx.strengths = strengths

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_frame(station, tx, frame, t)

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        if self.end_frame(station, tx, frame, t) == 0:
            self.recorder.lose(t, station.index, frame, tx.serial, tx.to, tx.size, NO_ACK, 0)
            station.protocol.on_undelivered(frame, tx.to)

    def end_frame(self, station: Station, tx: Transmission, frame: Frame, t: i64) -> i64:
        """Returns how many nodes received it."""
        if self.at_once:
            got = self.gather(tx, t)
            if tx.to >= 0:
                decoded = got
                got = self.leave_only(tx.to, decoded)
                self.tally.overheard += decoded - got
            self.hand_out(station, tx, frame, got)
        else:
            got = self.hand_one_by_one(station, tx, frame, t)
        self.fingerprint.stamp(t, station.index, tx.serial, got)
        return got

    def gather(self, tx: Transmission, t: i64) -> i64:
        """Put the numbers of the stations that decode a frame into `receivers`. Returns how many there are."""
        receivers = self.receivers
        stations = self.stations
        strengths = tx.strengths
        start = tx.start
        got: i64 = 0
        k: i64 = -1
        for j in tx.hearers:
            k += 1
            other = stations[j]
            if strengths[k] >= 1.0 and other.up:
                other.listened(start, t)
                receivers[got] = j
                got += 1
        return got

    def hand_one_by_one(self, station: Station, tx: Transmission, frame: Frame, t: i64) -> i64:
        got: i64 = 0
        for k, j in enumerate(tx.hearers):
            other = self.stations[j]
            if tx.strengths[k] < 1.0 or not other.up:
                continue
            if tx.to >= 0 and tx.to != other.index:
                self.overhear(other, station, tx, t, FOR_ANOTHER)
                continue
            if self.losses is not None and self.losses.strike(station.index, other.index):
                self.miss(other, station, tx, frame, t, LOSS)
                continue
            got += 1
            self.hand_to(other, station, tx, frame, t, 1.0)  # whatever the distance
        return got
