"""Events that neighbours lack, from the time that becomes known until they are sent.

Everybody in range of a list may help, so an event waits for a random time and is not sent if another node was first.
What is sent again and again to the same neighbours gets ever longer pauses (M5).
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Host, reason
from roamcast.protocols.roam.frames import Missing, missing_bytes
from roamcast.protocols.roam.held import HeldEvents, KnownEvent
from roamcast.protocols.roam.neighbours import Neighbours
from roamcast.protocols.roam.pace import Pace, RoamParams

LACKED: Final = reason("forward", "neighbour lacks it", "{event} is not on the list of {peer}")
SENT_BY_OTHER: Final = reason("suppress", "sent by another", "{event} was sent by {peer}")

DOUBLINGS: Final = 3
"""How often a pause doubles at most: a list or an event that is lost costs a pause."""


@final
class Offers:
    """Uses the host's timer `key`; whoever owns it calls `send` when that one expires."""

    def __init__(
        self, host: Host, key: int, params: RoamParams, pace: Pace, table: HeldEvents, neighbours: Neighbours
    ) -> None:
        self.host = host
        self.key = key
        self.params = params
        self.pace = pace
        self.table = table
        self.neighbours = neighbours
        self.waiting: dict[int, int] = {}  # ids, and the first neighbour that lacks each

    def add(self, lacked: list[int], sender: int) -> None:
        """Send these events, which a neighbour lacks, after a random delay, unless another node does so first."""
        none_waited = not self.waiting
        met_us = self.neighbours.met_us(sender)
        for id in lacked:
            known = self.table.known[id]
            if known.pushed_us < met_us:
                known.pushes = 0  # pauses are between sendings to the same neighbours (M5)
            if known.pushed_us < met_us or known.again_us <= self.host.now():
                self.waiting.setdefault(id, sender)
        if self.waiting and none_waited:
            self.host.set_timer(self.key, self.pace.answer_delay(self.neighbours.count(self.host.now())))

    def heard(self, id: int, sender: int) -> None:
        """A neighbour has sent this event."""
        if self.waiting and id in self.waiting:
            del self.waiting[id]
            self.host.note(SENT_BY_OTHER, id, sender)

    def clear(self) -> None:
        self.waiting = {}

    def send(self) -> None:
        """Send some of the events that wait, unless the neighbour has gone."""
        self.neighbours.forget(self.host.now())
        batch: list[EventFrame] = []
        size = 0
        frames = 0
        for id in list(self.waiting):
            known = self.table.known.get(id)
            if known is None or known.event is None or self.waiting[id] not in self.neighbours.here:
                del self.waiting[id]
                continue
            each = EventFrame(known.event, 0, max(0, self.host.now() - known.since_us))
            if batch and size + missing_bytes(each) > self.params.frame_limit:
                self.host.broadcast(Missing(batch))
                batch, size, frames = [], 0, frames + 1
                if frames == self.params.burst:
                    break
            self.host.note(LACKED, id, self.waiting.pop(id))
            self.pushed(known)
            batch.append(each)
            size += missing_bytes(each)
        if batch:
            self.host.broadcast(Missing(batch))
        if self.waiting:
            self.host.set_timer(self.key, self.pace.pause_us)

    def pushed(self, known: KnownEvent) -> None:
        now_us = self.host.now()
        pause_us = self.pace.shortest_us
        if now_us > known.again_us + (pause_us << DOUBLINGS):
            known.pushes = 0
        known.pushed_us = now_us
        known.again_us = now_us + (pause_us << min(known.pushes, DOUBLINGS if self.params.pauses else 0))
        known.pushes += 1
