"""Measured links: a table of which nodes receive a frame, how many frames are lost (faults.py), and their strength."""

from __future__ import annotations

from math import nan
from typing import final

from mypy_extensions import i64

from roamcast.world.radio.base import Radio
from roamcast.world.specs import RadioSpec


@final
class Table(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        self.plain = True
        self.links: dict[i64, float] = {}  # i << 20 | j -> strength of i's frames at j in dBm

    def nominal_dbm(self, i: i64, j: i64, d2: float) -> float:
        return self.links.get(i << 20 | j, nan)
