"""Time as the store counts it.

The clocks of field computers are set forward and back by years. So the store has its own clock for validities, which
cannot be set. It began as Unix time and follows the time since the machine was switched on, also across boots of the
node. It is stored with every change of the durable values, and with the first change of any kind after the
system's clock was set. Only if the machine was switched off meanwhile, the system's clock is used to compute how much
time has passed. A result below 0 or above a year is taken as 0, with a warning.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Final

from roamcast.net.keep.database import Database

log: Final = logging.getLogger("roamcast.net")

NAME: Final = "clock"
AWAY_MAX_S: Final = 366 * 86_400.0
"""If a node seems to have been away for longer, the clock was set."""
SET_BACK_S: Final = 60.0
"""Clocks are often set back by less than this; it is not worth a warning."""
STEP_S: Final = 5.0
"""If the system's clock gains or loses this much compared to the machine's, it was set."""
_CLOCK: Final = struct.Struct("!ddd")
"""The store's clock, the system's clock, and the time since the machine was switched on. The id of the machine's start
follows."""


def steady_s() -> float:
    """Time since the machine was switched on, asleep or not, if the system knows."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def machine_start() -> bytes:
    """A different value each time the machine is switched on; empty if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b""


class StoreClock:
    def __init__(
        self, db: Database, unix_s: Callable[[], float], steady_s: Callable[[], float], machine: bytes | None
    ) -> None:
        self._db = db
        self._unix_s = unix_s
        self._steady_s = steady_s
        self._machine = machine_start() if machine is None else machine
        self._ahead_s = self._first_s() - steady_s()
        self._written_s = inf  # system's clock minus machine's, when that was last written

    def now_s(self) -> float:
        return self._steady_s() + self._ahead_s

    def write(self) -> None:
        unix_s, steady_s = self._unix_s(), self._steady_s()
        self._written_s = unix_s - steady_s
        value = _CLOCK.pack(self.now_s(), unix_s, steady_s) + self._machine
        self._db.run("insert or replace into vault values (?, ?)", NAME, value)

    def write_if_set(self) -> None:
        """Write if the system's clock was set since the last `write`."""
        if abs(self._unix_s() - self._steady_s() - self._written_s) > STEP_S:
            self.write()

    def _first_s(self) -> float:
        """The time of this clock when the store is opened."""
        unix_s = self._unix_s()
        row = self._db.row("select value from vault where name = ?", NAME)
        if row is None:
            return unix_s
        stored = bytes(row[0])
        then_s, then_unix_s, then_steady_s = _CLOCK.unpack_from(
            stored.ljust(_CLOCK.size, b"\0")
        )  # older versions stored two numbers
        on_s = self._steady_s() - then_steady_s
        if self._machine and self._machine == stored[_CLOCK.size :] and on_s >= 0:
            return float(then_s + on_s)
        away_s = unix_s - then_unix_s
        if 0 <= away_s <= AWAY_MAX_S:
            return float(then_s + away_s)
        if away_s > 0 or away_s < -SET_BACK_S:
            days, way = abs(away_s) / 86_400, "forward" if away_s > 0 else "back"
            log.warning("the system's clock went %s by %.1f days; stored events do not age for that time", way, days)
        return float(then_s)
