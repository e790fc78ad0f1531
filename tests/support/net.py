"""A network that is easy to understand: explicit links, one hop takes a millisecond, frames cross as bytes.

There is no radio: nothing collides. A test chooses loss, duplication and reordering, so that it can be as unfriendly to
a protocol as it wants.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from roamcast.protocols.kit.interface import BROADCAST, Frame, Protocol
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import Filter
from roamcast.testing import ScriptHost, round_trip
from roamcast.world.streams import Stream

HOP_US = 1000


class NetHost(ScriptHost):
    def __init__(self, id: int, net: TinyNet, skew_us: int) -> None:
        super().__init__(id, net.seed)
        self.net = net
        self.skew_us = skew_us

    def now(self) -> int:
        return self.net.now_us + self.skew_us

    def set_timer(self, key: int, delay_us: int) -> None:
        super().set_timer(key, delay_us)
        self.timers[key] = self.net.now_us + delay_us

    def _sent(self, to: int, frame: Frame) -> None:
        super()._sent(to, frame)
        self.net.transmit(self.id, to, frame)


class TinyNet:
    """`TinyNet(Gossip, 4, links=[(0, 1), (1, 2)], p=1.0)`; links are undirected unless `directed`.

    Clocks differ: node i's clock is ahead by `skew_us * i`. `loss`, `duplication` and `jitter_us` are drawn from the
    net's own stream.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        n: int,
        links: Iterable[tuple[int, int]] = (),
        *,
        seed: int = 1,
        directed: bool = False,
        loss: float = 0.0,
        duplication: float = 0.0,
        jitter_us: int = 0,
        skew_us: int = 7_000_000,
        **params: Any,
    ) -> None:
        self.protocol = protocol
        self.seed = seed
        self.params = protocol.params_class(**params)
        self.now_us = 0
        self.loss = loss
        self.duplication = duplication
        self.jitter_us = jitter_us
        self.stream = Stream(seed, 0, "tiny-net")
        self.links: set[tuple[int, int]] = set()
        for i, j in links:
            self.join(i, j, directed=directed)
        self.hosts = [NetHost(i, self, skew_us * i) for i in range(n)]
        self.nodes = [protocol(host, self.params) for host in self.hosts]
        self.up = [True] * n
        self.air: list[tuple[int, int, int, int, bytes, Frame]] = []
        self.serial = 0
        self.sequence = [0] * n
        self.log: list[tuple[int, int, int, Frame]] = []  # (t, from, to or -1, frame)

    # ---- what a test does

    def join(self, i: int, j: int, *, directed: bool = False) -> None:
        self.links.add((i, j))
        if not directed:
            self.links.add((j, i))

    def cut(self, i: int, j: int) -> None:
        self.links.discard((i, j))
        self.links.discard((j, i))

    def start(self) -> None:
        for node in self.nodes:
            node.on_start()

    def subscribe(self, i: int, filter: Filter, subscription: int = 1) -> None:
        self.nodes[i].on_subscribe(subscription, filter)

    def publish(self, i: int, **content: Any) -> Event:
        self.sequence[i] += 1
        event = Event(event_id(i, self.sequence[i]), **content)
        self.nodes[i].on_publish(event)
        return event

    def crash(self, i: int) -> None:
        self.up[i] = False
        self.hosts[i].timers.clear()

    def recover(self, i: int, *, keep_tables: bool = False) -> None:
        self.up[i] = True
        if not keep_tables:
            self.hosts[i].muted.clear()
            self.nodes[i] = self.protocol(self.hosts[i], self.params)
        self.nodes[i].on_start()

    # ---- the air

    def transmit(self, sender: int, to: int, frame: Frame) -> None:
        self.log.append((self.now_us, sender, to, frame))
        reached = False
        for receiver in range(len(self.nodes)):
            if (sender, receiver) not in self.links or to not in (BROADCAST, receiver):
                continue
            if self.loss and self.stream.random() < self.loss:
                continue
            reached = True
            copies = 2 if self.duplication and self.stream.random() < self.duplication else 1
            for _ in range(copies):
                delay = HOP_US + (int(self.stream.random() * self.jitter_us) if self.jitter_us else 0)
                self._push(delay, receiver, sender, frame)
        if to != BROADCAST and not reached:
            self._push(10 * HOP_US, -1 - sender, to, frame)

    def _push(self, delay_us: int, receiver: int, sender: int, frame: Frame) -> None:
        self.serial += 1
        heapq.heappush(self.air, (self.now_us + delay_us, self.serial, receiver, sender, b"", frame))

    def run(self, seconds: float) -> None:
        """Let `seconds` pass."""
        end = self.now_us + round(seconds * 1_000_000)
        while True:
            due = self._next_timer()
            flight = self.air[0][0] if self.air else None
            now = min((t for t in (due[0] if due else None, flight) if t is not None), default=None)
            if now is None or now > end:
                break
            self.now_us = max(self.now_us, now)
            if flight == now:
                self._arrive()
            elif due:
                _, i, key = due
                del self.hosts[i].timers[key]
                self.nodes[i].on_timer(key)
        self.now_us = end

    def _next_timer(self) -> tuple[int, int, int] | None:
        timers = ((t, i, key) for i, h in enumerate(self.hosts) if self.up[i] for key, t in h.timers.items())
        return min(timers, default=None)

    def _arrive(self) -> None:
        _, _, receiver, sender, _, frame = heapq.heappop(self.air)
        if receiver < 0:
            if self.up[-1 - receiver]:
                self.nodes[-1 - receiver].on_undelivered(frame, sender)
        elif self.up[receiver]:
            self.hosts[receiver].hear(self.nodes[receiver], round_trip(self.protocol, frame), sender)

    # ---- what happened

    def delivered(self, i: int) -> list[int]:
        return [event.id for event in self.hosts[i].delivered]

    def sends(self, kind: str | None = None) -> list[tuple[int, int, int, Frame]]:
        return [entry for entry in self.log if kind is None or entry[3].kind == kind]
