"""The worlds in which both simulators run gossip: those of the papers' presets, as far as both can have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from roamcast.papers import presets
from roamcast.world.scenario import Scenario

SEED = 1
SHORT = "-short"
"""After the name of a world that takes a fraction of the time."""


@dataclass(frozen=True)
class Case:
    """A preset and what is changed about its world. `asked` is how many times as fast as ns-3 roamcast should be."""

    preset: str
    changes: dict[str, Any] = field(default_factory=dict)
    asked: int = 0

    def scenario(self) -> Scenario:
        return presets.load(self.preset).scenario(self.changes)

    def params(self) -> dict[str, Any]:
        """Those of gossip that the preset sets, over the defaults that ns-3's program has to know."""
        return {"p": 0.5, "jitter_ms": 10.0, "ttl": 0, **presets.load(self.preset).parameters("gossip", {})}

    def shortened(self, **changes: Any) -> Case:
        return Case(self.preset, {**self.changes, **changes}, self.asked)


# Six times as long as the preset: with p = 0.5 few floods are large, and 200 of them would differ too much.
LONGER = {"duration_s": 1210.0}
# In the preset every frame draws its range; a disc of ns-3 has one.
DISC = {"radio": "disc", "range_m": 150.0, "range_max_m": 0.0, "carrier_sense_ratio": 1.0}
# The preset's MAC is ideal, which 802.11 is not. Nobody publishes after 1,200 s.
ON_80211 = {"mac": "dcf", "duration_s": 1201.0}
# 2 s of the preset's 58 s of publishing: 50 events.
A_WHILE = {"duration_s": 5.0, "publish_from_s": 1.0, "publish_until_s": 3.0}
# The same density and the same number of events, as bench/cases.py scales its field.
TWICE = {"nodes": 1000, "width_m": 2000.0 * sqrt(2.0), "height_m": 2000.0 * sqrt(2.0), "rate_hz": 0.025}

LONG = {
    "baldoni-disc": Case("baldoni", {**LONGER, **DISC}, asked=100),
    "baldoni-two-ray": Case("baldoni", LONGER, asked=100),
    "rezende": Case("rezende", ON_80211, asked=100),
    "li": Case("li", A_WHILE, asked=400),
    "li-1000": Case("li", {**A_WHILE, **TWICE}, asked=1300),
}
CASES = {
    **LONG,
    f"baldoni-disc{SHORT}": LONG["baldoni-disc"].shortened(duration_s=210.0),
    f"baldoni-two-ray{SHORT}": LONG["baldoni-two-ray"].shortened(duration_s=210.0),
    f"rezende{SHORT}": LONG["rezende"].shortened(duration_s=121.0, publish_until_s=120.0, events=100),
    f"li{SHORT}": LONG["li"].shortened(duration_s=2.0, publish_until_s=1.4),
    f"li-1000{SHORT}": LONG["li-1000"].shortened(duration_s=2.0, publish_until_s=1.4),
}


def names(quick: bool) -> list[str]:
    return [f"{name}{SHORT}" if quick else name for name in LONG]
