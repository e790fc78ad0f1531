"""Gossip and plain flooding: the baseline of Baldoni et al., Rezende et al. and Li et al.

(In §VI, §4.2 and §4.1 of their papers.) The source always sends. A node that receives an event for the first time
forwards it with probability p, after a random assessment delay. Without the delay, all nodes would forward one DIFS
after the frame that they heard, and collide. p = 1 is flooding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, param, reason
from roamcast.protocols.kit.relay import Relay

DRAWN: Final = reason("forward", "drawn", "the draw was for {event}")
NOT_DRAWN: Final = reason("suppress", "not drawn", "the draw was against {event}")


@dataclass(frozen=True)
class GossipParams(Params):
    p: float = param(0.5, "probability of forwarding an event", "Baldoni et al. 2005, Fig. 10", low=0.0, high=1.0)
    ttl: int = param(0, "hops an event may go; 0 means any number", "ours", unit="hops", low=0, high=255)
    jitter_ms: float = param(10.0, "longest assessment delay before forwarding", "ours", unit="ms", low=0.0)


@final
class Gossip(Relay):
    params_class = GossipParams

    def __init__(self, host: Host, params: GossipParams) -> None:
        super().__init__(host, params, params.ttl)
        self.params = params
        self.jitter_us = params.jitter_ms * 1000.0

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, EventFrame)
        host = self.host
        id = frame.id
        host.mute(id)
        if not self.accept(frame, sender):
            return
        if self.params.p < 1.0 and host.random() >= self.params.p:
            host.note(NOT_DRAWN, id, sender)
        else:
            self.wait(frame, int(host.random() * self.jitter_us))

    def on_timer(self, key: int) -> None:
        frame = self.next_hop(key)
        if frame is not None:
            self.host.note(DRAWN, key)
            self.host.broadcast(frame)
