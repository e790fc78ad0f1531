"""Log-distance: strength (r / d)^n, times log-normal shadowing that belongs to a pair of nodes and does not change."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i32, i64

from roamcast.world.radio.base import NEAREST2, Radio
from roamcast.world.specs import RadioSpec
from roamcast.world.streams import Stream

SHADOW_SIGMAS: Final = 3.0
"""Shadowing is cut off there, so that a frame has a farthest distance."""


@final
class LogDistance(Radio):
    """Shadowing belongs to places, which may have a seed of their own."""

    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        self.exponent: float = spec.path_loss_exponent
        self.shadowing_db: float = spec.shadowing_db
        self.place_seed = place_seed
        self.shadows: dict[i64, float] = {}
        far = self.range_m * self.carrier_sense_ratio
        self.threshold = self.fall(self.range_m * self.range_m, far * far)

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        strength = self.fall(r2, d2)
        return strength * self.shadow(i, j) if self.shadowing_db > 0.0 else strength

    def strengths(self, i: i64, hearers: vec[i32], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            squares[k] = self.strength(i, i64(hearers[k]), r2, squares[k])

    def fall(self, r2: float, d2: float) -> float:
        half: float = (r2 / (d2 if d2 >= NEAREST2 else NEAREST2)) ** (0.5 * self.exponent)
        return half

    def farthest(self, range_m: float) -> float:
        return float(range_m * 10.0 ** (SHADOW_SIGMAS * self.shadowing_db / (10.0 * self.exponent)))

    def shadow(self, i: i64, j: i64) -> float:
        """The same in both directions: what stands between two nodes stands there for both."""
        pair = (i << 20 | j) if i < j else (j << 20 | i)
        known = self.shadows.get(pair)
        if known is None:
            db = Stream(self.place_seed, pair, "shadow").normal(0.0, self.shadowing_db)
            most = SHADOW_SIGMAS * self.shadowing_db
            db = min(max(db, -most), most)
            known = 10.0 ** (db / 10.0)
            self.shadows[pair] = known
        return known
