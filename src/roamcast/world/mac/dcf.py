"""IEEE 802.11 distributed coordination function on the DSSS PHY.

Slot 20 us, SIFS 10 us, CWmin 31, CWmax 1023: IEEE Std 802.11-1999, 15.3.3 (table 59); DIFS = SIFS + 2 slots: 9.2.10;
EIFS = SIFS + ACK at 1 Mbit/s + DIFS: 9.2.10; long PLCP preamble and header 144 + 48 bits at 1 Mbit/s: 15.2.2; a data
frame has 24 bytes of header and 4 of FCS: 7.2.2; LLC and SNAP add 8: IEEE 802.2. An acknowledgement has 14 bytes
(7.2.1.3) and goes at the basic rate of 1 Mbit/s, whatever the rate of data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from roamcast.world.mac.base import Mac
from roamcast.world.specs import MacSpec, Timing

if TYPE_CHECKING:
    from roamcast.world.station import Station

DSSS: Final = Timing(
    slot_us=20,
    sifs_us=10,
    ifs_us=50,
    window=32,
    window_max=1024,
    turnaround_us=0,
    preamble_us=192,
    header_bytes=36,
    packet_min_bytes=0,
    ack_bytes=14,
    ack_us_per_byte=8,
)


@final
class Dcf(Mac):
    def __init__(self, spec: MacSpec) -> None:
        super().__init__(spec, DSSS)
        self.eifs = self.sifs + self.ack_airtime + self.ifs

    def begin_backoff(self, station: Station, now: i64) -> None:
        """A station may send at once if the medium has been idle for long enough and no back-off is left over."""
        if station.slots > 0:
            self.count_down(station, now)
        elif station.busy_until > now or station.idle_since > now:
            station.slots = station.mac_rng.randrange(station.window)

    def draw_backoff(self, station: Station) -> None:
        station.ifs = self.ifs
        station.slots = station.mac_rng.randrange(station.window)
