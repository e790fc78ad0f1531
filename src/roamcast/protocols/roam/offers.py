"""Events that neighbours lack, from the time that becomes known until they are sent.

Everybody in range of a list may help, so an event waits for a random time and is not sent if another node was first.
What is sent again and again to the same neighbours gets ever longer pauses (M5).
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Host, reason
from roamcast.protocols.roam.frames import Missing, missing_bytes
from roamcast.protocols.roam.held import HeldEvents, Sendings
from roamcast.protocols.roam.known import NONE
from roamcast.protocols.roam.neighbours import NOBODY, Neighbours
from roamcast.protocols.roam.pace import Pace, RoamParams

LACKED: Final = reason("forward", "neighbour lacks it", "{event} is not on the list of {peer}")
SENT_BY_OTHER: Final = reason("suppress", "sent by another", "{event} was sent by {peer}")

DOUBLINGS: Final = 3
"""How often a pause doubles at most: an event that is lost costs a pause."""


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
            before = self.table.sendings.get(id)
            if before is not None and before.last_us < met_us:
                before.pushes = 0  # pauses are between sendings to the same neighbours (M5)
            if before is None or before.last_us < met_us or before.again_us <= self.host.now():
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
        known = self.table.known
        batch: list[EventFrame] = []
        size = 0
        frames = 0
        for id in list(self.waiting):
            place = known.place(id)
            event = known.events[place] if place != NONE else None
            if event is None or self.neighbours.find(self.waiting[id]) == NOBODY:
                del self.waiting[id]
                continue
            since_us = known.expiry_us(place) - event.validity_us
            each = EventFrame(event, 0, int(max(0, self.host.now() - since_us)))
            if batch and size + missing_bytes(each) > self.params.frame_limit:
                self.host.broadcast(Missing(batch))
                batch, size, frames = [], 0, frames + 1
                if frames == self.params.burst:
                    break
            self.host.note(LACKED, id, self.waiting.pop(id))
            self.sent(id)
            batch.append(each)
            size += missing_bytes(each)
        if batch:
            self.host.broadcast(Missing(batch))
        if self.waiting:
            self.host.set_timer(self.key, self.pace.pause_us)

    def sent(self, id: int) -> None:
        of_event = self.table.sendings.setdefault(id, Sendings())
        now_us = self.host.now()
        pause_us = self.pace.shortest_us
        if now_us > of_event.again_us + (pause_us << DOUBLINGS):
            of_event.pushes = 0
        of_event.last_us = now_us
        of_event.again_us = now_us + (pause_us << min(of_event.pushes, DOUBLINGS if self.params.pauses else 0))
        of_event.pushes += 1
