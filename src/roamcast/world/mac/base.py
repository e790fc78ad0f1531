"""Medium access: the rules that all MACs share, for the state that each station keeps.

They follow IEEE 802.11-1999, 9.2: carrier sense, a silence (DIFS; EIFS after a frame that could not be understood), and
a back-off in slots that freezes while the medium is busy. There are no busy and idle events. A station knows until when
it senses something (`busy_until`), and the slots that passed are counted when they are needed: when a frame starts, or
when access is requested. One attempt waits in the event queue at a time; it is pushed again if it comes up too early.

The file of each MAC (dcf.py, tinyos.py, ideal.py) has its timing and the two rules that differ: how a back-off begins,
and what follows a transmission.

Every frame may be longer by `overhead_bytes`, which a link layer or security adds, such as roamcast's authenticated
datagrams (`net.wire.costs`). Acknowledgements carry nothing to protect and do not get longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import i64

from roamcast.protocols.kit.interface import Frame
from roamcast.world.queue import ATTEMPT
from roamcast.world.specs import MacSpec, Timing

if TYPE_CHECKING:
    from roamcast.world.station import Station


class Mac:
    """Times in microseconds, sizes in bytes."""

    def __init__(self, spec: MacSpec, timing: Timing) -> None:
        self.contends = True  # whether stations share one medium, with collisions and acknowledgements
        self.slot: i64 = timing.slot_us
        self.sifs: i64 = timing.sifs_us
        self.ifs: i64 = timing.ifs_us
        self.eifs: i64 = timing.ifs_us
        self.window: i64 = timing.window
        self.window_max: i64 = timing.window_max
        self.turnaround: i64 = timing.turnaround_us
        self.preamble: i64 = timing.preamble_us
        self.header: i64 = timing.header_bytes + spec.overhead_bytes
        self.packet_min: i64 = timing.packet_min_bytes
        self.ack: i64 = timing.ack_bytes
        self.ack_airtime: i64 = timing.preamble_us + timing.ack_bytes * timing.ack_us_per_byte
        self.ps_per_byte: i64 = int(8e12 / spec.rate_bps)
        self.queue: i64 = spec.queue
        self.retries: i64 = spec.retries
        self.roles: list[str] = []  # what nodes are for, where a list of nodes says so
        self.weighed: i64 = -1  # the size of the last frame, …
        self.on_air: i64 = 0  # … its length with the header …
        self.lasts: i64 = 0  # … and its airtime

    def settle(self, stations: int) -> None:
        """There will be so many stations."""

    # ---- lengths

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

    # ---- rules that differ from MAC to MAC

    def begin_backoff(self, station: Station, now: i64) -> None:
        """A station begins to contend for the medium."""
        raise NotImplementedError

    def draw_backoff(self, station: Station) -> None:
        """After a transmission: draw the slots that must pass before the next one, whenever that comes."""
        station.ifs = self.ifs

    def relay(self, station: Station, frame: Frame, first: bool) -> None:
        """The frame that a station is about to queue passes on the one that it has just received."""

    def drop_relay(self, station: Station, id: int) -> None:
        """The station took that frame back."""

    def busy_share(self, station: Station) -> float:
        return 0.0

    def echo_us(self, station: Station, size: i64) -> i64:
        """How long neighbours need to pass a frame of this size on; 0 where relays have no order."""
        return 0

    # ---- rules of all MACs

    def contend(self, station: Station) -> None:
        """Contend for the medium, to send the head of the station's queue."""
        station.contending = True
        self.begin_backoff(station, station.events.now)
        self.request_access(station)

    def request_access(self, station: Station) -> None:
        """Attempt to send when access is due by what is known now. Earlier requests no longer count."""
        station.attempt += 1
        at = self.access(station)
        now = station.events.now
        station.events.push(at if at > now else now, ATTEMPT, station.index, 0, station.attempt)

    def access(self, station: Station) -> i64:
        """When the station may send if no other station sends before."""
        start = station.busy_until
        if start < station.idle_since:
            start = station.idle_since
        return start + station.ifs + station.slots * self.slot

    def count_from(self, station: Station, t: i64) -> None:
        """No slot before `t` counts, however silent it was."""
        if station.idle_since < t:
            station.idle_since = t

    def freeze(self, station: Station, t: i64) -> None:
        """The medium gets busy at `t` for a station that contends: its back-off stops, unless it is too late to sense
        that."""
        left = self.access(station) - t
        if left <= station.slots * self.slot and left <= self.turnaround:
            station.committed = True
        else:
            self.count_down(station, t)

    def count_down(self, station: Station, t: i64) -> None:
        """Count the slots that passed in silence before `t`."""
        start = station.busy_until
        if start < station.idle_since:
            start = station.idle_since
        idle = t - start - station.ifs
        if idle > 0:
            if idle >= station.slots * self.slot:
                station.slots = 0
            else:
                passed = idle // self.slot
                station.slots -= passed
                station.idle_since = start + passed * self.slot
