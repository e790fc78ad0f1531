"""Counter-based flooding (Ni et al. 1999): forward an event unless enough neighbours have forwarded it already.

The first reception starts a random assessment delay. The node counts the copies that it receives until the delay ends,
the first one included. Then it forwards the event if it has counted fewer than `copies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, param, reason
from roamcast.protocols.kit.relay import Relay

FEW: Final = reason("forward", "few copies", "{event} was heard only {value} times")
MANY: Final = reason("suppress", "many copies", "{event} was heard {value} times")


@dataclass(frozen=True)
class CounterParams(Params):
    copies: int = param(3, "copies received that make another one useless", "Ni et al. 1999, C = 3", low=1, high=100)
    delay_ms: float = param(20.0, "longest assessment delay", "ours", unit="ms", low=0.0)
    ttl: int = param(0, "hops an event may go; 0 means any number", "ours", unit="hops", low=0, high=255)


@final
class Counter(Relay):
    params_class = CounterParams

    def __init__(self, host: Host, params: CounterParams) -> None:
        super().__init__(host, params, params.ttl)
        self.params = params
        self.delay_us = params.delay_ms * 1000.0

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, EventFrame)
        self.host.mute(frame.id)
        if self.accept(frame, sender):
            self.wait(frame, int(self.host.random() * self.delay_us))

    def on_timer(self, key: int) -> None:
        frame = self.next_hop(key)
        if frame is None:
            return
        heard = 1 + self.host.heard(key)
        if heard < self.params.copies:
            self.host.note(FEW, key, value=heard)
            self.host.broadcast(frame)
        else:
            self.host.note(MANY, key, value=heard)
