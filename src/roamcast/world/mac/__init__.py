"""Medium access: each MAC has a file. A new one is a file, a line here, and its name in parts.py.

Rules from outside (rules.py) need none of these.
"""

from __future__ import annotations

from typing import Final

from roamcast.world.mac.base import Mac
from roamcast.world.mac.dcf import Dcf
from roamcast.world.mac.ideal import Ideal
from roamcast.world.mac.rules import RulesMac
from roamcast.world.mac.tinyos import TinyOs
from roamcast.world.specs import MacSpec

__all__ = ["MACS", "Mac", "build"]

MACS: Final[dict[str, type[Dcf | Ideal | TinyOs]]] = {"dcf": Dcf, "ideal": Ideal, "tinyos": TinyOs}


def build(spec: MacSpec) -> Mac:
    rules = spec.rules
    if rules is not None:
        return RulesMac(spec, rules, rules.timing(), rules.contends, rules.counts_from_now)
    return MACS[spec.name](spec)
