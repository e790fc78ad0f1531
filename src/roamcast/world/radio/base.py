"""How strong a frame is where it arrives, in units of the receivers' sensitivity: 1 is just enough to be decoded.

A node's range is where its frames have strength 1, so ranges say all that transmission power, antennas and sensitivity
would. A law gives the strength at distance d for a range r; each law has a file of its own.

A receiver locks on to the first frame that arrives while it is idle, can be decoded, and is `capture` times stronger
than everything else on the air. It receives the frame if that stays so until the frame ends. Frames below the
carrier-sense threshold are ignored altogether.
"""

from __future__ import annotations

from math import log
from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.specs import RadioSpec
from roamcast.world.streams import Streams

SENSITIVITY_DBM: Final = -93.0
"""Sensitivity of an 802.11b receiver at 1 Mbit/s (Baehni et al. 2005, section 5.1). Only `Host.signal` needs an
absolute figure."""

DB: Final = 4.342944819032518
"""A power times e in dB: 10 / ln(10). The natural logarithm is compiled to a plain call, `log10` is not."""

NEAREST2: Final = 1e-6
"""The square of a millimetre. No receiver counts as nearer, so that strengths stay finite."""


class Radio:
    """`ranges` has every node's range; with `spec.per_frame`, every frame draws one from a stream of `seed`."""

    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int) -> None:
        self.ranges = ranges
        self.range_m: float = spec.range_m
        self.range_max_m: float = spec.range_max_m
        self.per_frame: bool = spec.per_frame
        self.draws = Streams(seed, len(ranges), "range")
        self.carrier_sense_ratio: float = spec.carrier_sense_ratio
        self.capture: float = 10.0 ** (spec.capture_db / 10.0)
        self.plain = False  # strength does not matter: all nodes in range receive a frame, and any two frames collide
        self.threshold = 0.5  # the strength from which on a frame is sensed
        self.sensitivity_dbm = SENSITIVITY_DBM

    # ---- rules that differ from law to law

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        """The strength of i's frame at j, for the squares of i's range and of their distance."""
        raise NotImplementedError

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        """Replace the square of each hearer's distance by the strength of i's frame there.

        A law does this in a loop of its own: one call for each frame, rather than one for each receiver.
        """
        raise NotImplementedError

    def farthest(self, range_m: float) -> float:
        """The largest distance at which a node of this range can be decoded."""
        return range_m

    def sensed_up_to(self, range_m: float) -> float:
        """The largest distance at which a node of this range can be sensed."""
        return self.farthest(range_m) * self.carrier_sense_ratio

    def nominal_dbm(self, i: i64, j: i64, d2: float) -> float:
        """Where strength does not matter, protocols may still need it: it falls with the cube of the distance."""
        r = self.ranges[i]
        return SENSITIVITY_DBM + 1.5 * DB * log(r * r / (d2 if d2 > 1.0 else 1.0))

    # ---- rules of all laws

    def strength_at_sense_range(self) -> float:
        far = self.range_m * self.carrier_sense_ratio
        return self.strength(0, 0, self.range_m * self.range_m, far * far)

    def longest(self, i: i64) -> float:
        """The largest range that a frame of node i can have."""
        return self.range_max_m if self.per_frame else self.ranges[i]

    def frame_range(self, i: i64) -> float:
        if self.per_frame:
            return self.draws.of(i).uniform(self.range_m, self.range_max_m)
        return self.ranges[i]

    def dbm(self, strength: float) -> float:
        return self.sensitivity_dbm + DB * log(strength)
