"""The host of a protocol on a real node: it fulfils `protocols.kit.interface.Host`, and offers nothing else.

Every request is passed on to the object that fulfils it. Time is microseconds since the node was made.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from roamcast.net.air.lanes import Outboxes
from roamcast.net.air.timers import Timers
from roamcast.net.host.decisions import Decisions
from roamcast.net.host.deliveries import Deliveries
from roamcast.net.host.muted import MutedIds
from roamcast.net.host.protocol_timers import ProtocolTimers
from roamcast.net.host.senses import Senses
from roamcast.protocols.kit.interface import BROADCAST, NOBODY, Frame, Host
from roamcast.pubsub.event import Event


class NetHost(Host):
    def __init__(
        self,
        id: int,
        clock: Timers,
        timers: ProtocolTimers,
        outbox: Outboxes,
        deliveries: Deliveries,
        decisions: Decisions,
        muted: MutedIds,
        senses: Senses,
        stream: random.Random,
    ) -> None:
        """`transmit` can be replaced: during a catch-up, nothing goes into the outbox."""
        super().__init__(id)
        self.running = False  # a protocol whose node was stopped inside a handler has no effects any more
        self.transmit: Callable[[Frame, int], None] = outbox.add
        self._outbox = outbox
        self._clock = clock
        self._timers = timers
        self._deliveries = deliveries
        self._decisions = decisions
        self._muted = muted
        self._senses = senses
        self._stream = stream

    def now(self) -> int:
        return self._clock.now_us()

    def random(self) -> float:
        return self._stream.random()

    def broadcast(self, frame: Frame) -> None:
        if self.running:
            self.transmit(frame, BROADCAST)

    def send(self, to: int, frame: Frame) -> None:
        if self.running:
            self.transmit(frame, to)

    def set_timer(self, key: int, delay_us: int) -> None:
        if delay_us < 0:
            raise ValueError(f"a timer cannot be set for {-delay_us} us ago")
        if self.running:
            self._timers.set(key, delay_us)

    def cancel_timer(self, key: int) -> None:
        self._timers.cancel(key)

    def deliver(self, event: Event) -> None:
        self._deliveries.deliver(event)

    def note(self, reason: int, event: int = 0, peer: int = NOBODY, value: int = 0) -> None:
        self._decisions.note(reason, event, peer, value)

    def mute(self, id: int) -> None:
        self._muted.mute(id)

    def unmute(self, id: int) -> None:
        self._muted.unmute(id)

    def heard(self, id: int) -> int:
        return self._muted.heard(id)

    def signal(self) -> float:
        return self._senses.signal()

    def speed(self) -> float:
        return self._senses.speed()

    def airtime(self, size: int) -> int:
        return self._outbox.airtime(size)

    def battery(self) -> float:
        return self._senses.battery()
