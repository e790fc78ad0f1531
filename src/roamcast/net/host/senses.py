"""Instruments of a node: applications override what they can measure, or say how fast the node moves."""

from __future__ import annotations

from math import isnan, nan
from typing import Final

MOVES_MPS: Final = 0.5
RESTS_MPS: Final = 0.3
"""From which speed on a node moves, and below which it is at rest. Receivers of satellite navigation show some
decimetres a second at rest, and between the two limits nothing changes."""


class Senses:
    def speed(self) -> float:
        """In m/s."""
        return nan

    def battery(self) -> float:
        """The share of energy that is left."""
        return 1.0

    def signal(self) -> float:
        """The strength of the frame that was received last, in dBm; NaN if the radio does not say."""
        return nan


class Motion(Senses):
    """The speed that was set last; before that, and for everything else, the instruments of the application."""

    def __init__(self, others: Senses | None = None) -> None:
        self._others = others or Senses()
        self._speed_mps = nan
        self.moving = False

    def set(self, speed_mps: float) -> bool:
        """Whether the node started or stopped moving. NaN: the speed is not known, and nothing else changes."""
        self._speed_mps = speed_mps
        moving = self.moving
        self.moving = speed_mps >= (RESTS_MPS if moving else MOVES_MPS) or (moving and isnan(speed_mps))
        return self.moving != moving

    def speed(self) -> float:
        return self._others.speed() if isnan(self._speed_mps) else self._speed_mps

    def battery(self) -> float:
        return self._others.battery()

    def signal(self) -> float:
        return self._others.signal()
