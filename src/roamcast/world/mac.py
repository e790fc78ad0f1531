"""Medium access: the timing constants of three MACs. The rules that use them are in `station.py` and `kernel.py`.

dcf     IEEE 802.11 distributed coordination function, DSSS PHY. Slot 20 us, SIFS 10 us, CWmin 31, CWmax 1023: IEEE
        Std 802.11-1999, 15.3.3 (table 59); DIFS = SIFS + 2 slots: 9.2.10; EIFS = SIFS + ACK at 1 Mbit/s + DIFS: 9.2.10;
        long PLCP preamble and header 144 + 48 bits at 1 Mbit/s: 15.2.2; a data frame has 24 bytes of header and 4 of
        FCS: 7.2.2; LLC and SNAP add 8: IEEE 802.2. An acknowledgement has 14 bytes: 7.2.1.3.
tinyos  CSMA of the TinyOS 1.x radio stack for the CC1000 (MICA2): a back-off of 1 to 32 byte times before every
        packet, whose counting stops while a packet comes in; packets are 36 bytes, behind 8 of preamble and 2 of
        synchronisation; 38.4 kbaud with Manchester coding are 19.2 kbit/s. The chip needs about a byte time from the
        decision to send until others can sense it (`turnaround`), and that is when two motes collide. An
        acknowledgement is ours: TinyOS has none that names its sender.
ideal   no contention, no collision, no limit to the queue: what a protocol could do if the air were free. A station
        still sends one frame after the other.

Every frame may be longer by `overhead_bytes`: a link layer's own, or security's, such as that of roamcast's
authenticated datagrams (`net.wire.costs`). Acknowledgements carry nothing to protect and stay as they are.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

IDEAL: Final = 0
DCF: Final = 1
TINYOS: Final = 2


@final
class Mac:
    """Times in microseconds, sizes in bytes."""

    def __init__(
        self,
        kind: i64,
        slot: i64,
        sifs: i64,
        ifs: i64,
        window: i64,
        window_max: i64,
        turnaround: i64,
        preamble: i64,
        header: i64,
        packet_min: i64,
        ack: i64,
        rate_bps: float,
        queue: i64,
        retries: i64,
    ) -> None:
        self.kind = kind
        self.slot = slot
        self.sifs = sifs
        self.ifs = ifs
        self.window = window
        self.window_max = window_max
        self.turnaround = turnaround
        self.preamble = preamble
        self.header = header
        self.packet_min = packet_min
        self.ack = ack
        self.ps_per_byte: i64 = int(8e12 / rate_bps)
        # 802.11 acknowledges at its basic rate, a mote at the only one it has
        us_per_byte: i64 = 8 if kind == DCF else round(8e6 / rate_bps)
        self.ack_airtime: i64 = preamble + ack * us_per_byte
        self.eifs: i64 = sifs + self.ack_airtime + ifs if kind == DCF else ifs
        self.queue = queue
        self.retries = retries
        self.weighed: i64 = -1
        self.on_air: i64 = 0
        self.lasts: i64 = 0

    def weigh(self, size: i64) -> None:
        """Set `on_air` and `lasts` for a frame of `size` bytes: most frames are as long as the one before."""
        self.weighed = size
        self.on_air = self.bytes_on_air(size)
        self.lasts = self.airtime(self.on_air)

    def bytes_on_air(self, size: i64) -> i64:
        """The length of a frame of `size` bytes with its MAC header."""
        total = size + self.header
        return total if total > self.packet_min else self.packet_min

    def airtime(self, total: i64) -> i64:
        """How long a frame of `total` bytes, header included, is on the air."""
        return self.preamble + (total * self.ps_per_byte + 999_999) // 1_000_000


def build(name: str, rate_bps: float, queue: int, retries: int, overhead_bytes: int = 0) -> Mac:
    if name == "dcf":
        header = 36 + overhead_bytes
        return Mac(DCF, 20, 10, 50, 32, 1024, 0, 192, header, 0, 14, rate_bps, queue, retries)
    if name == "tinyos":
        byte = 8e6 / rate_bps
        slot = round(byte)
        header = 7 + overhead_bytes
        return Mac(TINYOS, slot, 4 * slot, 0, 32, 32, slot, 10 * slot, header, 36, 7, rate_bps, queue, retries)
    return Mac(IDEAL, 0, 0, 0, 1, 1, 0, 0, 36 + overhead_bytes, 0, 14, rate_bps, queue, retries)
