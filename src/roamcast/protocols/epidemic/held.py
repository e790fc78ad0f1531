"""The events that a node carries for others, and the summary of their ids.

An event is *known* from the time it came until it expires. It is *held* as long as there is room for its content; if
there is none, the publisher of most held events gives up its oldest one, which stays known, so that nobody sends it
again. If more than `remembered` events are known and not held, the one that was given up first is no longer known: some
events never expire, and nothing here may grow for ever. An event is *settled* when it is so old that the flood that
brings it to all nodes should be over. Only settled events are summarised: neighbours that are reached by one flood at
slightly different times do not differ.

The digest is the exclusive or of all settled ids, each mixed so that ids that differ in one bit differ in about half of
them. It is the same whatever the order in which the events came.

Ids are remembered longer than events are valid: an event that has expired here is not taken again from a neighbour
whose clock is a little behind.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Final, final

from roamcast.protocols.kit.seen import Seen
from roamcast.pubsub.event import FOREVER, Event

MASK: Final = (1 << 63) - 1


def mixed(id: int) -> int:
    """63 bits that depend on all bits of the id (the finaliser of SplitMix64, one bit shorter)."""
    z = (id * 0x1E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0x3F58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x14D049BB133111EB) & MASK
    return z ^ z >> 31


@final
class KnownEvent:
    __slots__ = ("born_us", "delivered", "event", "expiry_us", "own", "pushed_us", "pushes", "settled", "validity_us")

    def __init__(self, event: Event, born_us: int, own: bool) -> None:
        self.renew(event, born_us)
        self.own = own
        self.settled = False
        self.delivered = False
        self.pushes = 0  # how often it was sent to neighbours that lacked it, in quick succession
        self.pushed_us = 0

    def renew(self, event: Event, born_us: int) -> None:
        self.event: Event | None = event  # None if it had to make room
        self.born_us = born_us  # when it was published, by this node's clock
        self.validity_us = event.validity_us
        self.expiry_us = born_us + event.validity_us


@final
class HeldEvents:
    def __init__(self, most: int, most_bytes: int, remembered: int, settle_us: int) -> None:
        self.most = most
        self.most_bytes = most_bytes
        self.remembered = remembered
        self.settle_us = settle_us
        self.known: dict[int, KnownEvent] = {}
        self.held: dict[int, dict[int, None]] = {}  # publisher -> ids of held events, oldest first
        self.given_up: OrderedDict[int, None] = OrderedDict()  # ids that are known and not held, longest given up first
        self.count = 0  # of held events
        self.bytes = 0
        self.seen = Seen()  # ids whose events are not known, or no longer
        self.forgotten: list[int] = []
        self.expiries: list[tuple[int, int]] = []  # a heap of (time, id); some are out of date
        self.settling: list[tuple[int, int]] = []
        self.settled = 0
        self.digest = 0

    def add(self, event: Event, born_us: int, own: bool) -> KnownEvent:
        """A new event, or one that had to make room and is published again, with the validity that is left."""
        known = self.known.get(event.id)
        if known is None:
            known = KnownEvent(event, born_us, own)
            self.known[event.id] = known
            heapq.heappush(self.settling, (born_us + self.settle_us, event.id))
        else:
            known.renew(event, born_us)
            del self.given_up[event.id]
        self._await_expiry(known, event.id)
        self.held.setdefault(event.publisher, {})[event.id] = None
        self.count += 1
        self.bytes += event.size
        return known

    def is_held(self, id: int) -> bool:
        known = self.known.get(id)
        return known is not None and known.event is not None

    def has_seen(self, id: int) -> bool:
        return id in self.known or id in self.seen

    def remember(self, id: int) -> None:
        """An id whose event is not known, or no longer."""
        self.seen.add(id)
        while len(self.seen) > self.remembered:
            oldest = self.seen.take_oldest()
            if oldest not in self.known:
                self.forgotten.append(oldest)

    def take_forgotten(self) -> list[int]:
        """The ids that were forgotten since the last call."""
        forgotten = self.forgotten
        self.forgotten = []
        return forgotten

    def make_room(self) -> list[int]:
        """Give up events until the rest fit; returns their ids. They stay known."""
        given_up: list[int] = []
        while self.count > self.most or (self.bytes > self.most_bytes and self.count > 1):
            richest: dict[int, None] = {}
            for ids in self.held.values():
                if len(ids) > len(richest):
                    richest = ids
            id = next(iter(richest))
            self._let_go(id)
            given_up.append(id)
        return given_up

    def drop_given_up(self) -> bool:
        """Forget events that were given up, beyond the limit; returns whether there were any."""
        dropped = False
        while len(self.given_up) > self.remembered:
            self._drop(next(iter(self.given_up)))
            dropped = True
        return dropped

    def settle(self, now_us: int) -> bool:
        """Take into the summary what is old enough by now; returns whether there was anything."""
        changed = False
        while self.settling and self.settling[0][0] <= now_us:
            _, id = heapq.heappop(self.settling)
            known = self.known.get(id)
            if known is not None and not known.settled:
                known.settled = True
                self._toggle(id, 1)
                changed = True
        return changed

    def expire(self, now_us: int) -> None:
        while self.expiries and self.expiries[0][0] <= now_us:
            _, id = heapq.heappop(self.expiries)
            known = self.known.get(id)
            if known is not None and known.expiry_us <= now_us:
                self._drop(id)

    def settled_ids(self) -> list[int]:
        """In ascending order."""
        return sorted([id for id, known in self.known.items() if known.settled])

    def _let_go(self, id: int) -> None:
        known = self.known[id]
        event = known.event
        if event is None:
            return
        known.event = None
        self.given_up[id] = None
        self.count -= 1
        self.bytes -= event.size
        ids = self.held[event.publisher]
        del ids[id]
        if not ids:
            del self.held[event.publisher]

    def _drop(self, id: int) -> None:
        """It is no longer known."""
        self._let_go(id)
        if self.known[id].settled:
            self._toggle(id, -1)
        del self.given_up[id]
        del self.known[id]
        self.remember(id)

    def _await_expiry(self, known: KnownEvent, id: int) -> None:
        if known.validity_us >= FOREVER:
            return
        heapq.heappush(self.expiries, (known.expiry_us, id))
        if len(self.expiries) > 2 * (self.most + self.remembered):  # most belong to events that are no longer known
            self.expiries = [(k.expiry_us, i) for i, k in self.known.items() if k.validity_us < FOREVER]
            heapq.heapify(self.expiries)

    def _toggle(self, id: int, change: int) -> None:
        self.digest ^= mixed(id)
        self.settled += change
