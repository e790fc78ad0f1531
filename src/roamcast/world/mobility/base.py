"""Mobility is piecewise linear: a node walks legs, and a model chooses the next leg."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from mypy_extensions import mypyc_attr

from roamcast.protocols.kit.interface import Params
from roamcast.world.streams import Stream

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario


@final
class Leg:
    """From (x, y) at `start_s` with a constant velocity (m/s) until `end_s`; a pause has velocity zero."""

    __slots__ = ("end_s", "start_s", "vx", "vy", "x", "y")

    def __init__(self, start_s: float, x: float, y: float, vx: float, vy: float, end_s: float) -> None:
        self.start_s = start_s
        self.x = x
        self.y = y
        self.vx = vx
        self.vy = vy
        self.end_s = end_s


@mypyc_attr(allow_interpreted_subclasses=True)
class Mobility:
    """A model of movement for all nodes. `first` is called once for each node in order, `next` when a leg is over.

    `stream` belongs to the node; a model draws only from it. Legs of a node follow each other without a gap and
    without a jump (`next` starts where and when the leg before ended), and never have zero length in time.

    A model from outside (parts.py) is made with the scenario, its parameters and a seed for what nodes share.
    """

    params_class: ClassVar[type[Params]] = Params

    def __init__(self, scenario: Scenario, params: Params, seed: int) -> None:
        """A class of your own may ignore all three."""

    def first(self, node: int, stream: Stream) -> Leg:
        """The leg that a node is on at 0 s, from there on."""
        raise NotImplementedError

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        """The leg that follows this one, which is over."""
        raise NotImplementedError
