"""What a world is built from: frozen specifications with names, the same for scenarios, the calibration and tests.

A MAC or a radio gets its whole specification and uses the fields that its rules need. If it comes from outside
(parts.py), `outside` is its object.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from roamcast.errors import InputError

if TYPE_CHECKING:
    from roamcast.world.mac.outside import Mac
    from roamcast.world.radio.outside import Radio


@dataclass(frozen=True, kw_only=True)
class LoraSpec:
    """What a scenario decides about LoRa radios and their medium access (lora.py, radio/lora.py, mac/lora.py)."""

    bandwidth_khz: float = 250.0
    spreading_factor: int = 11
    coding_rate: int = 5  # the denominator of 4/5 … 4/8
    preamble_symbols: int = 16
    explicit_header: bool = True
    coding: str = "standard"
    noise_figure_db: float = 6.0
    path_loss: str = "3gpp-suburban"
    path_loss_exponent: float = 3.0
    tx_dbm: float = 30.0
    frequency_mhz: float = 908.75
    antenna_m: float = 1.0
    gain_dbi: float = 0.0
    antennas: tuple[tuple[float, float], ...] = ()  # height and gain of each node's, where they differ
    roles: tuple[str, ...] = ()  # of each node, where they differ
    capture_db: float = 6.0
    sense_db: float = 3.0
    window_min: int = 2  # a frame is sent after fewer than 2^this slots, …
    window_max: int = 8  # … or than 2^this
    duty_cycle: float = 1.0  # the share of an hour that a node may send


@dataclass(frozen=True, kw_only=True)
class MacSpec:
    """What a scenario decides about medium access. Everything else is fixed by the MAC itself (`Timing`)."""

    name: str = "dcf"
    rate_bps: float = 1_000_000.0
    queue: int = 50  # frames
    retries: int = 7  # of a frame for one neighbour
    overhead_bytes: int = 0  # of every frame, on top of the MAC header
    lora: LoraSpec = LoraSpec()
    outside: Mac | None = None


@dataclass(frozen=True, kw_only=True)
class Timing:
    """What a standard fixes about a MAC."""

    slot_us: int
    sifs_us: int
    ifs_us: int  # the silence before a back-off is counted: DIFS
    window: int  # slots to draw from, at first …
    window_max: int  # … and after many retries
    turnaround_us: int  # from the decision to send until others can sense it
    preamble_us: int
    header_bytes: int
    packet_min_bytes: int
    ack_bytes: int
    ack_us_per_byte: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least = 1 if name == "window" else self.window if name == "window_max" else 0
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"timing: {name}={value}: must be a whole number of at least {least}")


@dataclass(frozen=True, kw_only=True)
class RadioSpec:
    name: str = "disc"
    range_m: float = 150.0
    range_max_m: float = 0.0  # above range_m: ranges are uniform between the two, …
    range_per: str = "node"  # … drawn for each node or for each frame
    carrier_sense_ratio: float = 1.0
    capture_db: float = 10.0
    crossover_m: float = 86.1
    path_loss_exponent: float = 3.0
    shadowing_db: float = 0.0
    lora: LoraSpec = LoraSpec()
    outside: Radio | None = None

    @property
    def varies(self) -> bool:
        return self.range_max_m > self.range_m

    @property
    def per_frame(self) -> bool:
        return self.varies and self.range_per == "frame"


@dataclass(frozen=True, kw_only=True)
class FaultSpec:
    awake_us: int = 0
    asleep_us: int = 0  # 0 means always awake
    crash_mean_us: int = 0  # 0 means never
    repair_mean_us: int = 10_000_000
    keep_tables: bool = False
    partition_from_us: int = 0
    partition_until_us: int = 0
    wall_m: float = 0.0  # the x of the partition
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PowerSpec:
    """Watts in each state of the radio, and joules in a full battery."""

    tx_w: float = 1.4
    rx_w: float = 1.0
    idle_w: float = 0.83
    sleep_w: float = 0.13
    battery_j: float = 10_000.0


@dataclass(frozen=True, kw_only=True)
class WorldSpec:
    """Everything about a world except where its nodes are."""

    mac: MacSpec = MacSpec()
    radio: RadioSpec = RadioSpec()
    faults: FaultSpec = FaultSpec()
    power: PowerSpec = PowerSpec()
