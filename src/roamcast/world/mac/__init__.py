"""Medium access: each MAC has a file. A new one is a file, a line here, and its name in parts.py.

A MAC from outside (outside.py) needs none of these.
"""

from __future__ import annotations

from typing import Final

from roamcast.world.mac.base import Mac
from roamcast.world.mac.dcf import Dcf
from roamcast.world.mac.ideal import Ideal
from roamcast.world.mac.lora import Lora
from roamcast.world.mac.outside import FromOutside
from roamcast.world.mac.tinyos import TinyOs
from roamcast.world.specs import MacSpec

__all__ = ["MACS", "Mac", "build"]

MACS: Final[dict[str, type[Dcf | Ideal | Lora | TinyOs]]] = {"dcf": Dcf, "ideal": Ideal, "lora": Lora, "tinyos": TinyOs}


def build(spec: MacSpec) -> Mac:
    outside = spec.outside
    if outside is not None:
        return FromOutside(spec, outside, outside.contends, outside.counts_from_now)
    return MACS[spec.name](spec)
