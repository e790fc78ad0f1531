"""Log-normal shadowing: what stands between two nodes, as a factor of their strength. It belongs to a pair and does not
change."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.world.streams import Stream

SHADOW_SIGMAS: Final = 3.0
"""Shadowing is cut off there, so that a frame has a farthest distance."""


@final
class Shadowing:
    """It belongs to places, which may have a seed of their own."""

    def __init__(self, deviation_db: float, place_seed: int) -> None:
        self.deviation_db = deviation_db
        self.most_db = SHADOW_SIGMAS * deviation_db
        self.place_seed = place_seed
        self.shadows: dict[i64, float] = {}

    def factor(self, i: i64, j: i64) -> float:
        """The same in both directions: what stands between two nodes stands there for both."""
        pair = (i << 20 | j) if i < j else (j << 20 | i)
        known = self.shadows.get(pair)
        if known is None:
            db = Stream(self.place_seed, pair, "shadow").normal(0.0, self.deviation_db)
            db = min(max(db, -self.most_db), self.most_db)
            known = 10.0 ** (db / 10.0)
            self.shadows[pair] = known
        return known
