"""The delays of frugal dissemination (Fig. 8), and tasks whose delay changes while they wait (R16).

The readings (R1 …) are those of `protocol.py`.
"""

from __future__ import annotations

from math import nan
from typing import Final, final

from roamcast.protocols.frugal.params import FrugalParams
from roamcast.protocols.kit.interface import Host

NULL: Final = -1


@final
class Delays:
    """HBDelay, NGCDelay and BODelay, with the values of Fig. 4 to begin with."""

    def __init__(self, params: FrugalParams) -> None:
        self.params = params
        self.hb_delay_us = round(params.hb_initial_s * 1_000_000)
        self.average_mps = nan  # from which it was computed last
        self.ngc_delay_us = 0
        self.bo_delay_us = 0
        self.compute_ngc_delay()
        self.restart_bo_delay()

    def compute_hb_delay(self, average_mps: float) -> None:
        """`average_mps` is AVERAGESPEED; NaN if no neighbour's speed is known."""
        if average_mps == self.average_mps:  # as after most heartbeats
            return
        self.average_mps = average_mps
        if average_mps > 0.0:
            hb_delay_s = self.params.x / average_mps
        elif average_mps == 0.0:
            hb_delay_s = self.params.hb_upper_s  # R18
        else:
            hb_delay_s = self.hb_delay_us / 1_000_000
        hb_delay_s = min(hb_delay_s, self.params.hb_upper_s)
        hb_delay_s = max(hb_delay_s, self.params.hb_lower_s)
        self.hb_delay_us = round(hb_delay_s * 1_000_000)

    def compute_ngc_delay(self) -> None:
        self.ngc_delay_us = int(self.hb_delay_us * self.params.hb2ngc)

    def compute_bo_delay(self, events: int) -> None:
        bo_delay_us = int(self.hb_delay_us / (self.params.hb2bo * events))
        if self.bo_delay_us == NULL:
            self.bo_delay_us = bo_delay_us
        else:
            self.bo_delay_us = min(self.bo_delay_us, bo_delay_us)

    def restart_bo_delay(self) -> None:
        """As in Fig. 4: the delay for one event."""
        self.bo_delay_us = int(self.hb_delay_us / self.params.hb2bo)

    def forget_bo_delay(self) -> None:
        self.bo_delay_us = NULL


@final
class Task:
    """A periodic task whose delay changes while it waits (R16)."""

    __slots__ = ("delay_us", "due_us", "host", "key", "started")

    def __init__(self, host: Host, key: int) -> None:
        self.host = host
        self.key = key
        self.started = False
        self.delay_us = 0
        self.due_us = 0

    def start(self, delay_us: int, first_us: int) -> None:
        self.started = True
        self.delay_us = delay_us
        self._wait(first_us)

    def again(self, delay_us: int) -> None:
        self.start(delay_us, delay_us)

    def shorten(self, delay_us: int) -> None:
        left_us = self.due_us - self.host.now()
        if self.started and left_us > delay_us:
            self._wait(left_us * delay_us // self.delay_us)
            self.delay_us = delay_us

    def stop(self) -> None:
        self.started = False
        self.host.cancel_timer(self.key)

    def _wait(self, wait_us: int) -> None:
        self.due_us = self.host.now() + wait_us
        self.host.set_timer(self.key, wait_us)
