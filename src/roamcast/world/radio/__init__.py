"""Radios: each law of propagation has a file. A new one is a file, a line here, and its name in parts.py.

A radio from outside (outside.py) needs none of these.
"""

from __future__ import annotations

from typing import Final

from roamcast.world.radio.base import SENSITIVITY_DBM, Radio
from roamcast.world.radio.disc import Disc
from roamcast.world.radio.free_space import FreeSpace
from roamcast.world.radio.log_distance import LogDistance
from roamcast.world.radio.lora import Lora
from roamcast.world.radio.outside import FromOutside
from roamcast.world.radio.shadowing import SHADOW_SIGMAS
from roamcast.world.radio.table import Table
from roamcast.world.radio.two_ray import TwoRay
from roamcast.world.specs import RadioSpec
from roamcast.world.streams import Stream

__all__ = ["RADIOS", "SENSITIVITY_DBM", "SHADOW_SIGMAS", "LogDistance", "Lora", "Radio", "Table", "build"]

RADIOS: Final[dict[str, type[Disc | FreeSpace | TwoRay | LogDistance | Lora | Table]]] = {
    "disc": Disc,
    "free-space": FreeSpace,
    "two-ray": TwoRay,
    "log-distance": LogDistance,
    "lora": Lora,
    "table": Table,
}


def build(
    spec: RadioSpec, nodes: int, seed: int, place_seed: int | None = None, ranges: list[float] | None = None
) -> Radio:
    """`place_seed` is the seed of what belongs to nodes and places: their ranges (unless given) and shadowing."""
    place_seed = seed if place_seed is None else place_seed
    ranges = ranges or _ranges(spec, nodes, place_seed)
    if spec.outside is not None:
        return FromOutside(spec, ranges, seed, spec.outside)
    return RADIOS[spec.name](spec, ranges, seed, place_seed)


def _ranges(spec: RadioSpec, nodes: int, place_seed: int) -> list[float]:
    if spec.varies and spec.range_per == "node":
        return [Stream(place_seed, i, "range").uniform(spec.range_m, spec.range_max_m) for i in range(nodes)]
    return [spec.range_m] * nodes
