"""Protocols by name: the built-in ones, those of installed packages, and any class that can be imported.

A module is imported only when its protocol is requested. A package adds protocols of its own through the entry point
group `roamcast.protocols`; a class that is in no package is named by `module:Class`. A package cannot replace a
built-in name.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from roamcast.errors import InputError, one_line, unknown
from roamcast.protocols.kit.interface import Protocol

GROUP: Final = "roamcast.protocols"

BUILT_IN: Final[dict[str, str]] = {
    "gossip": "roamcast.protocols.gossip:Gossip",
    "flooding-periodic": "roamcast.protocols.flooding:FloodingPeriodic",
    "flooding-interest": "roamcast.protocols.flooding:FloodingInterest",
    "flooding-neighbors": "roamcast.protocols.flooding:FloodingNeighbors",
    "counter": "roamcast.protocols.counter:Counter",
    "managed": "roamcast.protocols.managed:Managed",
    "proximity": "roamcast.protocols.proximity.protocol:Proximity",
    "frugal": "roamcast.protocols.frugal.protocol:Frugal",
    "semiprob": "roamcast.protocols.semiprob.protocol:SemiProb",
    "semiprob-links": "roamcast.protocols.semiprob.links:SemiProbLinks",
    "psamanet": "roamcast.protocols.psamanet:Psamanet",
    "treegroup": "roamcast.protocols.treegroup.protocol:TreeGroup",
    "subtree": "roamcast.protocols.subtree.protocol:SubTree",
}


def names() -> list[str]:
    """Every name that `get` knows: the built-in ones in the order above, then other packages' by name."""
    return [*BUILT_IN, *sorted(name for name in _installed() if name not in BUILT_IN)]


def get(name: str) -> type[Protocol]:
    """The class behind a name, or behind `module:Class`."""
    target = _target(name)
    module, _, attribute = target.partition(":")
    try:
        protocol = getattr(import_module(module), attribute)
    except Exception as error:  # a module of another package can fail at import in any way
        why = one_line(error)
        raise InputError(f"protocol {name!r} cannot be loaded: {why}") from error
    if not (isinstance(protocol, type) and issubclass(protocol, Protocol)):
        raise InputError(f"protocol {name!r}: {target} is no subclass of roamcast.protocols.kit.interface.Protocol")
    return protocol


def name_of(protocol: type[Protocol]) -> str:
    """The name that `get` knows a class by: a built-in one, or `module:Class`."""
    named: Any = protocol  # the compiler takes __module__ for an attribute of objects
    target = f"{named.__module__}:{named.__qualname__}"
    for name, known in BUILT_IN.items():
        if known == target:
            return name
    return target


def _target(name: str) -> str:
    if name in BUILT_IN:
        return BUILT_IN[name]
    module, colon, attribute = name.partition(":")
    if colon:
        if not module or not attribute:
            raise InputError(f"protocol {name!r}: must be a name or module:Class")
        return name
    installed = _installed()
    if name not in installed:
        raise unknown("protocol", name, names())
    return installed[name]


def _installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=GROUP)}
