"""A radio from outside: a class that extends `Radio` decides how strong frames arrive. The rest is as in every
radio."""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, ClassVar, final

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from roamcast.errors import InputError
from roamcast.protocols.kit.interface import Params
from roamcast.world.radio import base
from roamcast.world.radio.base import NEAREST2
from roamcast.world.specs import RadioSpec

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario


@mypyc_attr(allow_interpreted_subclasses=True)
class Radio:
    """A radio of your own: how strong frames are where they arrive. 1 is just enough to be decoded.

    A node's range is the distance at which its frames have strength 1. A strength depends only on the arguments and on
    the seed, which is that of nodes and places: a link always has the same strength.
    """

    params_class: ClassVar[type[Params]] = Params

    def __init__(self, scenario: Scenario, params: Params, seed: int) -> None:
        """A class of your own may ignore all three."""

    def strength(self, sender: int, receiver: int, distance_m: float, range_m: float) -> float:
        """The strength of a frame that the sender sends with this range. The distance is never below a millimetre."""
        raise NotImplementedError

    def farthest(self, range_m: float) -> float:
        """The largest distance at which a frame of this range can be decoded. No node beyond it receives the frame."""
        return range_m

    def sensed_from(self, range_m: float, sensed_m: float) -> float:
        """The strength from which on frames are sensed, and disturb others: that at the carrier-sense range, between
        the nodes 0 and 1. Override it if the strength depends on sender and receiver."""
        return self.strength(0, 1, sensed_m, range_m)


@final
class FromOutside(base.Radio):
    """The world's radio, with the strengths of such a class."""

    def __init__(self, spec: RadioSpec, ranges: list[float], seed: int, outside: Radio) -> None:
        super().__init__(spec, ranges, seed)
        self.name = spec.name
        self.outside = outside
        threshold = outside.sensed_from(self.range_m, self.range_m * self.carrier_sense_ratio)
        self.threshold = self.checked(threshold)

    def strength(self, i: i64, j: i64, r2: float, d2: float) -> float:
        return self.checked(self.outside.strength(i, j, sqrt(d2 if d2 >= NEAREST2 else NEAREST2), sqrt(r2)))

    def strengths(self, i: i64, hearers: vec[i64], r2: float, squares: vec[float]) -> None:
        for k in range(len(squares)):
            squares[k] = self.strength(i, hearers[k], r2, squares[k])

    def farthest(self, range_m: float) -> float:
        farthest_m = self.outside.farthest(range_m)
        if not 0.0 < farthest_m < inf:
            raise InputError(f"radio={self.name}: farthest is {farthest_m} m; it must be a number above 0")
        return farthest_m

    def checked(self, strength: float) -> float:
        if not 0.0 <= strength < inf:
            raise InputError(f"radio={self.name}: a strength of {strength}; it must be a number of at least 0")
        return strength
