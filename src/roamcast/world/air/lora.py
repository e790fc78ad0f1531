"""Air of LoRa radios: each frame stands against each other one that overlaps with it at a receiver (Bor et al. 2016).

Of two such frames the stronger one survives if it is stronger by the capture ratio; otherwise both are lost. They do
not harm each other if the earlier one ends while enough of the later one's preamble is left. Strengths do not add up. A
radio that sends hears nothing.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import COLLIDED, DEAF, INTACT, UNHEARD, AcknowledgedAir
from roamcast.world.air.medium import UNSENSED, Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.mac.lora import Lora
from roamcast.world.published import HAS, PublishedEvent
from roamcast.world.station import Station

NUMBER_BITS: Final = 20


@final
class LoraAir(AcknowledgedAir):
    def __init__(self, medium: Medium, mac: Lora) -> None:
        super().__init__(medium)
        self.lora = mac
        self.at_once = False  # hops are counted one by one
        stations = len(medium.stations)
        self.arriving: list[list[i64]] = [[] for _ in range(stations)]  # transmission << 20 | place among its hearers
        self.hops: dict[int, dict[int, int]] = {}  # event -> node -> hops on its way there
        self.all_hops = 0

    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        end = t + tx.airtime
        self.lora.transmits(station, tx.frame, t, end)
        self.deafen(station)
        station.occupy(end)
        self.medium.aim(station, tx, t)
        tx.fates = vec[i64]()
        threshold = self.medium.radio.threshold
        for k, j in enumerate(tx.hearers):
            other = self.stations[j]
            strength = tx.strengths[k]
            if strength < threshold or not other.up:
                tx.strengths[k] = UNSENSED
                tx.fates = append(tx.fates, UNHEARD)
                continue
            tx.fates = append(tx.fates, self.meet(other, tx, strength, t))
            self.arriving[other.index].append(s << NUMBER_BITS | k)
            self.lora.sensed(other.index, t, other.busy_until, end)
            if other.busy_until < end:
                other.busy_until = end

    def deafen(self, station: Station) -> None:
        """A station that sends loses all that it was hearing."""
        for arrival in self.arriving[station.index]:
            fates = self.transmissions[arrival >> NUMBER_BITS].fates
            k = arrival & ((1 << NUMBER_BITS) - 1)
            if fates[k] != UNHEARD:
                fates[k] = DEAF

    def meet(self, other: Station, tx: Transmission, strength: float, t: i64) -> i64:
        """A frame reaches a station. Returns what becomes of it, by what is known now."""
        if strength < 1.0:  # sensed, and too weak to be decoded
            return UNHEARD
        fate: i64 = DEAF if other.sending else INTACT
        capture = self.medium.radio.capture
        for arrival in self.arriving[other.index]:
            earlier = self.transmissions[arrival >> NUMBER_BITS]
            k = arrival & ((1 << NUMBER_BITS) - 1)
            if earlier.fates[k] == UNHEARD or earlier.start + earlier.airtime - t <= self.lora.grace:
                continue
            if earlier.strengths[k] < capture * strength and earlier.fates[k] == INTACT:
                earlier.fates[k] = COLLIDED
            if strength < capture * earlier.strengths[k] and fate == INTACT:
                fate = COLLIDED
        return fate

    # ---- frames end

    def leave(self, other: Station, tx: Transmission, s: i64, k: i64) -> i64:
        """A hearer that was off meanwhile knows nothing of the frame."""
        if tx.strengths[k] < 0.0:  # UNSENSED
            return UNHEARD
        self.arriving[other.index].remove(s << NUMBER_BITS | k)
        return UNHEARD if not other.up or other.down_since > tx.start else tx.fates[k]

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
