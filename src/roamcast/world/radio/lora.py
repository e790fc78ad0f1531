"""LoRa: strength from transmit power, antennas and a law of path loss, relative to what the modem can decode.

Frames are sensed from `sense_db` below that strength on (channel activity detection). Antennas have heights and gains
of their own; nodes with the same ones form a kind, and the law is worked out once for each two kinds. Links that
somebody measured have the strength that was measured, whatever the law says.
"""

from __future__ import annotations

from math import log10
from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.lora import sensitivity_dbm
from roamcast.world.radio.base import Radio
from roamcast.world.radio.path_loss import coefficients, free_space
from roamcast.world.radio.shadowing import Shadowing
from roamcast.world.specs import LoraSpec, RadioSpec

NEAREST_M: Final = 1.0
"""No receiver counts as nearer to an antenna."""


@final
class Pairing:
    """The law between two kinds of nodes: strength = scale / d^(2 power), never above near / d^2."""

    def __init__(self, lora: LoraSpec, one: tuple[float, float], other: tuple[float, float]) -> None:
        budget_db = lora.tx_dbm + one[1] + other[1] - sensitivity_dbm(lora)
        a, b = coefficients(lora.path_loss, lora.frequency_mhz, one[0], other[0], lora.path_loss_exponent)
        self.scale = 10.0 ** ((budget_db - a) / 10.0)
        self.half = b / 20.0  # of the power of the square of the distance
        self.near = 10.0 ** ((budget_db - free_space(lora.frequency_mhz)[0]) / 10.0)
        self.range_m = max(NEAREST_M, 10.0 ** ((budget_db - a) / b))

    def strength(self, d2: float) -> float:
        if d2 < NEAREST_M * NEAREST_M:
            d2 = NEAREST_M * NEAREST_M
        far: float = self.scale / d2**self.half
        near = self.near / d2
        return far if far < near else near


@final
class Lora(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, place_seed: int) -> None:
        super().__init__(spec, ranges, seed)
        lora = spec.lora
        self.sensitivity_dbm = sensitivity_dbm(lora)
        self.capture = 10.0 ** (lora.capture_db / 10.0)
        self.threshold = 10.0 ** (-lora.sense_db / 10.0)
        self.sense_db: float = lora.sense_db
        self.shadowing_db: float = spec.shadowing_db
        self.shadowing = Shadowing(spec.shadowing_db, place_seed)
        self.links: dict[i64, float] = {}  # measured: i << 20 | j -> strength
        self.heard: dict[i64, bool] = {}  # measured as well, without a strength: it is at least 1
        kinds = kinds_of(lora, len(ranges))
        distinct = sorted(dict.fromkeys(kinds))
        self.kinds: list[int] = [distinct.index(kind) for kind in kinds]
        self.pairings: list[list[Pairing]] = [[Pairing(lora, one, other) for other in distinct] for one in distinct]
        self.flattest: float = 20.0 * min(pairing.half for row in self.pairings for pairing in row)
        self.ranges = [max(pairing.range_m for pairing in self.pairings[kind]) for kind in self.kinds]

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        measured = self.links.get(i << 20 | j) if len(self.links) > 0 else None
        if measured is not None:
            return measured
        strength = self.pairings[self.kinds[i]][self.kinds[j]].strength(d2)
        strength = strength * self.shadowing.factor(i, j) if self.shadowing_db > 0.0 else strength
        return 1.0 if strength < 1.0 and len(self.heard) > 0 and (i << 20 | j) in self.heard else strength

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            squares[k] = self.strength(i, hearers[k], r2, squares[k])

    def farthest(self, range_m: float) -> float:
        return float(range_m * 10.0 ** (self.shadowing.most_db / self.flattest))

    def sensed_up_to(self, range_m: float) -> float:
        return float(self.farthest(range_m) * 10.0 ** (self.sense_db / self.flattest))

    def nominal_dbm(self, i: i64, j: i64, d2: float) -> float:
        return self.sensitivity_dbm + 10.0 * log10(self.strength(i, j, 0.0, d2))


def kinds_of(lora: LoraSpec, nodes: int) -> list[tuple[float, float]]:
    """The height and the gain of each node's antenna."""
    if lora.antennas:
        return list(lora.antennas)
    return [(lora.antenna_m, lora.gain_dbi)] * nodes
