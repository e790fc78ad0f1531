"""No contention, no collision, no limit to the queue: what a protocol could do if the medium were free.

A station still sends one frame after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from roamcast.world.mac.base import Mac
from roamcast.world.specs import MacSpec, Timing

if TYPE_CHECKING:
    from roamcast.world.station import Station

NO_LIMIT: Final = 1 << 60
NO_WAITING: Final = Timing(
    slot_us=0,
    sifs_us=0,
    ifs_us=0,
    window=1,
    window_max=1,
    turnaround_us=0,
    preamble_us=0,
    header_bytes=36,
    packet_min_bytes=0,
    ack_bytes=14,
    ack_us_per_byte=0,
)


@final
class Ideal(Mac):
    def __init__(self, spec: MacSpec) -> None:
        super().__init__(spec, NO_WAITING)
        self.contends = False
        self.queue = NO_LIMIT

    def begin_backoff(self, station: Station, now: i64) -> None:
        station.slots = 0
