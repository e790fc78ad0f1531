"""Air of LoRa radios: each frame stands against each other one that overlaps with it at a receiver (Bor et al. 2016).

Of two such frames the stronger one survives if it is stronger by the capture ratio; otherwise both are lost. They do
not harm each other if the earlier one ends while enough of the later one's preamble is left. Strengths do not add up. A
radio that sends hears nothing. Where no node moves, strengths are worked out once.
"""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from roamcast.log.schema import ACKNOWLEDGEMENT, COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import AcknowledgedAir
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.contacts.hearers import Row
from roamcast.world.mac.lora import Lora
from roamcast.world.published import HAS, PublishedEvent
from roamcast.world.station import Station

# what becomes of a frame at a hearer
INTACT: Final = 0
COLLIDED: Final = 1
DEAF: Final = 2  # the hearer sent
WEAK: Final = 3  # sensed, and too weak to be decoded
NUMBER_BITS: Final = 20


@final
class LoraAir(AcknowledgedAir):
    def __init__(self, medium: Medium, mac: Lora) -> None:
        super().__init__(medium)
        self.lora = mac
        stations = len(medium.stations)
        self.arriving: list[list[i64]] = [[] for _ in range(stations)]  # transmission << 20 | place among its hearers
        self.hops: dict[int, dict[int, int]] = {}  # event -> node -> hops on its way there
        self.all_hops = 0
        self.known_rows: list[Row | None] = [None] * stations
        self.known_strengths: list[vec[float]] = [vec[float]() for _ in range(stations)]

    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        end = t + tx.airtime
        self.lora.transmits(station, tx.frame, t, end)
        self.deafen(station)
        station.occupy(end)
        row = self.hearers.row(station, t)
        strengths = self.strengths(station, row, t)
        threshold = self.medium.radio.threshold
        hearers: list[Station] = []
        heard = vec[float]()
        tx.fates = vec[i64]()
        k: i64 = -1
        for other in row:
            k += 1
            strength = strengths[k]
            if strength < threshold or not other.up:
                continue
            fate = self.meet(other, tx, strength, t)
            self.arriving[other.index].append(s << NUMBER_BITS | i64(len(hearers)))
            hearers.append(other)
            heard = append(heard, strength)
            tx.fates = append(tx.fates, fate)
            self.lora.sensed(other.index, t, other.busy_until, end)
            if other.busy_until < end:
                other.busy_until = end
        tx.hearers = hearers
        tx.strengths = heard

    def strengths(self, station: Station, row: Row, t: i64) -> vec[float]:
        """At each hearer. Rows stay the same objects as long as no link changes."""
        if self.medium.motion.next < inf:
            return self.medium.strengths(station, row, t)
        i = station.index
        if self.known_rows[i] is not row:
            self.known_rows[i] = row
            self.known_strengths[i] = self.medium.strengths(station, row, t)
        return self.known_strengths[i]

    def deafen(self, station: Station) -> None:
        """A station that sends loses all that it was hearing."""
        for arrival in self.arriving[station.index]:
            fates = self.transmissions[arrival >> NUMBER_BITS].fates
            k = arrival & ((1 << NUMBER_BITS) - 1)
            if fates[k] != WEAK:
                fates[k] = DEAF

    def meet(self, other: Station, tx: Transmission, strength: float, t: i64) -> i64:
        """A frame reaches a station. Returns what becomes of it, by what is known now."""
        if strength < 1.0:
            return WEAK
        fate: i64 = DEAF if other.sending else INTACT
        capture = self.medium.radio.capture
        for arrival in self.arriving[other.index]:
            earlier = self.transmissions[arrival >> NUMBER_BITS]
            k = arrival & ((1 << NUMBER_BITS) - 1)
            if earlier.fates[k] == WEAK or earlier.start + earlier.airtime - t <= self.lora.grace:
                continue
            if earlier.strengths[k] < capture * strength and earlier.fates[k] == INTACT:
                earlier.fates[k] = COLLIDED
            if strength < capture * earlier.strengths[k] and fate == INTACT:
                fate = COLLIDED
        return fate

    # ---- frames end

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        self.end_one_by_one(station, tx, frame, s, t)
        self.await_acknowledgement(station, t)

    def end_one_by_one(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        got: i64 = 0
        k: i64 = -1
        radio = self.medium.radio
        for other in tx.hearers:
            k += 1
            fate = self.leave(other, tx, s, k)
            if fate == WEAK:
                continue
            if fate == DEAF:
                self.recorder.lose(t, other.index, frame, tx.serial, station.index, tx.size, HALF_DUPLEX, 0)
            elif fate == COLLIDED:
                self.miss(other, station, tx, frame, t, COLLISION)
            else:
                got += self.arrive(other, station, tx, frame, t, radio.dbm(tx.strengths[k]))
        self.fingerprint.stamp(t, station.index, tx.serial, got)

    def received(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64) -> bool:
        for several in tx.events:
            self.count_hops(several, other, station)
        event = tx.event
        if event is not None:
            self.count_hops(event, other, station)
        return super().received(other, station, tx, frame, t)

    def count_hops(self, event: PublishedEvent, other: Station, station: Station) -> None:
        """How far an event has come when it is new to a node."""
        if event.flags[other.index] & HAS == 0:
            came = self.hops.get(event.id)
            if came is None:
                came = {}
                self.hops[event.id] = came
            hops = came.get(station.id, 0) + 1
            came[other.id] = hops
            self.all_hops += hops

    def leave(self, other: Station, tx: Transmission, s: i64, k: i64) -> i64:
        """A frame ends at a hearer. Returns what became of it; a hearer that was off meanwhile knows nothing of it."""
        self.arriving[other.index].remove(s << NUMBER_BITS | k)
        if not other.up or other.down_since > tx.start:
            return WEAK
        return tx.fates[k]

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        k: i64 = -1
        for other in tx.hearers:
            k += 1
            fate = self.leave(other, tx, s, k)
            if fate in (WEAK, DEAF):
                continue
            self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
            if fate == INTACT and other.index == tx.to and other.waiting:
                self.acknowledged(other)
