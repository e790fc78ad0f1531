"""CSMA of the TinyOS 1.x radio stack for the CC1000 (MICA2).

A back-off of 1 to 32 byte times before every packet, whose counting stops while a packet comes in. Packets have 36
bytes, behind 8 of preamble and 2 of synchronisation; 38.4 kbaud with Manchester coding are 19.2 kbit/s. The chip needs
about a byte time from the decision to send until others can sense it (`turnaround_us`), and that is when two motes
collide. Acknowledgements are our addition, at the only rate that a mote has: those of TinyOS do not name their sender.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from mypy_extensions import i64

from roamcast.world.mac.base import Mac
from roamcast.world.specs import MacSpec, Timing

if TYPE_CHECKING:
    from roamcast.world.station import Station


def timing(rate_bps: float) -> Timing:
    byte_us = round(8e6 / rate_bps)
    return Timing(
        slot_us=byte_us,
        sifs_us=4 * byte_us,
        ifs_us=0,
        window=32,
        window_max=32,
        turnaround_us=byte_us,
        preamble_us=10 * byte_us,
        header_bytes=7,
        packet_min_bytes=36,
        ack_bytes=7,
        ack_us_per_byte=byte_us,
    )


@final
class TinyOs(Mac):
    def __init__(self, spec: MacSpec) -> None:
        super().__init__(spec, timing(spec.rate_bps))

    def begin_backoff(self, station: Station, now: i64) -> None:
        station.slots = 1 + station.mac_rng.randrange(self.window)
        self.count_from(station, now)
