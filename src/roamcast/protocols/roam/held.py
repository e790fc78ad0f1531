"""The events that a node carries for others, and summaries of their ids.

An event is *known* from the time it came until it expires. It is *held* as long as there is room for its content; if
there is none, the publisher of most events gives up its oldest one (the publisher of most content, if that is what is
short). It stays known, so that nobody sends it again. If more than `remembered` events are known and not held, the
one that was given up first is no longer known: some events never expire, and nothing here may grow for ever. Ids are
remembered longer than events are valid: an event that has expired here is not taken again from a neighbour whose clock
is a little behind.

A summary is about the events of a *window*: those that are old enough for the flood that brings them to be over
(`young_us`), and valid for long enough to be sent once more (`left_us`). No two nodes agree to the millisecond how old
an event is. If an event were at the edge of the window, one node would count it and its neighbour would not. So the
sender of a summary puts both edges where it knows of no event, in the middle of the widest gap within reach (`window`:
between one and two of these times), and says where they are.

The digest is the exclusive or of the ids in the window, each mixed so that ids that differ in one bit differ in about
half of them. It is the same whatever the order in which the events came. Most known events are far from both edges:
their digest is kept (`core`), and only those near an edge are looked at one by one. For a window with edges farther
away, all are.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.protocols.kit.seen import Seen
from roamcast.pubsub.event import FOREVER, Event

MASK: Final = (1 << 63) - 1
NEVER: Final = -(1 << 60)
NONE: Final = -1
"""No id."""


def mixed(id: int) -> int:
    """63 bits that depend on all bits of the id (the finaliser of SplitMix64, one bit shorter)."""
    z = (id * 0x1E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0x3F58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x14D049BB133111EB) & MASK
    return z ^ z >> 31


@final
class Window:
    """The events that were published at `born_us` or before, and do not expire before `expiry_us`, by this node's
    clock."""

    __slots__ = ("born_us", "expiry_us")

    def __init__(self, born_us: int, expiry_us: int) -> None:
        self.born_us = born_us
        self.expiry_us = expiry_us

    def has(self, known: KnownEvent) -> bool:
        return known.born_us <= self.born_us and known.expiry_us >= self.expiry_us


@final
class KnownEvent:
    __slots__ = (
        "again_us",
        "born_us",
        "core",
        "delivered",
        "digest",
        "event",
        "expiry_us",
        "own",
        "pushed_us",
        "pushes",
        "since_us",
        "validity_us",
        "wanted",
    )

    def __init__(self, event: Event, born_us: int, own: bool) -> None:
        self.born_us = born_us  # when it was published, by this node's clock
        self.renew(event, born_us)
        self.own = own
        self.digest = mixed(event.id)
        self.core = False  # far from the edges of all windows
        self.delivered = False
        self.wanted = False  # whether it is of the kind that this node asks for (M15)
        self.pushes = 0  # how often it was sent to neighbours that lacked it, in quick succession
        self.pushed_us = NEVER  # when it was sent to them last …
        self.again_us = NEVER  # … and when it may be sent again to those that were there

    def renew(self, event: Event, since_us: int) -> None:
        """Published again, an event has only the validity that is left; windows still go by its first publication."""
        self.event: Event | None = event  # None if it had to make room
        self.since_us = since_us
        self.validity_us = event.validity_us
        self.expiry_us = since_us + event.validity_us


def published(known: KnownEvent) -> int:
    """When an event was published, to order events by it."""
    return known.born_us


@final
class KnownInOrder:
    """Known events by their ids, ascending: an id is a plain number in one vector, and its event has the same position
    in a list. Lists of ids are compared with them range by range. A dict would take more room, and more time: the last
    bits of ids are those of small numbers, so that most would collide."""

    __slots__ = ("events", "ids")

    def __init__(self) -> None:
        self.ids = vec[i64]()
        self.events: list[KnownEvent] = []

    def __len__(self) -> int:
        return len(self.events)

    def __contains__(self, id: int) -> bool:
        return self.get(id) is not None

    def get(self, id: i64) -> KnownEvent | None:
        at = self.up_to(id) - 1
        return self.events[at] if at >= 0 and self.ids[at] == id else None

    def __getitem__(self, id: int) -> KnownEvent:
        known = self.get(id)
        if known is None:
            raise KeyError(id)
        return known

    def all(self) -> list[int]:
        return [int(id) for id in self.ids]

    def up_to(self, id: i64) -> i64:
        """How many ids are not above this one."""
        ids = self.ids
        low: i64 = 0
        high = i64(len(ids))
        while low < high:
            middle = (low + high) >> 1
            if ids[middle] <= id:
                low = middle + 1
            else:
                high = middle
        return low

    def add(self, id: i64, known: KnownEvent) -> None:
        ids = append(self.ids, id)
        at = self.up_to(id)
        for k in range(i64(len(ids)) - 1, at, -1):
            ids[k] = ids[k - 1]
        ids[at] = id
        self.ids = ids
        self.events.insert(at, known)

    def remove(self, id: i64) -> None:
        at = self.up_to(id) - 1
        self.ids, _ = pop(self.ids, at)
        del self.events[at]

    def count(self, low: i64, high: i64) -> int:
        """How many ids there are from `low` to `high`."""
        return int(self.up_to(high) - self.up_to(low - 1))

    def held(self, low: i64, high: i64, window: Window) -> list[int]:
        """The ids from `low` to `high` of events that are held, and in the window."""
        ids = self.ids
        events = self.events
        some: list[int] = []
        for k in range(self.up_to(low - 1), self.up_to(high)):
            known = events[k]
            if known.event is not None and window.has(known):
                some.append(int(ids[k]))
        return some

    def within(self, window: Window) -> list[int]:
        """All ids of the window."""
        ids = self.ids
        return [int(ids[k]) for k, known in enumerate(self.events) if window.has(known)]


@final
class HeldEvents:
    def __init__(
        self, most: int, most_bytes: int, remembered: int, young_us: int, left_us: int, gaps: bool = True
    ) -> None:
        self.most = most
        self.most_bytes = most_bytes
        self.remembered = remembered
        self.young_us = young_us
        self.left_us = left_us
        self.gaps = gaps  # whether the edges of a window are put into gaps
        self.now_us = 0
        self.known = KnownInOrder()
        self.by_digest: dict[int, int] = {}  # the known ids by their own digests
        self.held: dict[int, dict[int, None]] = {}  # publisher -> ids of held events, oldest first
        self.held_bytes: dict[int, int] = {}  # publisher -> content of these
        self.given_up: OrderedDict[int, None] = OrderedDict()  # ids that are known and not held, longest given up first
        self.count = 0  # of held events
        self.bytes = 0
        self.seen = Seen()  # ids whose events are not known, or no longer
        self.forgotten: list[int] = []
        self.changes: list[tuple[int, int]] = []  # a heap of (time, id) at which an event changes its place
        self.edge: dict[int, KnownEvent] = {}  # events near an edge of the window, by their digests
        self.core = 0  # the digest of all others
        self.in_core = 0

    # ---- what is known

    def add(self, event: Event, born_us: int, own: bool) -> KnownEvent:
        """A new event, or one that had to make room and is published again, with the validity that is left."""
        known = self.known.get(event.id)
        if known is None:
            known = KnownEvent(event, born_us, own)
            self.known.add(event.id, known)
            self.by_digest[known.digest] = event.id
            self.edge[known.digest] = known
        else:
            if known.core:
                self._leave_core(known)
            known.renew(event, born_us)
            del self.given_up[event.id]
        self._await_change(known, event.id)
        self.held.setdefault(event.publisher, {})[event.id] = None
        self.held_bytes[event.publisher] = self.held_bytes.get(event.publisher, 0) + event.size
        self.count += 1
        self.bytes += event.size
        return known

    def is_held(self, id: int) -> bool:
        known = self.known.get(id)
        return known is not None and known.event is not None

    def held_by_digest(self, digest: int, window: Window) -> int:
        """The id with this digest, if its event is held, and in the window; otherwise NONE."""
        id = self.by_digest.get(digest, NONE)
        return id if id != NONE and self.known.held(id, id, window) else NONE

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

    def is_full(self) -> bool:
        return self.count >= self.most or self.bytes >= self.most_bytes

    def make_room(self) -> list[int]:
        """Give up events until the rest fit; returns their ids. They stay known."""
        given_up: list[int] = []
        while self.count > self.most or (self.bytes > self.most_bytes and self.count > 1):
            id = next(iter(self.held[self._richest(self.count > self.most)]))
            self._let_go(id)
            given_up.append(id)
        while len(self.given_up) > self.remembered:
            self._drop(next(iter(self.given_up)))
        return given_up

    def _richest(self, in_events: bool) -> int:
        """The publisher with most held events, or with most content."""
        richest, most = NONE, -1
        for publisher, ids in self.held.items():
            has = len(ids) if in_events else self.held_bytes[publisher]
            if has > most:
                richest, most = publisher, has
        return richest

    # ---- summaries

    def window(self, now_us: int) -> Window:
        """Its edges are in the widest gaps."""
        if not self.gaps:
            return Window(now_us - self.young_us, now_us + self.left_us)
        ages = [now_us - known.born_us for known in self.edge.values()]
        left = [known.expiry_us - now_us for known in self.edge.values()]
        return Window(now_us - _in_gap(ages, self.young_us), now_us + _in_gap(left, self.left_us))

    def reaches_into_core(self, window: Window) -> bool:
        young_us, left_us = self.now_us - window.born_us, window.expiry_us - self.now_us
        return young_us > 2 * self.young_us or left_us > 2 * self.left_us

    def looked_at(self, window: Window) -> int:
        """How many events a summary of the window looks at."""
        return 1 + (len(self.known) if self.reaches_into_core(window) else len(self.edge))

    def summary(self, window: Window) -> tuple[int, int]:
        """How many ids are in the window, and their digest."""
        if self.reaches_into_core(window):
            count, digest, rest = 0, 0, self.known.events
        else:
            count, digest, rest = self.in_core, self.core, list(self.edge.values())
        for known in rest:
            if window.has(known):
                count += 1
                digest ^= known.digest
        return count, digest

    def advance(self, now_us: int) -> None:
        """Move events to or from the edges, and drop those that have expired."""
        self.now_us = now_us
        while self.changes and self.changes[0][0] <= now_us:
            _, id = heapq.heappop(self.changes)
            known = self.known.get(id)
            if known is None:
                continue
            if known.expiry_us <= now_us:
                self._drop(id)
            elif known.expiry_us - now_us <= 2 * self.left_us:
                self._leave_core(known)
                heapq.heappush(self.changes, (known.expiry_us, id))
            elif not known.core and now_us - known.born_us >= 2 * self.young_us:
                self._enter_core(known, id)

    def _enter_core(self, known: KnownEvent, id: int) -> None:
        del self.edge[known.digest]
        known.core = True
        self.core ^= known.digest
        self.in_core += 1
        if known.validity_us < FOREVER:
            heapq.heappush(self.changes, (self._next_change(known), id))

    def _leave_core(self, known: KnownEvent) -> None:
        if known.core:
            known.core = False
            self.edge[known.digest] = known
            self.core ^= known.digest
            self.in_core -= 1

    def _await_change(self, known: KnownEvent, id: int) -> None:
        heapq.heappush(self.changes, (self._next_change(known), id))
        if len(self.changes) > 4 * (self.most + self.remembered):  # most belong to events that are no longer known
            self.changes = [(self._next_change(self.known[id]), id) for id in self.known.all()]
            heapq.heapify(self.changes)

    def _next_change(self, known: KnownEvent) -> int:
        """When the event gets to the core, leaves it, or expires."""
        core_from_us, core_until_us = known.born_us + 2 * self.young_us, known.expiry_us - 2 * self.left_us
        if known.core:
            return core_until_us
        return core_from_us if core_from_us < core_until_us else known.expiry_us

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
        self.held_bytes[event.publisher] -= event.size
        if not ids:
            del self.held[event.publisher]
            del self.held_bytes[event.publisher]

    def _drop(self, id: int) -> None:
        """It is no longer known."""
        self._let_go(id)
        known = self.known[id]
        self._leave_core(known)
        del self.by_digest[known.digest]
        del self.edge[known.digest]
        del self.given_up[id]
        self.known.remove(id)
        self.remember(id)


def _in_gap(values: list[int], near: int) -> int:
    """The middle of the widest gap between these values, of the gaps between `near` and twice that."""
    far = 2 * near
    inner = sorted([value for value in values if near < value < far])
    widest, middle, before = -1, near, near
    for value in [*inner, far]:
        if value - before > widest:
            widest, middle = value - before, (value + before) // 2
        before = value
    return middle
