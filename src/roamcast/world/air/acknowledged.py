"""What a shared medium adds to the air: frames can be lost to each other, and frames for one neighbour are
acknowledged.

By IEEE 802.11-1999, 9.2: the addressee of a frame acknowledges it after SIFS, whatever it senses; a sender that gets no
acknowledgement repeats the frame after a back-off from a window twice as large, up to `retries` times. Stations that
receive a frame for another station do not send until its acknowledgement must be over (the duration field, NAV).
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from roamcast.log.schema import (
    ACKNOWLEDGEMENT,
    COLLISION,
    FOR_ANOTHER,
    HALF_DUPLEX,
    LOSS,
    NO_ACK,
    REPETITION,
)
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.base import Air
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.queue import ACKNOWLEDGE, END, TIMEOUT
from roamcast.world.station import Station

# what becomes of a frame at a hearer
INTACT: Final = 0
COLLIDED: Final = 1
DEAF: Final = 2  # the hearer sent
UNHEARD: Final = 3  # the hearer was not receiving it, or was off


class AcknowledgedAir(Air):
    def __init__(self, medium: Medium) -> None:
        super().__init__(medium)
        # receivers that lose the transmission that starts or ends:
        self.collided: i64 = 0  # to another frame
        self.deaf: i64 = 0  # because they send
        self.shared_listening = False  # whether listening is counted with each frame, not by each station

    # ---- frames end

    def leave(self, other: Station, tx: Transmission, s: i64, k: i64) -> i64:
        """A frame ends at the k-th of its hearers. Returns what became of it."""
        raise NotImplementedError

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        if not self.at_once:
            self.end_one_by_one(station, tx, frame, s, t)
            return
        got = self.settle(tx, s, t)
        self.count_lost()
        self.hand_out(station, tx, frame, got)
        self.fingerprint.stamp(t, station.index, tx.serial, got)

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        if self.at_once:
            intact = self.settle(tx, s, t)
            self.count_lost()
            got = self.leave_only(tx.to, intact)
            self.tally.overheard += intact - got
            self.end_at_addressee(station, tx, frame, got, t)
        else:
            self.end_one_by_one(station, tx, frame, s, t)
        self.await_acknowledgement(station, t)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        for k in range(tx.visits):
            other = self.stations[tx.hearers[k]]
            fate = self.leave(other, tx, s, k)
            if fate <= COLLIDED:
                self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
            if fate == INTACT:
                self.understood(other)
                if other.index == tx.to and other.waiting:
                    self.acknowledged(other)

    def settle(self, tx: Transmission, s: i64, t: i64) -> i64:
        """A frame ends at all its hearers: put the numbers of those that received it into `receivers`, and count the
        others. Returns how many received it."""
        receivers = self.receivers
        heard = self.heard
        stations = self.stations
        hearers = tx.hearers
        ifs = self.mac.ifs
        shared = self.shared_listening
        got: i64 = 0
        collided: i64 = 0
        deaf: i64 = 0
        for k in range(tx.visits):
            j = hearers[k]
            other = stations[j]
            fate = self.leave(other, tx, s, k)
            if fate == UNHEARD:
                continue
            if fate == DEAF:
                deaf += 1
                continue
            if not shared:
                other.listened(tx.start, t)
            if fate == COLLIDED:
                collided += 1
                continue
            if other.ifs != ifs:
                self.understood(other)
            receivers[got] = j
            heard[got] = tx.strengths[k]
            got += 1
        if shared:
            self.energy.shared_rx_us += (got + collided) * tx.airtime
        self.collided = collided
        self.deaf = deaf
        return got

    def count_lost(self) -> None:
        if self.collided + self.deaf > 0:
            self.tally.losses[COLLISION] += self.collided
            self.tally.losses[HALF_DUPLEX] += self.deaf

    def end_at_addressee(self, station: Station, tx: Transmission, frame: Frame, got: i64, t: i64) -> None:
        """A frame for one neighbour ends; `got` is 1 if the neighbour received it, and is the first of `receivers`."""
        if got > 0 and self.accept(self.stations[tx.to], station, tx, t):
            self.hand_out(station, tx, frame, got)
        self.fingerprint.stamp(t, station.index, tx.serial, got)

    def end_one_by_one(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        got: i64 = 0
        for k in range(tx.visits):
            other = self.stations[tx.hearers[k]]
            fate = self.leave(other, tx, s, k)
            if fate == INTACT:
                self.understood(other)
                got += self.arrive(other, station, tx, frame, t, tx.strengths[k])
            elif fate == COLLIDED:
                self.miss(other, station, tx, frame, t, COLLISION)
            elif fate == DEAF:
                self.recorder.lose(t, other.index, frame, tx.serial, station.index, tx.size, HALF_DUPLEX, 0)
        self.fingerprint.stamp(t, station.index, tx.serial, got)

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
        if tx.frame is None:
            return 0
        return end + self.mac.sifs + self.mac.ack_airtime

    def arrive(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, strength: float) -> i64:
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
        self.hand_to(other, station, tx, frame, t, strength)
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
        s = self.place_for(station)
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
