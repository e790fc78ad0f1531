"""Listen before talk, as LoRa meshes do it (Meshtastic's firmware, RadioLibInterface).

Before every frame a node waits for a random number of slots below 2^CW. CW is between 2 and 8: for a frame of its own
by the share of time that the channel was busy lately, for a relay by the signal-to-noise ratio with which it heard the
frame (-20 dB: 2, +15 dB: 8), so that the farthest relays go first. A node that relays before the others, a router,
draws below 2 CW. The wait is not frozen while others send: if the channel is busy when it ends, the node draws again.
Activity that began less than a slot ago is not noticed.

A sender that has used its share of an hour (`duty_cycle`) waits until an hour after its earlier frames, and the log
says so. A frame has the 16 bytes of header of such meshes.

Acknowledgements of frames for one neighbour are our addition: a header without content, a slot after the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.kit.interface import Frame, reason
from roamcast.world.lora import airtime_us, grace_us, noise_dbm, slot_us
from roamcast.world.mac.base import Mac
from roamcast.world.specs import MacSpec, Timing

if TYPE_CHECKING:
    from roamcast.world.station import Station

DUTY_CYCLE: Final = reason("delay", "duty cycle", "the share of an hour is used up; the next frame waits {value} us")
HEADER_BYTES: Final = 16
MOST_BYTES: Final = 255
"""In one LoRa frame. A longer one counts as several, one right after the other."""
HOUR_US: Final = 3_600_000_000
MINUTE_US: Final = 60_000_000
WEAKEST_DB: Final = -20.0  # signal-to-noise ratios at both ends of the scale
STRONGEST_DB: Final = 15.0
ECHO_WINDOW: Final = 1 << 5  # slots that a relay may need: the window in the middle between 2^2 and 2^8


def timing(spec: MacSpec) -> Timing:
    lora = spec.lora
    return Timing(
        slot_us=slot_us(lora),
        sifs_us=slot_us(lora),
        ifs_us=0,
        window=1 << lora.window_min,
        window_max=1 << lora.window_max,
        turnaround_us=0,
        preamble_us=0,
        header_bytes=HEADER_BYTES,
        packet_min_bytes=0,
        ack_bytes=HEADER_BYTES,
        ack_us_per_byte=0,
    )


@final
class Lora(Mac):
    """The state of each station that only this MAC needs is here, by its number."""

    def __init__(self, spec: MacSpec) -> None:
        super().__init__(spec, timing(spec))
        lora = spec.lora
        self.lora = lora
        self.roles = list(lora.roles)
        self.ack_airtime = airtime_us(lora, HEADER_BYTES)
        self.grace: i64 = grace_us(lora)
        self.noise_dbm: float = noise_dbm(lora)
        self.window_min: i64 = lora.window_min
        self.window_span: i64 = lora.window_max - lora.window_min
        self.share_us: i64 = int(lora.duty_cycle * HOUR_US)
        self.limited: bool = lora.duty_cycle < 1.0
        self.airtimes: dict[i64, i64] = {}
        self.settle(0)

    def settle(self, stations: int) -> None:
        self.due = vec[i64]([0] * stations)  # when the wait of each station ends
        self.since = vec[i64]([0] * stations)  # since when it senses something
        self.minute = vec[i64]([0] * stations)  # the minute for which …
        self.busy = vec[i64]([0] * stations)  # … the time is counted in which it sensed something, …
        self.busy_before = vec[i64]([0] * stations)  # … and that of the minute before
        self.relays: list[dict[int, int]] = [{} for _ in range(stations)]  # frames to be relayed -> their windows
        self.sent: list[list[tuple[int, int]]] = [[] for _ in range(stations)]  # (end, airtime) in the last hour

    # ---- lengths

    def airtime(self, total: i64) -> i64:
        known = self.airtimes.get(total)
        if known is None:
            known = airtime_us(self.lora, total % MOST_BYTES or MOST_BYTES)
            known += (total - 1) // MOST_BYTES * airtime_us(self.lora, MOST_BYTES)
            self.airtimes[total] = known
        return known

    def busy_share(self, station: Station) -> float:
        return self.utilisation(station.index, station.events.now)

    def echo_us(self, station: Station, size: i64) -> i64:
        slots = (1 << self.exponent_by_use(station.index, station.events.now)) + ECHO_WINDOW
        return 2 * self.airtime(self.bytes_on_air(size)) + slots * self.slot

    # ---- windows

    def exponent_by_use(self, i: i64, now: i64) -> i64:
        return self.window_min + i64(self.utilisation(i, now) * float(self.window_span))

    def exponent_by_signal(self, snr_db: float) -> i64:
        share = (snr_db - WEAKEST_DB) / (STRONGEST_DB - WEAKEST_DB)
        share = 0.0 if not share > 0.0 else 1.0 if share > 1.0 else share
        return self.window_min + i64(share * float(self.window_span))

    def relay(self, station: Station, frame: Frame, first: bool) -> None:
        exponent = self.exponent_by_signal(station.signal() - self.noise_dbm)
        self.relays[station.index][frame.id] = int(2 * exponent if first else 1 << exponent)

    def window_of(self, station: Station, now: i64) -> i64:
        frame = station.head
        waiting = self.relays[station.index]
        if frame is not None and len(waiting) > 0:
            window = waiting.get(frame.id, 0)
            if window > 0:
                return window
        return 1 << self.exponent_by_use(station.index, now)

    def drop_relay(self, station: Station, id: int) -> None:
        self.relays[station.index].pop(id, 0)

    # ---- access

    def begin_backoff(self, station: Station, now: i64) -> None:
        self.due[station.index] = now + station.mac_rng.randrange(self.window_of(station, now)) * self.slot

    def access(self, station: Station) -> i64:
        i = station.index
        now = station.events.now
        at = self.due[i]
        if at > now:
            return at
        if station.sending or (station.busy_until > now and now - self.since[i] >= self.slot):
            others = self.window_of(station, now) - 1  # without no slot at all, which would only mean to draw again
            at = now + (1 + station.mac_rng.randrange(others if others > 0 else 1)) * self.slot
            self.due[i] = at
        elif self.limited:
            at = self.allowed(station, now)
            self.due[i] = at
        return at

    def sensed(self, i: i64, t: i64, busy_until: i64, end: i64) -> None:
        """A frame that lasts until `end` reaches station i, which senses others until `busy_until`."""
        if busy_until <= t:
            self.since[i] = t
            busy_until = t
        if end > busy_until:
            self.turn_minute(i, t)
            self.busy[i] += end - busy_until

    def turn_minute(self, i: i64, t: i64) -> None:
        minute = t // MINUTE_US
        if minute != self.minute[i]:
            self.busy_before[i] = self.busy[i] if minute == self.minute[i] + 1 else 0
            self.busy[i] = 0
            self.minute[i] = minute

    def utilisation(self, i: i64, now: i64) -> float:
        """The share of the last minute in which the station sensed or sent something."""
        self.turn_minute(i, now)
        past = float(now % MINUTE_US) / float(MINUTE_US)
        share = (float(self.busy_before[i]) * (1.0 - past) + float(self.busy[i])) / float(MINUTE_US)
        return share if share < 1.0 else 1.0

    # ---- duty cycle

    def transmits(self, station: Station, frame: Frame | None, start: i64, end: i64) -> None:
        """Its own frame counts as use of the channel, and of its share."""
        self.sensed(station.index, start, station.busy_until, end)
        if frame is not None and len(self.relays[station.index]) > 0:
            self.drop_relay(station, frame.id)
        if self.limited:
            self.sent[station.index].append((int(end), int(end - start)))

    def allowed(self, station: Station, now: i64) -> i64:
        """When the head of the queue fits into the station's share of the hour that ends with it."""
        frame = station.head
        airtime = 0 if frame is None else self.airtime(self.bytes_on_air(frame.size))
        sent = self.sent[station.index]
        while sent and sent[0][0] + HOUR_US <= now:
            sent.pop(0)
        used = airtime + sum([each for _, each in sent])
        at = now
        for end, each in sent:
            if used <= self.share_us:
                break
            used -= each
            at = end + HOUR_US
        if at > now:
            station.note(DUTY_CYCLE, 0 if frame is None else frame.id, -1, int(at - now))
        return at
