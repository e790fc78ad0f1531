"""Air in which no frame disturbs another. A frame for one neighbour is delivered at once or not at all."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.log.schema import FOR_ANOTHER, LOSS, NO_ACK
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.base import Air
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import Station


@final
class IdealAir(Air):
    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        station.sending = True
        station.sends_until = t + tx.airtime
        row = self.hearers.row(station, t)
        if self.medium.radio.plain:
            tx.hearers = [other for other in row if other.up]
        else:
            strengths = self.medium.strengths(station, row, t)
            tx.hearers = [other for k, other in enumerate(row) if other.up and strengths[k] >= 1.0]

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.hand_out(station, tx, frame, t)

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        if self.hand_out(station, tx, frame, t) == 0:
            self.recorder.lose(t, station.index, frame, tx.serial, tx.to, tx.size, NO_ACK, 0)
            station.protocol.on_undelivered(frame, tx.to)

    def hand_out(self, station: Station, tx: Transmission, frame: Frame, t: i64) -> i64:
        """Hand a frame to all that receive it. Returns their number."""
        got: i64 = 0
        for other in tx.hearers:
            if not other.up:
                continue
            if tx.to >= 0 and tx.to != other.index:
                self.overhear(other, station, tx, t, FOR_ANOTHER)
                continue
            if self.losses is not None and self.losses.strike(station.index, other.index):
                self.miss(other, station, tx, frame, t, LOSS)
                continue
            got += 1
            other.listened(tx.start, t)
            if self.received(other, station, tx, frame, t):
                other.heard_strength = self.medium.radio.sensitivity_dbm  # whatever the distance
                other.protocol.on_frame(frame, station.id)
        self.fingerprint.stamp(t, station.index, tx.serial, got)
        return got
