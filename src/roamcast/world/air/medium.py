"""What every kind of air is made of: the stations, which of them hear each other, and the rules for them."""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from roamcast.world.contacts.hearers import Hearers, PartedHearers, Row
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.faults import Faults, RandomLosses
from roamcast.world.mac.base import Mac
from roamcast.world.queue import EventQueue
from roamcast.world.radio.base import Radio
from roamcast.world.recorder import Recorder
from roamcast.world.station import Station

UNSENSED: Final = -1.0  # instead of the strength at a station that knows nothing of the frame


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
        self.hearers = Hearers(stations, motion) if faults.partition_until == 0 else parted(stations, motion, faults)
        self.mac = mac
        self.radio = radio
        self.recorder = recorder
        self.faults = faults
        self.losses: RandomLosses | None = RandomLosses(faults, len(stations), seed) if faults.lossy() else None
        self.known: dict[i64, tuple[Row, vec[float]]] = {}  # strengths at hearers, where nothing moves

    def strengths(self, station: Station, row: Row, t: i64) -> vec[float]:
        """The strength of a frame that this station starts now, at each of its hearers: a copy for the caller. Where
        nothing moves, strengths are worked out once; rows stay the same objects as long as no link changes."""
        if self.motion.next < inf or self.radio.per_frame:
            return self.strengths_now(station, row, t)
        i = station.index
        known = self.known.get(i)
        if known is None or known[0] is not row:
            known = (row, self.strengths_now(station, row, t))
            self.known[i] = known
        return known[1][:]

    def strengths_now(self, station: Station, row: Row, t: i64) -> vec[float]:
        i = station.index
        numbers = self.motion.around(i, float(t) * 1e-6)
        if len(numbers) != len(row):  # a partition separates some of them
            numbers = vec[i32]()
            for other in row:
                numbers = append(numbers, i32(other.index))
        strengths = self.motion.squares(i, numbers, float(t) * 1e-6)
        r = self.radio.frame_range(i)
        self.radio.strengths(i, numbers, r * r, strengths)
        return strengths


def parted(stations: list[Station], motion: Neighbourhood, faults: Faults) -> Hearers:
    return PartedHearers(stations, motion, faults.partition_from, faults.partition_until, faults.wall_m)
