"""Gossip and plain flooding: the baseline of Baldoni et al., Rezende et al. and Li et al.

(In §VI, §4.2 and §4.1 of their papers.) The source always sends. A node that receives an event for the first time
forwards it with probability p, after a random assessment delay. Without the delay, all nodes would forward one DIFS
after the frame that they heard, and collide. p = 1 is flooding.

  R1  a broadcast that is lost stays lost (`repair` false), as in the papers. With `repair`, nodes hold valid events,
      compare the ids that they know, and send each other what is missing: the work of `roam`, whose flood then
      draws as gossip does. Real nodes repair unless this is set
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, param, reason
from roamcast.protocols.kit.relay import Relay
from roamcast.protocols.roam.frames import IdList, Missing, Summary
from roamcast.protocols.roam.pace import RoamParams
from roamcast.protocols.roam.protocol import Roam
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

DRAWN: Final = reason("forward", "drawn", "the draw was for {event}")
NOT_DRAWN: Final = reason("suppress", "not drawn", "the draw was against {event}")
ANY_COPIES: Final = 100
"""Gossip does not count copies."""


@dataclass(frozen=True)
class GossipParams(Params):
    p: float = param(0.5, "probability of forwarding an event", "Baldoni et al. 2005, Fig. 10", low=0.0, high=1.0)
    ttl: int = param(0, "hops an event may go; 0 means any number", "ours", unit="hops", low=0, high=255)
    jitter_ms: float = param(10.0, "longest assessment delay before forwarding", "ours", unit="ms", low=0.0)
    repair: bool = param(False, "neighbours send each other what is missing", "ours (R1); the papers do not")

    def __post_init__(self) -> None:
        if self.repair and self.ttl:
            raise ValueError(f"ttl ({self.ttl}) needs repair=false: what is repaired goes as far as there are nodes")


@final
class Gossip(Relay):
    params_class = GossipParams
    frames: ClassVar[tuple[type[Frame], ...]] = (EventFrame, Summary, IdList, Missing)

    def __init__(self, host: Host, params: GossipParams) -> None:
        super().__init__(host, params, params.ttl)
        self.params = params
        self.jitter_us = params.jitter_ms * 1000.0
        self.repairing: Roam | None = None
        if params.repair:
            drawn = RoamParams(p=params.p, delay=0.0, delay_ms=params.jitter_ms, copies=ANY_COPIES)
            self.repairing = Roam(host, drawn)

    def on_frame(self, frame: Frame, sender: int) -> None:
        if self.repairing is not None:
            self.repairing.on_frame(frame, sender)
            return
        if not isinstance(frame, EventFrame):  # of a neighbour that repairs
            return
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
        if self.repairing is not None:
            self.repairing.on_timer(key)
            return
        frame = self.next_hop(key)
        if frame is not None:
            self.host.note(DRAWN, key)
            self.host.broadcast(frame)

    # ---- everything else is repaired, or as in all floodings

    def on_start(self) -> None:
        if self.repairing is not None:
            self.repairing.on_start()
        else:
            super().on_start()

    def on_publish(self, event: Event) -> None:
        if self.repairing is not None:
            self.repairing.on_publish(event)
        else:
            super().on_publish(event)

    def on_publish_again(self, event: Event) -> None:
        if self.repairing is not None:
            self.repairing.on_publish_again(event)
        else:
            super().on_publish_again(event)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        if self.repairing is not None:
            self.repairing.on_subscribe(subscription, filter)
        else:
            super().on_subscribe(subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        if self.repairing is not None:
            self.repairing.on_unsubscribe(subscription)
        else:
            super().on_unsubscribe(subscription)

    def memory(self) -> tuple[int, int]:
        return super().memory() if self.repairing is None else self.repairing.memory()

    @classmethod
    def holds_state(cls, params: Params) -> bool:
        repairs = isinstance(params, GossipParams) and params.repair
        return repairs or cls.memory is not Gossip.memory
