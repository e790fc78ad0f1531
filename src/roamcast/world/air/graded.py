"""Air on a graded radio: a frame has a strength at each receiver, interference adds up, and the stronger frame may
survive (radio/base.py has the rule)."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.log.schema import COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.acknowledged import COLLIDED, DEAF, INTACT, UNHEARD, AcknowledgedAir
from roamcast.world.air.medium import UNSENSED, Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.station import NOTHING, Station


@final
class GradedAir(AcknowledgedAir):
    def __init__(self, medium: Medium, metered: bool) -> None:
        super().__init__(medium)
        self.shared_listening = not metered  # right, because frames that a station listens to never overlap
        self.threshold = medium.radio.threshold
        self.capture = medium.radio.capture

    # ---- frames start

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        station.occupy(t + tx.airtime)
        self.medium.aim(station, tx, t)
        self.reach(tx, s, t)
        frame = tx.frame
        if frame is not None:
            self.count_lost()
            if self.rows.frames:
                self.write_clashes(station, tx, frame, s, t)

    def reach(self, tx: Transmission, s: i64, t: i64) -> None:
        """One loop, because calls for each receiver cost too much. Where a frame ends at all hearers at once, those
        that lock on to it are moved to the front, because less happens at the others then; rows need all in order."""
        end = t + tx.airtime
        nav: i64 = self.reserved(tx, end) if tx.to >= 0 else 0
        strengths = tx.strengths
        hearers = tx.hearers
        threshold = self.threshold
        capture = self.capture
        mac = self.mac
        stations = self.stations
        self.collided = 0
        self.deaf = 0
        locked: i64 = 0
        for k in range(i64(len(hearers))):
            j = hearers[k]
            other = stations[j]
            strength = strengths[k]
            if strength < threshold or not other.up:
                strengths[k] = UNSENSED
                continue
            if other.receiving >= 0 and not other.garbled:
                self.disturb(other, strength, t)
            if strength >= 1.0:
                if other.sending:
                    self.deaf += 1
                elif other.receiving < 0 and strength >= capture * other.energy:
                    other.receiving = s
                    other.strength = strength
                    other.garbled = False
                    if self.at_once:
                        hearers[k], strengths[k] = hearers[locked], strengths[locked]
                        hearers[locked], strengths[locked] = j, strength
                        locked += 1
                else:
                    self.collided += 1
            other.energy += strength
            other.signals += 1
            if other.busy_until <= t:
                if other.contending:
                    mac.freeze(other, t)
                elif other.slots > 0:
                    mac.count_down(other, t)
            if other.busy_until < end:
                other.busy_until = end
            if other.idle_since < nav and other.index != tx.to:
                other.idle_since = nav
        if self.at_once:
            tx.visits = locked

    def disturb(self, other: Station, strength: float, t: i64) -> None:
        """A signal of this strength reaches a station that is receiving a frame, and may garble it."""
        if other.strength < self.capture * (other.energy - other.strength + strength):
            other.garbled = True
            self.spoil(other, t)

    def write_clashes(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """The rows of stations that could decode the frame and did not lock on to it."""
        for k, j in enumerate(tx.hearers):
            other = self.stations[j]
            if tx.strengths[k] >= 1.0 and other.receiving != s:
                self.write_loss(other, station, tx, frame, t, HALF_DUPLEX if other.sending else COLLISION)

    # ---- frames end

    def settle(self, tx: Transmission, s: i64, t: i64) -> i64:
        self.fade_out(tx)
        return super().settle(tx, s, t)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        self.fade_out(tx)
        super().end_acknowledgement(station, tx, s, t)

    def fade_out(self, tx: Transmission) -> None:
        """A frame ends at those that did not lock on to it."""
        strengths = tx.strengths
        stations = self.stations
        hearers = tx.hearers
        for k in range(tx.visits, i64(len(hearers))):
            strength = strengths[k]
            if strength >= 0.0:  # not UNSENSED
                fade(stations[hearers[k]], strength)

    def leave(self, other: Station, tx: Transmission, s: i64, k: i64) -> i64:
        strength = tx.strengths[k]
        if strength < 0.0:  # UNSENSED
            return UNHEARD
        fade(other, strength)
        if other.receiving == s:
            other.receiving = NOTHING
            return COLLIDED if other.garbled else INTACT
        if other.deafened == s:
            other.deafened = NOTHING
            return DEAF
        return UNHEARD


def fade(station: Station, strength: float) -> None:
    """A signal ends. The sum of signals starts at zero again when it is silent, so that rounding errors do not add
    up."""
    if station.signals > 1:
        station.signals -= 1
        station.energy -= strength
    else:
        station.signals = 0
        station.energy = 0.0
