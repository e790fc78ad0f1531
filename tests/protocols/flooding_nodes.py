"""What tests of floodings share."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.protocols.flooding import FloodingInterest, FloodingNeighbors, FloodingPeriodic, HeartbeatFrame
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make

NEWS, SPORT = topic("news"), topic("sport")
VARIANTS: list[type[FloodingPeriodic]] = [FloodingPeriodic, FloodingInterest, FloodingNeighbors]
SECOND_US = 1_000_000


every = pytest.mark.parametrize("variant", VARIANTS)


def node(variant: type[FloodingPeriodic], *subscriptions: Any, **params: Any) -> tuple[FloodingPeriodic, ScriptHost]:
    """A node with these subscriptions; if the variant knows neighbours, neighbour 3 wants news and is never
    forgotten."""
    protocol, host = make(variant, **params)
    assert isinstance(protocol, FloodingPeriodic)
    for k, filter in enumerate(subscriptions):
        protocol.on_subscribe(k, filter)
    if isinstance(protocol, FloodingNeighbors):
        protocol.on_frame(HeartbeatFrame([NEWS]), 3)
        protocol.forget_us = 1 << 60
    return protocol, host
