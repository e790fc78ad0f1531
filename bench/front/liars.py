"""Roam among liars: a share of the nodes sends wrong summaries and empty lists all the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, param
from roamcast.protocols.roam.frames import IdList, Missing, Summary, id_lists
from roamcast.protocols.roam.pace import RoamParams
from roamcast.protocols.roam.protocol import Roam
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

LIE = -1_000_000
EVERY_US = 500_000


@dataclass(frozen=True)
class LyingParams(Params):
    liars: float = param(0.1, "share of the nodes that lie", "ours", low=0.0, high=1.0)


class LyingRoam(Protocol):
    """Liars say twice a second that they know a thousand events with a random digest, and then list none."""

    params_class = LyingParams
    frames = (EventFrame, Summary, IdList, Missing)

    def __init__(self, host: Host, params: LyingParams) -> None:
        super().__init__(host, params)
        self.roam = Roam(host, RoamParams())
        self.lies = host.random() < params.liars

    def on_start(self) -> None:
        self.roam.on_start()
        if self.lies:
            self.host.set_timer(LIE, int(self.host.random() * EVERY_US))

    def on_timer(self, key: int) -> None:
        if key != LIE:
            self.roam.on_timer(key)
            return
        wrong = Summary(1000, int(self.host.random() * (1 << 53)), 600, 300)
        self.host.broadcast(wrong)
        for frame in id_lists(vec[i64](), wrong, 1200):
            self.host.broadcast(frame)
        self.host.set_timer(LIE, EVERY_US)

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.roam.on_frame(frame, sender)

    def on_publish(self, event: Event) -> None:
        self.roam.on_publish(event)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.roam.on_subscribe(subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self.roam.on_unsubscribe(subscription)

    def memory(self) -> tuple[int, int]:
        memory: Any = self.roam.memory()
        return memory[0], memory[1]
