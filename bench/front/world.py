"""A world in which protocols are compared."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

FIRST_SEED = 101
MANY, SOME, FEW = 30, 6, 3
"""Seeds of a world; SOME where roam with little effort takes ten seconds a run, FEW for protocols that take minutes."""
Values = Mapping[str, Any]


class World(NamedTuple):
    name: str
    about: str
    preset: str = ""
    world: Values = MappingProxyType({})
    seeds: int = MANY
    own: str = ""
    """The system of the paper whose world this is."""
    slow: tuple[str, ...] = ()
    """Protocols whose runs take minutes."""
    without: tuple[str, ...] = ()
    """Protocols whose runs take longer than that."""
    needs: str = ""
    """A folder of DATA."""
