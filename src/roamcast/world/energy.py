"""The energy that radios use: watts in each state, times the time that stations spent in it.

Stations count their own time. Receiving is the exception: where every receiver of a frame listens to all of it, the sum
over all of them is added at once (`shared_rx_us`), which saves a line of memory for each receiver.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.world.specs import PowerSpec


@final
class Energy:
    __slots__ = ("battery_j", "idle_w", "rx_w", "shared_rx_us", "sleep_w", "tx_w")

    def __init__(self, spec: PowerSpec) -> None:
        self.tx_w: float = spec.tx_w
        self.rx_w: float = spec.rx_w
        self.idle_w: float = spec.idle_w
        self.sleep_w: float = spec.sleep_w
        self.battery_j: float = spec.battery_j
        self.shared_rx_us: i64 = 0

    def joules(self, total_us: i64, tx_us: i64, rx_us: i64, asleep_us: i64, off_us: i64) -> float:
        idle_us = total_us - tx_us - rx_us - asleep_us - off_us
        return 1e-6 * (
            self.tx_w * float(tx_us)
            + self.rx_w * float(rx_us)
            + self.idle_w * float(idle_us)
            + self.sleep_w * float(asleep_us)
        )

    def battery(self, now: i64, tx_us: i64, rx_us: i64, asleep_us: i64, off_us: i64) -> float:
        """The share of a battery that is left."""
        left = 1.0 - self.joules(now, tx_us, rx_us, asleep_us, off_us) / self.battery_j
        return left if left > 0.0 else 0.0
