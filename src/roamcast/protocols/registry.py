"""Protocols by name: the built-in ones, those of installed packages, and any class that can be imported.

A package adds protocols of its own through the entry point group `roamcast.protocols`; a class that is in no package
is named by `module:Class` (roamcast/plugins.py).
"""

from __future__ import annotations

from typing import Any, Final

from roamcast.plugins import Registry
from roamcast.protocols.kit.interface import Protocol

BUILT_IN: Final[dict[str, str]] = {
    "gossip": "roamcast.protocols.gossip:Gossip",
    "flooding-periodic": "roamcast.protocols.flooding:FloodingPeriodic",
    "flooding-interest": "roamcast.protocols.flooding:FloodingInterest",
    "flooding-neighbors": "roamcast.protocols.flooding:FloodingNeighbors",
    "counter": "roamcast.protocols.counter:Counter",
    "managed": "roamcast.protocols.managed:Managed",
    "mpl": "roamcast.protocols.mpl.protocol:Mpl",
    "roam": "roamcast.protocols.roam.protocol:Roam",
    "proximity": "roamcast.protocols.proximity.protocol:Proximity",
    "frugal": "roamcast.protocols.frugal.protocol:Frugal",
    "semiprob": "roamcast.protocols.semiprob.protocol:SemiProb",
    "semiprob-links": "roamcast.protocols.semiprob.links:SemiProbLinks",
    "psamanet": "roamcast.protocols.psamanet:Psamanet",
    "treegroup": "roamcast.protocols.treegroup.protocol:TreeGroup",
    "subtree": "roamcast.protocols.subtree.protocol:SubTree",
}

PROTOCOLS: Final = Registry(
    "protocol", "roamcast.protocols", "roamcast.protocols.kit.interface:Protocol", BUILT_IN, "roamcast.Protocol"
)


def names() -> list[str]:
    """Every name that `get` knows: the built-in ones in the order above, then those of other packages by name."""
    return PROTOCOLS.names()


def get(name: str) -> type[Protocol]:
    """The class behind a name, or behind `module:Class`."""
    protocol: type[Protocol] = PROTOCOLS.get(name)
    return protocol


def name_of(protocol: type[Protocol]) -> str:
    """The name that `get` knows a class by: a built-in one, or `module:Class`."""
    named: Any = protocol  # the compiler takes __module__ for an attribute of objects
    target = f"{named.__module__}:{named.__qualname__}"
    PROTOCOLS.check_class(target, target, protocol)
    for name, known in BUILT_IN.items():
        if known == target:
            return name
    return target
