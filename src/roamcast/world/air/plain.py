"""Air on a plain radio, a disc: a frame reaches every station in range, and two frames at one receiver are both lost.

This class goes through all receivers when a frame starts and when it ends, so it is right in every world. Its
subclasses are faster.
"""

from __future__ import annotations

from mypy_extensions import i64

from roamcast.log.schema import ACKNOWLEDGEMENT, COLLISION, FOR_ANOTHER, HALF_DUPLEX, LOSS, REPETITION
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import AcknowledgedAir
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import NOTHING, Station


class PlainAir(AcknowledgedAir):
    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        # receivers that lose the transmission that starts or ends:
        self.collided: i64 = 0  # to another frame
        self.deaf: i64 = 0  # because they send

    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        end = t + tx.airtime
        if station.receiving >= 0:
            self.turn_away(station, t)
        station.occupy(end)
        if tx.to < 0:
            self.start_broadcast(station, tx, s, t, end)
        else:
            self.collided = 0
            self.deaf = 0
            self.start_addressed(station, tx, s, t, end)
        frame = tx.frame
        if frame is None or self.collided + self.deaf == 0:
            return
        self.tally.losses[COLLISION] += self.collided
        self.tally.losses[HALF_DUPLEX] += self.deaf
        if self.rows.frames:
            self.write_clashes(station, tx, frame, t)

    def turn_away(self, station: Station, t: i64) -> None:
        """A station that was receiving is about to send."""

    def start_broadcast(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        """Like `start_addressed`, with `clash` and `lock_on` written out: calls for each receiver cost too much."""
        mac = self.mac
        hearers: list[Station] = []
        collided: i64 = 0
        deaf: i64 = 0
        for other in self.hearers.row(station, t):
            busy = other.busy_until
            if busy > t:
                if other.receiving >= 0:
                    self.spoil(other, t)
                    other.receiving = NOTHING
                if busy < end:
                    other.busy_until = end
                if other.sending:
                    deaf += 1
                elif other.up:
                    collided += 1
                continue
            if other.contending:
                mac.freeze(other, t)
            elif other.slots > 0:
                mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s
            hearers.append(other)
        tx.hearers = hearers
        self.collided = collided
        self.deaf = deaf

    def start_addressed(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        nav = self.reserved(tx, end)
        hearers: list[Station] = []
        for other in self.hearers.row(station, t):
            if other.busy_until > t:
                self.clash(other, t, end)
                continue
            self.lock_on(other, s, t, end)
            if other.index != tx.to and other.idle_since < nav:
                other.idle_since = nav
            hearers.append(other)
        tx.hearers = hearers

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

    def lock_on(self, other: Station, s: i64, t: i64, end: i64) -> None:
        """An idle station begins to receive a frame, and its back-off stops."""
        if other.contending:
            self.mac.freeze(other, t)
        elif other.slots > 0:
            self.mac.count_down(other, t)
        other.busy_until = end
        other.receiving = s

    def write_clashes(self, station: Station, tx: Transmission, frame: Frame, t: i64) -> None:
        """The rows of stations in range that did not lock on to the frame: they were busy (or off: no row)."""
        heard: i64 = 0
        for other in self.hearers.row(station, t):
            if heard < len(tx.hearers) and tx.hearers[heard] is other:
                heard += 1
            elif other.up:
                self.write_loss(other, station, tx, frame, t, HALF_DUPLEX if other.sending else COLLISION)

    # ---- frames end

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)
        self.await_acknowledgement(station, t)

    def end_one_by_one(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        got: i64 = 0
        for other in tx.hearers:
            if other.receiving != s:
                self.missed(other, station, tx, frame, s, t)
                continue
            other.receiving = NOTHING
            self.understood(other)
            if self.losses is not None and self.losses.strike(station.index, other.index):
                self.miss(other, station, tx, frame, t, LOSS)
                continue
            if tx.to >= 0:
                if tx.to != other.index:
                    self.overhear(other, station, tx, t, FOR_ANOTHER)
                    continue
                if not self.accept(other, station, tx, t):
                    got += 1
                    self.overhear(other, station, tx, t, REPETITION)
                    continue
            got += 1
            other.listened(tx.start, t)
            if self.received(other, station, tx, frame, t):
                other.protocol.on_frame(frame, station.id)
        self.fingerprint.stamp(t, station.index, tx.serial, got)

    def missed(self, other: Station, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """A station that had locked on to the frame began to send, lost it to another frame, or went off."""
        if other.deafened == s:
            other.deafened = NOTHING
            self.recorder.lose(t, other.index, frame, tx.serial, station.index, tx.size, HALF_DUPLEX, 0)
        elif other.up:
            self.miss(other, station, tx, frame, t, COLLISION)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        for other in tx.hearers:
            if other.receiving != s:
                if other.deafened == s:
                    other.deafened = NOTHING
                elif other.up:
                    self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
                continue
            other.receiving = NOTHING
            self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
            self.understood(other)
            if other.index == tx.to and other.waiting:
                self.acknowledged(other)
