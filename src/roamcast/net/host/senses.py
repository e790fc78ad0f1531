"""Instruments of a node: applications override what they can measure."""

from __future__ import annotations

from math import nan


class Senses:
    def speed(self) -> float:
        """In m/s."""
        return nan

    def battery(self) -> float:
        """The share of energy that is left."""
        return 1.0
