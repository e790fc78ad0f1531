"""Log-distance: strength (r / d)^n, times shadowing."""

from __future__ import annotations

from typing import final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.radio.base import NEAREST2, Radio
from roamcast.world.radio.shadowing import Shadowing
from roamcast.world.specs import RadioSpec


@final
class LogDistance(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        self.exponent: float = spec.path_loss_exponent
        self.shadowing_db: float = spec.shadowing_db
        self.shadowing = Shadowing(spec.shadowing_db, place_seed)
        far = self.range_m * self.carrier_sense_ratio
        self.threshold = self.fall(self.range_m * self.range_m, far * far)

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        strength = self.fall(r2, d2)
        return strength * self.shadowing.factor(i, j) if self.shadowing_db > 0.0 else strength

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            squares[k] = self.strength(i, hearers[k], r2, squares[k])

    def fall(self, r2: float, d2: float) -> float:
        half: float = (r2 / (d2 if d2 >= NEAREST2 else NEAREST2)) ** (0.5 * self.exponent)
        return half

    def farthest(self, range_m: float) -> float:
        return float(range_m * 10.0 ** (self.shadowing.most_db / (10.0 * self.exponent)))

    def shadow(self, i: i64, j: i64) -> float:
        return self.shadowing.factor(i, j)
