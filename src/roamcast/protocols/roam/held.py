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

from collections import OrderedDict
from typing import Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.protocols.kit.seen import Seen
from roamcast.protocols.roam.changes import Changes
from roamcast.pubsub.event import FOREVER, Event

MASK: Final = (1 << 63) - 1
NEVER: Final = -(1 << 60)
NONE: Final = -1
"""No id."""
CORE: Final = -1
"""The place of an event that is not at an edge."""


def mixed(id: i64) -> i64:
    """63 bits that depend on all bits of the id (the finaliser of SplitMix64, one bit shorter)."""
    z = (id * 0x1E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0x3F58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x14D049BB133111EB) & MASK
    return z ^ z >> 31


def unmixed(digest: i64) -> i64:
    """The only id with this digest: each step of `mixed` can be undone, so nobody needs a table of digests."""
    z = digest ^ digest >> 31 ^ digest >> 62
    z = (z * 0x319642B2D24D8EC3) & MASK
    z = ((z ^ z >> 27 ^ z >> 54) * 0x16DE1B173F119089) & MASK
    return ((z ^ z >> 30 ^ z >> 60) * 0x71DE83E19937733D) & MASK


@final
class Window:
    """The events that were published at `born_us` or before, and do not expire before `expiry_us`, by this node's
    clock."""

    __slots__ = ("born_us", "expiry_us")

    def __init__(self, born_us: i64, expiry_us: i64) -> None:
        self.born_us = born_us
        self.expiry_us = expiry_us

    def has(self, known: KnownEvent) -> bool:
        return known.born_us <= self.born_us and known.expiry_us >= self.expiry_us


@final
class KnownEvent:
    __slots__ = (
        "again_us",
        "born_us",
        "came",
        "delivered",
        "digest",
        "event",
        "expiry_us",
        "own",
        "place",
        "pushed_us",
        "pushes",
        "since_us",
        "validity_us",
        "wanted",
    )

    def __init__(self, event: Event, born_us: int, own: bool, came: i64) -> None:
        self.event: Event | None = event  # None if it had to make room
        self.born_us: i64 = born_us  # when it was published, by this node's clock
        self.since_us = born_us
        self.validity_us = event.validity_us
        self.expiry_us: i64 = born_us + event.validity_us
        self.own = own
        self.came = came  # the how-many-eth here
        self.digest = mixed(event.id)
        self.place: i64 = CORE  # among the events at an edge; CORE if it is far from the edges of all windows
        self.delivered = False
        self.wanted = False  # whether it is of the kind that this node asks for (M15)
        self.pushes = 0  # how often it was sent to neighbours that lacked it, in quick succession
        self.pushed_us = NEVER  # when it was sent to them last …
        self.again_us = NEVER  # … and when it may be sent again to those that were there

    def renew(self, event: Event, since_us: int) -> None:
        """Published again, an event has only the validity that is left; windows still go by its first publication."""
        self.event = event
        self.since_us = since_us
        self.validity_us = event.validity_us
        self.expiry_us = since_us + event.validity_us


def published(known: KnownEvent) -> int:
    """When an event was published, to order events by it."""
    return int(known.born_us)


