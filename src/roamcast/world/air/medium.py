"""What every kind of air is made of: the stations, which of them hear each other, and the rules for them."""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.air.transmission import Transmission
from roamcast.world.contacts.hearers import Hearers, PartedHearers
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.contacts.sought import SoughtContacts
from roamcast.world.faults import Faults, RandomLosses
from roamcast.world.mac.base import Mac
from roamcast.world.queue import EventQueue
from roamcast.world.radio.base import Radio
from roamcast.world.recorder import Recorder
from roamcast.world.station import Station

UNSENSED: Final = -1.0  # instead of the strength at a station that knows nothing of the frame
MARGIN: Final = 1e-6  # of the distance up to which a frame is heard: far above rounding; its strength decides


@final
class Medium:
    def __init__(
        self,
        events: EventQueue,
        stations: list[Station],
        motion: Neighbourhood,
        mac: Mac,
        radio: Radio,
        recorder: Recorder,
        faults: Faults,
        seed: int,
    ) -> None:
        self.events = events
        self.stations = stations
        self.motion = motion
        self.parted = faults.partition_until != 0
        self.hearers = hearers(motion, faults)
        self.sought = motion if isinstance(motion, SoughtContacts) and not self.parted else None
        self.mac = mac
        self.radio = radio
        self.recorder = recorder
        self.faults = faults
        self.losses: RandomLosses | None = RandomLosses(faults, len(stations), seed) if faults.lossy() else None
        self.known: dict[i64, vec[float]] = {}  # strengths at a station's hearers, where nothing moves

    def aim(self, station: Station, tx: Transmission, t: i64) -> None:
        """Set the hearers of a frame that this station starts now, and its strength at each of them."""
        sought = self.sought
        if sought is None:
            tx.hearers = self.hearers.row(station.index, t)
            tx.strengths = self.strengths(station.index, tx.hearers, t)
        else:
            self.seek(sought, station.index, tx, t)
        tx.visits = len(tx.hearers)

    def seek(self, sought: SoughtContacts, i: i64, tx: Transmission, t: i64) -> None:
        """The same where contacts are sought: only those that sense this very frame."""
        now = float(t) * 1e-6
        if now >= sought.next:
            sought.advance(now)
        r = self.radio.frame_range(i)
        far = sought.reaches[i]
        if self.radio.per_frame:
            far = min(far, (1.0 + MARGIN) * self.radio.sensed_up_to(r))
        count = sought.measure(i, now, far)
        tx.hearers = sought.in_reach[:count]
        tx.strengths = sought.squares_in_reach[:count]
        self.radio.strengths(i, tx.hearers, r * r, tx.strengths)

    def strengths(self, i: i64, row: vec[i64], t: i64) -> vec[float]:
        """The strength of a frame that station i starts now, at each of its hearers: a copy for the caller. Where
        nothing moves, and so no row changes, strengths are worked out once."""
        if self.motion.next < inf or self.radio.per_frame or self.parted:
            return self.strengths_now(i, row, t)
        known = self.known.get(i)
        if known is None:
            known = self.strengths_now(i, row, t)
            self.known[i] = known
        return known[:]

    def strengths_now(self, i: i64, row: vec[i64], t: i64) -> vec[float]:
        strengths = self.motion.squares(i, row, float(t) * 1e-6)
        r = self.radio.frame_range(i)
        self.radio.strengths(i, row, r * r, strengths)
        return strengths


def hearers(motion: Neighbourhood, faults: Faults) -> Hearers:
    if faults.partition_until != 0:
        return PartedHearers(motion, faults.partition_from, faults.partition_until, faults.wall_m)
    return Hearers(motion)
