"""What a shared medium adds to the air: frames can be garbled, and frames for one neighbour are acknowledged.

By IEEE 802.11-1999, 9.2: the addressee of a frame acknowledges it after SIFS, whatever it senses; a sender that gets no
acknowledgement repeats the frame after a back-off from a window twice as large, up to `retries` times. Stations that
receive a frame for another station do not send until its acknowledgement must be over (the duration field, NAV).
"""

from __future__ import annotations

from mypy_extensions import i64

from roamcast.log.schema import FOR_ANOTHER, LOSS, NO_ACK, REPETITION
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.base import Air
from roamcast.world.air.transmission import Transmission
from roamcast.world.queue import ACKNOWLEDGE, END, TIMEOUT
from roamcast.world.station import Station


class AcknowledgedAir(Air):
    # ---- at receivers

    def spoil(self, other: Station, t: i64) -> None:
        """The frame that a station is receiving gets garbled. If its PLCP header has already arrived, the station will
        find an error at the end and wait for EIFS; if not, it only senses energy (9.2.3.4)."""
        tx = self.transmissions[other.receiving]
        tx.collisions += 1
        if t - tx.start >= self.mac.preamble:
            other.ifs = self.mac.eifs

    def understood(self, other: Station) -> None:
        """A frame without errors ends EIFS (9.2.3.4): a station that waited for EIFS now waits for DIFS."""
        if other.ifs != self.mac.ifs:
            other.ifs = self.mac.ifs
            if other.contending:
                self.mac.request_access(other)

    def reserved(self, tx: Transmission, end: i64) -> i64:
        """Until when the duration field keeps the medium for the acknowledgement; an acknowledgement has none."""
        return 0 if tx.frame is None else end + self.mac.sifs + self.mac.ack_airtime

    def arrive(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, dbm: float) -> i64:
        """A frame arrived intact at a radio: hand it up, unless it is for another node, a repetition, or lost by
        chance. Returns 1 if it reached a node that it was for."""
        if self.losses is not None and self.losses.strike(station.index, other.index):
            self.miss(other, station, tx, frame, t, LOSS)
            return 0
        if tx.to >= 0 and tx.to != other.index:
            self.overhear(other, station, tx, t, FOR_ANOTHER)
            return 0
        if tx.to >= 0 and not self.accept(other, station, tx, t):
            self.overhear(other, station, tx, t, REPETITION)
            return 1
        other.listened(tx.start, t)
        if self.received(other, station, tx, frame, t):
            other.heard_strength = dbm
            other.protocol.on_frame(frame, station.id)
        return 1

    def accept(self, other: Station, station: Station, tx: Transmission, t: i64) -> bool:
        """A frame reached its addressee, which will acknowledge it. Returns whether the frame is new to it."""
        self.events.push(t + self.mac.sifs, ACKNOWLEDGE, other.index, 0, station.index)
        if station.accepted == tx.number:  # the acknowledgement was lost
            return False
        station.accepted = tx.number
        return True

    def acknowledge(self, station: Station, to: i64, t: i64) -> None:
        airtime = self.mac.ack_airtime
        s = self.free.pop() if len(self.free) > 0 else self.one_more(station)
        tx = self.transmissions[s]
        tx.sender = station
        tx.frame = None
        tx.to = to
        tx.serial = 0
        tx.size = self.mac.ack
        tx.start = t
        tx.airtime = airtime
        tx.collisions = 0
        tx.deaf = 0
        station.tx_us += airtime
        self.rows.acknowledged(t, station.index, to, tx.size, airtime)
        self.start(station, tx, s, t)
        self.events.push(t + airtime, END, station.index, s, s)

    # ---- at the sender

    def await_acknowledgement(self, station: Station, t: i64) -> None:
        if station.up:
            station.waiting = True
            station.attempt += 1
            wait = self.mac.sifs + self.mac.ack_airtime + self.mac.slot
            self.events.push(t + wait, TIMEOUT, station.index, 0, station.attempt)

    def acknowledged(self, station: Station) -> None:
        station.waiting = False
        station.next_frame()
        self.mac.draw_backoff(station)
        if station.head is not None:
            self.mac.contend(station)

    def unacknowledged(self, station: Station, t: i64) -> None:
        station.waiting = False
        self.mac.count_from(station, t)
        station.tries += 1
        frame = station.head
        if station.tries > self.mac.retries and frame is not None:
            self.give_up(station, frame, t)
        else:
            station.window = min(2 * station.window, self.mac.window_max)
            self.mac.draw_backoff(station)
        if station.head is not None and not station.contending:
            self.mac.contend(station)

    def give_up(self, station: Station, frame: Frame, t: i64) -> None:
        to = station.head_to
        station.next_frame()
        self.mac.draw_backoff(station)
        self.recorder.lose(t, station.index, frame, 0, to, self.mac.bytes_on_air(frame.size), NO_ACK, 0)
        station.protocol.on_undelivered(frame, to)