def came(known: KnownEvent) -> int:
    """To order events as they came."""
    return int(known.came)


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

    def lacking(self, ranges: vec[i64], low: i64, high: i64, window: Window) -> list[int]:
        """The ids from `low` to `high` of events that are held, and in the window, and in none of these ranges: first
        and last id of each, ascending. Both are walked through side by side."""
        ids = self.ids
        some: list[int] = []
        at: i64 = 0
        for k in range(self.up_to(low - 1), self.up_to(high)):
            id = ids[k]
            while at < len(ranges) and ranges[at + 1] < id:
                at += 2
            if at >= len(ranges) or id < ranges[at]:
                known = self.events[k]
                if known.event is not None and window.has(known):
                    some.append(int(id))
        return some

    def incomplete(self, ranges: vec[i64]) -> list[tuple[int, int]]:
        """Those of the ranges, as above, of which not all ids are known."""
        ids = self.ids
        some: list[tuple[int, int]] = []
        k = self.up_to(ranges[0] - 1) if len(ranges) > 0 else 0
        for at in range(0, i64(len(ranges)), 2):
            first, last = ranges[at], ranges[at + 1]
            while k < len(ids) and ids[k] < first:
                k += 1
            before = k
            while k < len(ids) and ids[k] <= last:
                k += 1
            if k - before <= last - first:
                some.append((int(first), int(last)))
        return some

    def within(self, window: Window) -> list[int]:
        """All ids of the window."""
        ids = self.ids
        return [int(ids[k]) for k, known in enumerate(self.events) if window.has(known)]


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
        self.came: i64 = 0  # events so far
        self.publishers: Publishers | None = None  # who holds what; nobody asks before there is no room
        self.given_up: OrderedDict[int, None] = OrderedDict()  # ids that are known and not held, longest given up first
        self.count = 0  # of held events
        self.bytes = 0
        self.seen = Seen()  # ids whose events are not known, or no longer
        self.forgotten: list[int] = []
        self.changes = Changes()  # when events get to the core, leave it, or expire
        self.edge: list[KnownEvent] = []  # events near an edge of the window, in any order
        self.core: i64 = 0  # the digest of all others
        self.in_core = 0

    # ---- what is known

    def add(self, event: Event, born_us: int, own: bool) -> KnownEvent:
        """A new event, or one that had to make room and is published again, with the validity that is left."""
        known = self.known.get(event.id)
        if known is None:
            self.came += 1
            known = KnownEvent(event, born_us, own, self.came)
            self.known.add(event.id, known)
            self._enter_edge(known)
        else:
            self._leave_core(known)
            known.renew(event, born_us)
            del self.given_up[event.id]
        self._await_change(known, event.id)
        if self.publishers is not None:
            self.publishers.add(event)
        self.count += 1
        self.bytes += event.size
        return known

    def is_held(self, id: int) -> bool:
        known = self.known.get(id)
        return known is not None and known.event is not None

    def held_by_digest(self, digest: int, window: Window) -> int:
        """The id with this digest, if its event is held, and in the window; otherwise NONE."""
        id = unmixed(digest)
        known = self.known.get(id)
        return int(id) if known is not None and known.event is not None and window.has(known) else NONE

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
            for known in sorted(self.known.events, key=came):
                if known.event is not None:
                    publishers.add(known.event)
        return publishers

    # ---- summaries

    def window(self, now_us: int) -> Window:
        """Its edges are in the widest gaps."""
        if not self.gaps:
            return Window(now_us - self.young_us, now_us + self.left_us)
        now: i64 = now_us
        young: i64 = self.young_us
        left: i64 = self.left_us
        ages_us = [int(now - known.born_us) for known in self.edge if young < now - known.born_us < 2 * young]
        left_us = [int(known.expiry_us - now) for known in self.edge if left < known.expiry_us - now < 2 * left]
        return Window(now_us - _in_gap(ages_us, self.young_us), now_us + _in_gap(left_us, self.left_us))

    def reaches_into_core(self, window: Window) -> bool:
        young_us, left_us = self.now_us - window.born_us, window.expiry_us - self.now_us
        return young_us > 2 * self.young_us or left_us > 2 * self.left_us

    def looked_at(self, window: Window) -> int:
        """How many events a summary of the window looks at."""
        return 1 + (len(self.known) if self.reaches_into_core(window) else len(self.edge))

    def summary(self, window: Window) -> tuple[int, int]:
        """How many ids are in the window, and their digest."""
        count, digest, rest = self.in_core, self.core, self.edge
        if self.reaches_into_core(window):
            count, digest, rest = 0, 0, self.known.events
        for known in rest:
            if window.has(known):
                count += 1
                digest ^= known.digest
        return count, int(digest)

    def advance(self, now_us: int) -> None:
        """Move events to or from the edges, and drop those that have expired."""
        self.now_us = now_us
        while self.changes.is_due(now_us):
            id = self.changes.take()
            known = self.known.get(id)
            if known is None:
                continue
            if known.expiry_us <= now_us:
                self._drop(id)
            elif known.expiry_us - now_us <= 2 * self.left_us:
                self._leave_core(known)
                self.changes.push(known.expiry_us, id)
            elif known.place != CORE and now_us - known.born_us >= 2 * self.young_us:
                self._enter_core(known, id)

    def _enter_core(self, known: KnownEvent, id: int) -> None:
        self._leave_edge(known)
        self.core ^= known.digest
        self.in_core += 1
        if known.validity_us < FOREVER:
            self.changes.push(self._next_change(known), id)

    def _leave_core(self, known: KnownEvent) -> None:
        if known.place == CORE:
            self._enter_edge(known)
            self.core ^= known.digest
            self.in_core -= 1

    def _enter_edge(self, known: KnownEvent) -> None:
        known.place = len(self.edge)
        self.edge.append(known)

    def _leave_edge(self, known: KnownEvent) -> None:
        """The last one takes its place."""
        last = self.edge.pop()
        if last is not known:
            self.edge[known.place] = last
            last.place = known.place
        known.place = CORE

    def _await_change(self, known: KnownEvent, id: int) -> None:
        self.changes.push(self._next_change(known), id)
        if len(self.changes) > 4 * (self.most + self.remembered):  # most belong to events that are no longer known
            self.changes = Changes()
            for id in self.known.all():
                self.changes.push(self._next_change(self.known[id]), id)

    def _next_change(self, known: KnownEvent) -> i64:
        """When the event gets to the core, leaves it, or expires."""
        core_from_us = known.born_us + 2 * self.young_us
        core_until_us = known.expiry_us - 2 * self.left_us
        if known.place == CORE:
            return core_until_us
        return core_from_us if core_from_us < core_until_us else known.expiry_us

    def _give_up(self, id: int) -> None:
        """Its content makes room, and it stays known."""
        known = self.known[id]
        event = known.event
        if event is not None:
            self._let_go(event)
            known.event = None
            self.given_up[id] = None

    def _let_go(self, event: Event) -> None:
        """It is no longer held."""
        self.count -= 1
        self.bytes -= event.size
        if self.publishers is not None:
            self.publishers.remove(event)

    def _drop(self, id: int) -> None:
        """It is no longer known."""
        known = self.known[id]
        if known.event is not None:
            self._let_go(known.event)
        else:
            del self.given_up[id]
        self._leave_core(known)
        self._leave_edge(known)
        self.known.remove(id)
        self.remember(id)


def _in_gap(values: list[int], near: int) -> int:
    """The middle of the widest gap between `near`, these values, and twice `near`, between which they are."""
    widest, middle, before = -1, near, near
    for value in [*sorted(values), 2 * near]:
        if value - before > widest:
            widest, middle = value - before, (value + before) // 2
        before = value
    return middle
