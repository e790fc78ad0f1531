"""The disc: strength 1 up to the range; from there to the carrier-sense range a frame is sensed and disturbs others."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.radio.base import Radio
from roamcast.world.specs import RadioSpec

NO_CAPTURE: Final = 1e30
"""Two frames that overlap are both lost."""


@final
class Disc(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        self.plain = self.carrier_sense_ratio == 1.0 and not self.per_frame
        self.capture = NO_CAPTURE
        self.sense_ratio2: float = spec.carrier_sense_ratio * spec.carrier_sense_ratio

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        return 1.0 if d2 <= r2 else 0.5 if d2 <= r2 * self.sense_ratio2 else 0.0

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            squares[k] = self.strength(i, 0, r2, squares[k])
