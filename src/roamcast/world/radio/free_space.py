"""Free space: strength (r / d)^2."""

from __future__ import annotations

from typing import final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.radio.base import NEAREST2, Radio
from roamcast.world.specs import RadioSpec


@final
class FreeSpace(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        self.threshold = self.strength_at_sense_range()

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        return r2 / (d2 if d2 >= NEAREST2 else NEAREST2)

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            d2 = squares[k]
            squares[k] = r2 / (d2 if d2 >= NEAREST2 else NEAREST2)
