"""Managed flooding, in the manner of Meshtastic: the farthest receiver forwards first, and the others then do not.

A node that receives an event for the first time waits. The wait is longer for a stronger signal: a strong signal means
that the sender is close, so that forwarding would cover little new area. A random part is added. If the node receives
the event again while it waits, it does not forward it. Where the radio does not measure the signal, only the random
part is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, param, reason
from roamcast.protocols.kit.relay import Relay

FIRST: Final = reason("forward", "first", "no other node sent {event} in time")
HEARD_AGAIN: Final = reason("suppress", "heard again", "{event} was sent by {peer} first")
WAITING: Final = reason("delay", "by signal", "{event} from {peer} waits {value} us")


@dataclass(frozen=True)
class ManagedParams(Params):
    ttl: int = param(
        7, "hops an event may go; 0 means any number", "Meshtastic's largest", unit="hops", low=0, high=255
    )
    delay_ms: float = param(100.0, "delay at the strongest signal", "ours", unit="ms", low=0.0)
    jitter_ms: float = param(20.0, "longest random part of the delay", "ours", unit="ms", low=0.0)
    weak_dbm: float = param(-93.0, "signal at which the delay is shortest", "ours: sensitivity", unit="dBm", high=0.0)
    strong_dbm: float = param(
        -63.0, "signal from which the delay is longest", "ours: 30 dB above", unit="dBm", high=0.0
    )

    def __post_init__(self) -> None:
        if self.strong_dbm <= self.weak_dbm:
            raise ValueError(f"strong_dbm ({self.strong_dbm:g}) must be above weak_dbm ({self.weak_dbm:g})")


@final
class Managed(Relay):
    params_class = ManagedParams

    def __init__(self, host: Host, params: ManagedParams) -> None:
        super().__init__(host, params, params.ttl)
        self.params = params
        self.delay_us = params.delay_ms * 1000.0
        self.jitter_us = params.jitter_ms * 1000.0
        self.span_db = params.strong_dbm - params.weak_dbm

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, EventFrame)
        if self.is_waiting(frame.id):
            self.suppress(frame.id, sender)
        elif self.accept(frame, sender):
            delay_us = self.delay_for_signal()
            self.host.note(WAITING, frame.id, sender, delay_us)
            self.wait(frame, delay_us)
        else:
            self.host.mute(frame.id)

    def suppress(self, id: int, sender: int) -> None:
        self.take(id)
        self.host.cancel_timer(id)
        self.host.mute(id)
        self.host.note(HEARD_AGAIN, id, sender)

    def delay_for_signal(self) -> int:
        signal_dbm = self.host.signal()
        if isnan(signal_dbm):
            strength = 0.0
        else:
            strength = min(max((signal_dbm - self.params.weak_dbm) / self.span_db, 0.0), 1.0)
        return int(strength * self.delay_us + self.host.random() * self.jitter_us)

    def on_timer(self, key: int) -> None:
        self.host.mute(key)
        frame = self.next_hop(key)
        if frame is not None:
            self.host.note(FIRST, key)
            self.host.broadcast(frame)
