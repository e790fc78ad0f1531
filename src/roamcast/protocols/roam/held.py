"""The events that a node carries for others, and summaries of their ids.

An event is *known* from the time it came until it expires. It is *held* as long as there is room for its content; if
there is none, the publisher of most events gives up its oldest one (the publisher of most content, if that is what is
short). It stays known, so that nobody sends it again. If more than `remembered` events are known and not held, the
one that was given up first is no longer known: some events never expire, and nothing here may grow for ever. Ids are
remembered longer than events are valid: an event that has expired here is not taken again from a neighbour whose clock
is a little behind.

A summary is about the events of a *window*: those that are old enough for the flood that brings them to be over
(`young_us`), and valid for long enough to be sent once more (`left_us`). The sender of a summary says where both edges
are, and the receiver counts its own events between them. No two nodes agree to the millisecond how old an event is, so
one at an edge may look like a difference for a moment.

The digest is the exclusive or of the ids in the window, each mixed so that ids that differ in one bit differ in about
half of them. It is the same whatever the order in which the events came. Most known events are far from both edges:
their digest is kept (`core`), and only those near an edge, the `young` and the `leaving`, are looked at one by one. For
a window that is narrower (its sender has spent more time since it was made, or spends less effort), all are.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.seen import Seen
from roamcast.protocols.roam.changes import Changes
from roamcast.protocols.roam.edge import Edge
from roamcast.protocols.roam.known import NONE, KnownEvents, Window, mixed, unmixed
from roamcast.pubsub.event import FOREVER, Event

NEVER: Final = -(1 << 60)
NEAR: Final = 2
"""An event is near an edge of the window if it is beyond it by no more than a NEAR-th of the time from now to the edge.
A neighbour's window that was made before a random delay is mostly no farther away."""


@final
class Sendings:
    """Of an event that neighbours lacked: how often it was sent in quick succession, when it was sent last, and when it
    may be sent again to those that were there."""

    __slots__ = ("again_us", "last_us", "pushes")

    def __init__(self) -> None:
        self.pushes = 0
        self.last_us = NEVER
        self.again_us = NEVER


@final
class Publishers:
    """The held events of each publisher, oldest first: whoever has most makes room."""

    __slots__ = ("bytes", "ids")

    def __init__(self) -> None:
        self.ids: dict[int, dict[int, None]] = {}
        self.bytes: dict[int, int] = {}  # of content

    def add(self, event: Event) -> None:
        self.ids.setdefault(event.publisher, {})[event.id] = None
        self.bytes[event.publisher] = self.bytes.get(event.publisher, 0) + event.size

    def remove(self, event: Event) -> None:
        ids = self.ids[event.publisher]
        del ids[event.id]
        self.bytes[event.publisher] -= event.size
        if not ids:
            del self.ids[event.publisher]
            del self.bytes[event.publisher]

    def oldest_of_richest(self, in_events: bool) -> int:
        """The oldest event of the publisher with most events, or with most content."""
        richest, most = NONE, -1
        for publisher, ids in self.ids.items():
            has = len(ids) if in_events else self.bytes[publisher]
            if has > most:
                richest, most = publisher, has
        return next(iter(self.ids[richest]))


