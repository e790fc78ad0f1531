"""The air: which frames reach which stations, and what happens to them there. Each kind of air has a file (`base` names
them); a run has one kind."""

from __future__ import annotations

from roamcast.world.air.base import Air
from roamcast.world.air.graded import GradedAir
from roamcast.world.air.ideal import IdealAir
from roamcast.world.air.lora import LoraAir
from roamcast.world.air.medium import Medium
from roamcast.world.air.plain import PlainAir
from roamcast.world.air.steady import MeteredAir, SteadyAir
from roamcast.world.mac.lora import Lora

__all__ = ["Air", "Medium", "build"]


def build(medium: Medium, metered: bool) -> Air:
    """The fastest kind of air that is right in this world. `metered` is whether the protocol reads its battery."""
    mac = medium.mac
    if isinstance(mac, Lora):
        return LoraAir(medium, mac)
    if not mac.contends:
        return IdealAir(medium)
    if not medium.radio.plain:
        return GradedAir(medium, metered)
    if medium.losses is not None or medium.recorder.rows.frames or medium.faults.any():
        return PlainAir(medium)
    return MeteredAir(medium) if metered else SteadyAir(medium)
