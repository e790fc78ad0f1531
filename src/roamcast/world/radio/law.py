"""A radio from outside: a class that extends `Law` says how strong frames arrive; the rest is as in every radio."""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, ClassVar, final

from librt.vecs import vec
from mypy_extensions import i32, i64, mypyc_attr

from roamcast.errors import InputError
from roamcast.protocols.kit.interface import Params
from roamcast.world.radio.base import NEAREST2, Radio
from roamcast.world.specs import RadioSpec

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario


@mypyc_attr(allow_interpreted_subclasses=True)
class Law:
    """How strong frames are where they arrive. 1 is just enough to be decoded: the strength at a node's range.

    The seed is that of places and nodes: two runs with the same seed have the same world.
    """

    params_class: ClassVar[type[Params]] = Params

    def __init__(self, scenario: Scenario, params: Params, seed: int) -> None:
        """A class of your own may ignore all three."""

    def strength(self, sender: int, receiver: int, distance_m: float, range_m: float) -> float:
        """Of a frame that the sender sends with this range. The distance is never below a millimetre."""
        raise NotImplementedError

    def farthest(self, range_m: float) -> float:
        """The largest distance at which a frame of this range can be decoded. Beyond it nobody is asked."""
        return range_m

    def sensed_from(self, range_m: float, sensed_m: float) -> float:
        """The strength from which on frames are sensed, and disturb others: that at the carrier-sense range."""
        return self.strength(0, 1, sensed_m, range_m)


@final
class LawRadio(Radio):
    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, law: Law) -> None:
        super().__init__(spec, ranges, seed)
        self.name = spec.name
        self.law = law
        threshold = law.sensed_from(self.range_m, self.range_m * self.carrier_sense_ratio)
        self.threshold = self.checked(threshold)

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        return self.checked(self.law.strength(i, j, sqrt(d2 if d2 >= NEAREST2 else NEAREST2), sqrt(r2)))

    def strengths(self, i: i64, hearers: vec[i32], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            squares[k] = self.strength(i, i64(hearers[k]), r2, squares[k])

    def farthest(self, range_m: float) -> float:
        return self.law.farthest(range_m)

    def checked(self, strength: float) -> float:
        if not 0.0 <= strength < inf:
            raise InputError(f"radio={self.name}: a strength of {strength}; it must be a number of at least 0")
        return strength