@final
class HeldEvents:
    def __init__(self, most: int, most_bytes: int, remembered: int, young_us: int, left_us: int) -> None:
        self.most = most
        self.most_bytes = most_bytes
        self.remembered = remembered
        self.young_us: i64 = young_us
        self.left_us: i64 = left_us
        self.near_young_us: i64 = young_us + young_us // NEAR  # so old, and …
        self.near_left_us: i64 = left_us + left_us // NEAR  # … valid for so long, events are far from both edges
        self.now_us: i64 = 0
        self.known = KnownEvents()
        self.publishers: Publishers | None = None  # who holds what; nobody asks before there is no room
        self.given_up: OrderedDict[int, None] = OrderedDict()  # ids that are known and not held, longest given up first
        self.sendings: dict[int, Sendings] = {}  # of known events that were sent to neighbours
        self.count = 0  # of held events
        self.bytes = 0
        self.seen = Seen()  # ids whose events are not known, or no longer
        self.forgotten: list[int] = []
        self.young = Edge()
        self.core: i64 = 0  # the digest of the events between the edges
        self.in_core: i64 = 0
        self.leaving = Edge()
        self.changes = Changes()  # when events in the core leave it, and those that are leaving expire

    # ---- what is known

    def add(self, event: Event, born_us: i64, marks: i64) -> i64:
        """A new event, or one that had to make room and is published again, with the validity that is left: windows
        still go by its first publication. Returns its place."""
        id = event.id
        known = self.known
        if not self.given_up or id not in self.given_up:
            place = known.add(event, born_us, marks)
        else:
            place = known.place(id)
            self._leave_windows(id)
            known.events[place] = event
            known.set_expiry(place, born_us + event.validity_us)
            del self.given_up[id]
        self._enter_windows(id, known.born_us(place), known.expiry_us(place))
        if self.publishers is not None:
            self.publishers.add(event)
        self.count += 1
        self.bytes += event.size
        return place

    def is_held(self, id: int) -> bool:
        return self.known.is_held(id)

    def held_by_digest(self, digest: i64, window: Window) -> i64:
        """The id with this digest, if its event is held, and in the window; otherwise NONE."""
        id = unmixed(digest)
        place = self.known.place(id)
        return id if place != NONE and self.known.is_offered(place, window) else NONE

    def has_seen(self, id: i64) -> bool:
        return id in self.known.here or (len(self.seen) > 0 and id in self.seen)

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

    def is_full(self) -> bool:
        return self.count >= self.most or self.bytes >= self.most_bytes

    def lacks_room(self) -> bool:
        return self.count > self.most or (self.bytes > self.most_bytes and self.count > 1)

    def make_room(self) -> list[int]:
        """Give up events until the rest fit; returns their ids. They stay known."""
        given_up: list[int] = []
        while self.lacks_room():
            id = self._by_publisher().oldest_of_richest(self.count > self.most)
            self._give_up(id)
            given_up.append(id)
        while len(self.given_up) > self.remembered:
            self._drop(next(iter(self.given_up)))
        return given_up

    def _by_publisher(self) -> Publishers:
        """From the first time that there is no room on, this is kept up to date; most nodes never need it."""
        publishers = self.publishers
        if publishers is None:
            publishers = self.publishers = Publishers()
            for event in self.known.as_they_came():
                if event is not None:
                    publishers.add(event)
        return publishers

    # ---- summaries

    def window(self, now_us: i64) -> Window:
        return Window(now_us - self.young_us, now_us + self.left_us)

    def reaches_into_core(self, window: Window) -> bool:
        young_us, left_us = self.now_us - window.born_us, window.expiry_us - self.now_us
        return young_us > self.near_young_us or left_us > self.near_left_us

    def looked_at(self, window: Window) -> int:
        """How many events a summary of the window looks at."""
        return 1 + (len(self.known) if self.reaches_into_core(window) else len(self.young) + len(self.leaving))

    def summary(self, window: Window) -> tuple[i64, i64]:
        """How many ids are in the window, and their digest."""
        if self.reaches_into_core(window):
            return self.known.summary(window)
        young, young_digest = self.young.summary(window)
        leaving, leaving_digest = self.leaving.summary(window)
        return self.in_core + young + leaving, self.core ^ young_digest ^ leaving_digest

    def advance(self, now_us: i64) -> None:
        """Move events to or from the edges, and drop those that have expired."""
        self.now_us = now_us
        young = self.young
        while young.is_due(now_us - self.near_young_us):
            self._grow_up()
        while self.changes.is_due(now_us):
            self._change(self.changes.take())

    def _grow_up(self) -> None:
        """The first of the young events gets to the core, unless it is too late for that."""
        id, born_us, expiry_us = self.young.take()
        if expiry_us - self.now_us > self.near_left_us:
            self.core ^= mixed(id)
            self.in_core += 1
            if expiry_us < FOREVER >> 1:
                self._push(expiry_us - self.near_left_us, id)
        else:
            self.leaving.add(id, born_us, expiry_us)
            # not at its expiry: of two that expire together, the one that got here first is dropped first
            self._push(born_us + self.near_young_us, id)

    def _change(self, id: i64) -> None:
        """An event is leaving the core, or expires. If it was published again, its time may not have come."""
        place = self.known.place(id)
        if place == NONE:
            return
        expiry_us = self.known.expiry_us(place)
        if expiry_us <= self.now_us:
            self._drop(id)
        elif expiry_us - self.now_us <= self.near_left_us:
            if not self.leaving.holds(id):
                self._leave_windows(id)
                self.leaving.add(id, self.known.born_us(place), expiry_us)
            self._push(expiry_us, id)

    def _enter_windows(self, id: i64, born_us: i64, expiry_us: i64) -> None:
        if born_us + self.near_young_us < expiry_us - self.near_left_us:
            self.young.add(id, born_us, expiry_us)
        else:
            self.leaving.add(id, born_us, expiry_us)
            self._push(expiry_us, id)

    def _leave_windows(self, id: i64) -> None:
        if not self.young.remove(id) and not self.leaving.remove(id):
            self.core ^= mixed(id)
            self.in_core -= 1

    def _push(self, time_us: i64, id: i64) -> None:
        self.changes.push(time_us, id)
        if len(self.changes) > 4 * (self.most + self.remembered):  # most belong to events that are no longer known
            self.changes = Changes()
            young, leaving = set(self.young.ids()), set(self.leaving.ids())
            for place in range(len(self.known)):
                each = int(self.known.id(place))
                if each not in young:
                    expiry_us = self.known.expiry_us(place)
                    self.changes.push(expiry_us if each in leaving else expiry_us - self.near_left_us, each)

    def _give_up(self, id: int) -> None:
        """Its content makes room, and it stays known."""
        place = self.known.place(id)
        event = self.known.events[place]
        if event is not None:
            self._let_go(event)
            self.known.events[place] = None
            self.given_up[id] = None

    def _let_go(self, event: Event) -> None:
        """It is no longer held."""
        self.count -= 1
        self.bytes -= event.size
        if self.publishers is not None:
            self.publishers.remove(event)

    def _drop(self, id: int) -> None:
        """It is no longer known."""
        event = self.known.events[self.known.place(id)]
        if event is not None:
            self._let_go(event)
        else:
            del self.given_up[id]
        self._leave_windows(id)
        self.known.remove(id)
        if self.sendings:
            self.sendings.pop(id, None)
        self.remember(id)
