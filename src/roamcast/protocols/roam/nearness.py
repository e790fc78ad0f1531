"""How near the sender of a frame is, by its signal, beside all others that a node hears (M14)."""

from __future__ import annotations

from math import isnan, nan
from typing import Final, final

from roamcast.protocols.kit.interface import Host

FADING: Final = 1 / 256
"""How far the extremes come back with each new event, so that a node that moved forgets what it once heard."""


@final
class Nearness:
    __slots__ = ("host", "strongest_dbm", "weakest_dbm")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.weakest_dbm = nan
        self.strongest_dbm = nan

    def of_sender(self) -> float:
        """Of the frame being handled: 0 for the weakest signal of late, 1 for the strongest, and NaN if the radio does
        not measure signals, or all are alike."""
        signal_dbm = self.host.signal()
        if isnan(signal_dbm):
            return nan
        if isnan(self.weakest_dbm):
            self.weakest_dbm = self.strongest_dbm = signal_dbm
        self.weakest_dbm = min(signal_dbm, self.weakest_dbm + FADING * (signal_dbm - self.weakest_dbm))
        self.strongest_dbm = max(signal_dbm, self.strongest_dbm + FADING * (signal_dbm - self.strongest_dbm))
        span_db = self.strongest_dbm - self.weakest_dbm
        return (signal_dbm - self.weakest_dbm) / span_db if span_db > 0.0 else nan
