"""Why roam does not deliver more in two of the worlds: the same worlds without what may be the cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bench.front.unseen import BEFORE_FIXED_EDGES
from bench.front.world import Values, World
from bench.front.worlds import named, roam

NO_LOSS: Values = {"mac": "ideal", "loss": 0.0}


class Variant(NamedTuple):
    """A world with something changed, and a protocol in it."""

    of: str
    what: str
    world: Values
    protocol: Values

    @property
    def changed(self) -> World:
        world = next(world for world in BEFORE_FIXED_EDGES if world.name == self.of)
        return world._replace(world={**world.world, **self.world})


def _periodic() -> Values:
    """It keeps all events, as roam does."""
    (periodic,) = named(["flooding-periodic"])
    return {**periodic, "set": {**periodic["set"], "store": 1000}}


def variants() -> Iterator[Variant]:
    usual = roam("roam")
    yield Variant("drones", "as they are", {}, usual)
    yield Variant("drones", "all reach 400 m", {"range_m": 400.0, "range_max_m": 0.0}, usual)
    yield Variant("drones", "no frame is lost or collides", NO_LOSS, usual)
    periodic = "the same, and everybody sends all that it has once a second (`flooding-periodic`)"
    yield Variant("drones", periodic, NO_LOSS, _periodic())
    yield Variant("a convoy", "as it is", {}, usual)
    yield Variant("a convoy", "without haste (M18)", {}, roam("without haste", urgent=False))
    yield Variant("a convoy", "summaries every 0.1 s", {}, roam("hasty", interval_s=0.1, doublings=0))
