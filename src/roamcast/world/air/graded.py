"""Air on a graded radio: a frame has a strength at each receiver, interference adds up, and the stronger frame may
survive (radio/base.py has the rule)."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.log.schema import ACKNOWLEDGEMENT, COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import AcknowledgedAir
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import NOTHING, Station


@final
class GradedAir(AcknowledgedAir):
    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        end = t + tx.airtime
        station.occupy(end)
        threshold = self.medium.radio.threshold
        row = self.hearers.row(station, t)
        strengths = self.medium.strengths(station, row, t)
        hearers: list[Station] = []
        sensed: i64 = 0
        k: i64 = -1
        for other in row:
            k += 1
            strength = strengths[k]
            if strength < threshold or not other.up:
                continue
            self.interfere(other, station, tx, s, t, strength)
            hearers.append(other)
            strengths[sensed] = strength
            sensed += 1
            self.sense(other, t, end)
        tx.hearers = hearers
        tx.strengths = strengths
        if tx.to >= 0:
            nav = self.reserved(tx, end)
            for other in hearers:
                if other.index != tx.to and other.idle_since < nav:
                    other.idle_since = nav

    def interfere(self, other: Station, station: Station, tx: Transmission, s: i64, t: i64, strength: float) -> None:
        """A signal reaches a station: it may garble the frame that is being received, and be received or lost
        itself."""
        capture = self.medium.radio.capture
        disturbed = capture * (other.energy - other.strength + strength)
        if other.receiving >= 0 and other.strength < disturbed and not other.garbled:
            other.garbled = True
            self.spoil(other, t)
        if strength >= 1.0:
            frame = tx.frame
            if other.receiving < 0 and not other.sending and strength >= capture * other.energy:
                other.receiving = s
                other.strength = strength
                other.garbled = False
            elif frame is not None:
                reason: i64 = HALF_DUPLEX if other.sending else COLLISION
                self.recorder.lose(t, other.index, frame, tx.serial, station.index, tx.size, reason, 0)
        other.energy += strength
        other.signals += 1

    def sense(self, other: Station, t: i64, end: i64) -> None:
        """The medium gets busy at a station: its back-off freezes."""
        if other.busy_until <= t:
            if other.contending:
                self.mac.freeze(other, t)
            elif other.slots > 0:
                self.mac.count_down(other, t)
            other.busy_until = end
        elif other.busy_until < end:
            other.busy_until = end

    # ---- frames end

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)
        self.await_acknowledgement(station, t)

    def end_one_by_one(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        got: i64 = 0
        k: i64 = -1
        for other in tx.hearers:
            k += 1
            strength = tx.strengths[k]
            self.fade(other, strength)
            if other.receiving != s:
                if other.deafened == s:
                    other.deafened = NOTHING
                    self.recorder.lose(t, other.index, frame, tx.serial, station.index, tx.size, HALF_DUPLEX, 0)
                continue
            other.receiving = NOTHING
            if other.garbled:
                self.miss(other, station, tx, frame, t, COLLISION)
                continue
            self.understood(other)
            got += self.arrive(other, station, tx, frame, t, self.medium.radio.dbm(strength))
        self.fingerprint.stamp(t, station.index, tx.serial, got)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        k: i64 = -1
        for other in tx.hearers:
            k += 1
            self.fade(other, tx.strengths[k])
            if other.receiving != s:
                if other.deafened == s:
                    other.deafened = NOTHING
                continue
            other.receiving = NOTHING
            self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
            if other.garbled:
                continue
            self.understood(other)
            if other.index == tx.to and other.waiting:
                self.acknowledged(other)

    def fade(self, other: Station, strength: float) -> None:
        """A signal ends. The sum starts at zero again when it is silent, so that rounding errors do not add up."""
        if other.signals > 1:
            other.signals -= 1
            other.energy -= strength
        else:
            other.signals = 0
            other.energy = 0.0
