"""How strong a frame is where it arrives, in units of the receivers' sensitivity: 1 is just enough to be decoded.

A node's range is where its frames have strength 1, so ranges say all that transmission power, antennas and sensitivity
would. A law tells how strength falls with distance d for a range r:

  disc          1 up to r, then 0; between r and the carrier-sense range it is sensed and it disturbs
  free space    (r / d)^2
  two-ray       1 / d^2 up to the crossover distance, 1 / d^4 beyond it (ground reflection)
  log-distance  (r / d)^n, times log-normal shadowing that belongs to the pair of nodes and does not change

A receiver locks on to the first frame that finds it idle, can be decoded, and is `capture` times stronger than all else
on the air; it receives the frame if that stays so for as long as it lasts. Frames below the carrier-sense threshold are
ignored altogether.
"""

from __future__ import annotations

from math import log10, nan, sqrt
from typing import Final, final

from mypy_extensions import i64

from roamcast.world.streams import Stream

DISC: Final = 0
FREE_SPACE: Final = 1
TWO_RAY: Final = 2
LOG_DISTANCE: Final = 3
TABLE: Final = 4
LAWS: Final = {"disc": DISC, "free-space": FREE_SPACE, "two-ray": TWO_RAY, "log-distance": LOG_DISTANCE, "table": TABLE}

SENSITIVITY_DBM: Final = -93.0
"""Of an 802.11b receiver at 1 Mbit/s (001, section 5.1). Only `Host.signal` needs an absolute figure."""

NO_CAPTURE: Final = 1e30
"""On a disc every overlap spoils both frames."""

SHADOW_SIGMAS: Final = 3.0
"""Shadowing is cut off there, so that a frame has a farthest distance."""


@final
class Radio:
    """`ranges` has every node's range; with `per_frame`, every frame draws one between `range_m` and `range_max_m`.

    Frames draw from `seed`. Shadowing belongs to places, which may have a seed of their own (`shadow_seed`).
    """

    def __init__(
        self,
        law: str,
        range_m: float,
        range_max_m: float,
        ranges: list[float],
        per_frame: bool,
        carrier_sense_ratio: float,
        capture_db: float,
        crossover_m: float,
        exponent: float,
        shadowing_db: float,
        seed: int,
        shadow_seed: int | None = None,
    ) -> None:
        self.law: i64 = LAWS[law]
        self.range_m = range_m
        self.range_max_m = range_max_m
        self.ranges = ranges
        self.per_frame = per_frame
        self.draws: list[Stream] = [Stream(seed, i, "range") for i in range(len(ranges))] if per_frame else []
        self.carrier_sense_ratio = carrier_sense_ratio
        self.sense_ratio2 = carrier_sense_ratio * carrier_sense_ratio
        self.capture: float = NO_CAPTURE if law == "disc" else 10.0 ** (capture_db / 10.0)
        self.crossover2 = crossover_m * crossover_m
        self.exponent = exponent
        self.shadowing_db = shadowing_db
        self.shadow_seed = seed if shadow_seed is None else shadow_seed
        self.shadows: dict[i64, float] = {}
        self.links: dict[i64, float] = {}  # table: strength of i's frames at j in dBm
        self.threshold = self.sensed_from()

    def plain(self) -> bool:
        """Whether strength does not matter: who is in range hears, everybody who hears disturbs."""
        return (self.law == DISC and self.carrier_sense_ratio == 1.0 and not self.per_frame) or self.law == TABLE

    def sensed_from(self) -> float:
        """The strength from which on a frame is sensed."""
        if self.law == DISC:
            return 0.5
        far = self.range_m * self.carrier_sense_ratio
        return self.falloff(self.range_m * self.range_m, far * far)

    def reach(self, range_m: float) -> float:
        """How far away a node of this range can be sensed at most."""
        if self.law == TWO_RAY:
            sensed = self.threshold * self.two_ray(range_m * range_m)
            return sqrt(1.0 / sensed if sensed * self.crossover2 >= 1.0 else sqrt(self.crossover2 / sensed))
        return self.farthest(range_m) * self.carrier_sense_ratio

    def farthest(self, range_m: float) -> float:
        """How far away a node of this range can be decoded at most."""
        if self.law == LOG_DISTANCE:
            return float(range_m * 10.0 ** (SHADOW_SIGMAS * self.shadowing_db / (10.0 * self.exponent)))
        return range_m

    def frame_range(self, i: i64) -> float:
        if self.per_frame:
            return self.draws[i].uniform(self.range_m, self.range_max_m)
        return self.ranges[i]

    def nominal_dbm(self, i: i64, j: i64, d2: float) -> float:
        """Where strength does not matter, protocols may still ask: the cube of distance, or what was measured."""
        if self.law == TABLE:
            return self.links.get(i << 20 | j, nan)
        r = self.ranges[i]
        return SENSITIVITY_DBM + 15.0 * log10(r * r / (d2 if d2 > 1.0 else 1.0))

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        """Of i's frame at j, for the squares of i's range and of their distance."""
        if self.law == DISC:
            return 1.0 if d2 <= r2 else 0.5 if d2 <= r2 * self.sense_ratio2 else 0.0
        s = self.falloff(r2, d2)
        if self.shadowing_db > 0.0 and self.law == LOG_DISTANCE:
            s *= self.shadow(i, j)
        return s

    def falloff(self, r2: float, d2: float) -> float:
        if d2 < 1e-6:
            d2 = 1e-6
        if self.law == FREE_SPACE:
            return r2 / d2
        if self.law == TWO_RAY:
            return self.two_ray(d2) / self.two_ray(r2)
        half: float = (r2 / d2) ** (0.5 * self.exponent)
        return half

    def two_ray(self, d2: float) -> float:
        return 1.0 / d2 if d2 <= self.crossover2 else self.crossover2 / (d2 * d2)

    def shadow(self, i: i64, j: i64) -> float:
        """The same both ways: what stands between two nodes stands there for both."""
        pair = (i << 20 | j) if i < j else (j << 20 | i)
        known = self.shadows.get(pair)
        if known is None:
            db = Stream(self.shadow_seed, pair, "shadow").normal(0.0, self.shadowing_db)
            most = SHADOW_SIGMAS * self.shadowing_db
            db = min(max(db, -most), most)
            known = 10.0 ** (db / 10.0)
            self.shadows[pair] = known
        return known


def dbm(strength: float) -> float:
    return SENSITIVITY_DBM + 10.0 * log10(strength)
