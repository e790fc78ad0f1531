"""Two rays, one of them reflected by the ground: strength falls as 1 / d^2 up to the crossover distance, then as
1 / d^4."""

from __future__ import annotations

from math import sqrt
from typing import final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.radio.base import NEAREST2, Radio
from roamcast.world.specs import RadioSpec


@final
class TwoRay(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        self.crossover2: float = spec.crossover_m * spec.crossover_m
        self.threshold = self.strength_at_sense_range()

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        return self.fall(d2 if d2 >= NEAREST2 else NEAREST2) / self.fall(r2)

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        at_range = self.fall(r2)
        crossover2 = self.crossover2
        for k in range(len(squares)):
            d2 = squares[k]
            if d2 > crossover2:  # `fall`, written out
                squares[k] = crossover2 / (d2 * d2) / at_range
            else:
                squares[k] = 1.0 / (d2 if d2 >= NEAREST2 else NEAREST2) / at_range

    def fall(self, d2: float) -> float:
        return 1.0 / d2 if d2 <= self.crossover2 else self.crossover2 / (d2 * d2)

    def sensed_up_to(self, range_m: float) -> float:
        sensed = self.threshold * self.fall(range_m * range_m)
        return sqrt(1.0 / sensed if sensed * self.crossover2 >= 1.0 else sqrt(self.crossover2 / sensed))
