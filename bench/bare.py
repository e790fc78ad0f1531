"""Two protocols that only send: the simulator's cost of a broadcast, and of a frame for one neighbour."""

from __future__ import annotations

from typing import Any

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

EVERY_US = 200_000
NEIGHBOURS = 6


class Ping(Frame):
    def __init__(self) -> None:
        super().__init__("ping", 0, 100)

    def fields(self) -> list[Any]:
        return []


PING = Ping()


class Broadcast(Protocol):
    frames = (Ping,)

    def on_start(self) -> None:
        self.host.set_timer(1, int(self.host.random() * 1_000_000))

    def on_timer(self, key: int) -> None:
        self.send()
        self.host.set_timer(1, EVERY_US)

    def send(self) -> None:
        self.host.broadcast(PING)

    def on_frame(self, frame: Frame, sender: int) -> None:
        pass

    def on_publish(self, event: Event) -> None:
        pass

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        pass


class Unicast(Broadcast):
    """Frames to some of its neighbours in turn; the first one is a broadcast, so that nodes know their neighbours."""

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.known: list[int] = []
        self.sent = 0

    def on_frame(self, frame: Frame, sender: int) -> None:
        if len(self.known) < NEIGHBOURS and sender not in self.known:
            self.known.append(sender)

    def send(self) -> None:
        if self.known and self.sent:
            self.host.send(self.known[self.sent % len(self.known)], PING)
        else:
            self.host.broadcast(PING)
        self.sent += 1
