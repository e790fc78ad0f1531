"""The event table of frugal dissemination (Baehni et al., 001_a488c218c5fd0a02, Figs. 3 and 10).

It holds the events a node has received or published, each with its expiry on the node's own clock and the number
of times the node has sent it on. When it is full, one event makes room for the next: an expired one if there is one,
else the one with the smallest gc = val / (fwd + val) (Equation 1).

gc(a) < gc(b) says fwd(a) / val(a) > fwd(b) / val(b): the unit of `val` cancels, so minutes and microseconds order the
events alike, and whole numbers decide it exactly (`goes_before`). What was never sent on has the largest gc, 1. So the
expired go first, in the order they came, then the forwarded by gc, then the rest in the order they came. All rows, the
expired and the forwarded are lists kept in order, the last with the first to go at its end; a row's place is found by
halving, and among the forwarded it moves whenever it is sent on.

Ids of events that have gone are remembered: one look into `known` tells a row, an event that was here, and one that is
new.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from roamcast.protocols.frugal.frames import Id, filed
from roamcast.pubsub.event import Event

COUNTERS_BYTES: Final = 16  # expiry and counter
NEVER: Final = 1 << 62


@final
@mypyc_attr(acyclic=True)  # 16 bytes less for each, of which a large world has a hundred thousand
class StoredEvent:
    """A row: the event, its expiry, how often it was sent on (the paper's counter), whether it is this node's own."""

    __slots__ = (
        "awaited",
        "event",
        "expired",
        "expiry_us",
        "fwd",
        "holders",
        "id",
        "lacking",
        "own",
        "serial",
        "wanting",
    )

    def __init__(self, event: Event, expiry_us: int, own: bool = False, id: Id = None) -> None:
        # neighbours, a bit each (neighbors.py): first, because every copy that is heard looks at them
        self.holders = 0  # are presumed to have it …
        self.wanting = 0  # … ask for it, valid or not …
        self.lacking = 0  # … and need it
        self.awaited = False  # to be sent after the back-off, or it is to be said why not
        self.expired = False
        self.own = own
        self.id = filed(event.id) if id is None else id
        self.serial: i64 = 0  # the order of rows in the table
        self.fwd = 0
        self.event = event
        self.expiry_us = expiry_us

    def goes_before(self, other: StoredEvent) -> bool:
        """Equation 1: the smaller gc goes first; of equals, the one that came first."""
        ours, theirs = self.fwd, other.fwd
        if self.event.validity_us != other.event.validity_us:
            ours *= other.event.validity_us
            theirs *= self.event.validity_us
        return ours > theirs or (ours == theirs and self.serial < other.serial)

    def age_us(self, now_us: int) -> int:
        return now_us - self.expiry_us + self.event.validity_us


GONE: Final = StoredEvent(Event(0), 0)
"""In place of all rows that were collected: everybody may have them (all bits are set), nobody needs them."""
GONE.holders = -1


def place(rows: list[StoredEvent], row: StoredEvent) -> i64:
    """Where it is, or would be, among rows in the order they came."""
    low: i64 = 0
    high: i64 = len(rows)
    while low < high:
        middle = (low + high) >> 1
        if rows[middle].serial < row.serial:
            low = middle + 1
        else:
            high = middle
    return low


@final
class EventTable:
    """Events in the order they came, and `seen_limit` ids of those and of what has gone."""

    def __init__(self, size: int, seen_limit: int) -> None:
        self.size = size
        self.seen_limit = seen_limit
        self.rows: list[StoredEvent] = []
        self.known: dict[Id, StoredEvent] = {}  # the rows, and GONE for what has gone
        self.own: dict[Id, StoredEvent] = {}  # those of `rows` that this node published
        self.added = 0
        self.published = 0  # how many of those were this node's own
        self.bytes = 0
        self.next_expiry_us = NEVER  # no row expires before
        self.expired: list[StoredEvent] = []  # those of `rows`
        self.forwarded: list[StoredEvent] = []  # those of `rows` that were sent on; the last one goes first

    def __len__(self) -> int:
        return len(self.rows)

    def is_full(self) -> bool:
        return len(self.rows) >= self.size

    def add(self, row: StoredEvent) -> None:
        self.added += 1
        row.serial = self.added
        self.rows.append(row)
        self._know(row)
        self.bytes += COUNTERS_BYTES + row.event.size
        if row.own:
            self.published += 1
            self.own[row.id] = row
        if row.expiry_us < self.next_expiry_us:
            self.next_expiry_us = row.expiry_us

    def _know(self, row: StoredEvent) -> None:
        known = self.known
        known[row.id] = row
        while len(known) > self.seen_limit and len(known) > len(self.rows):
            oldest = next(iter(known))
            held = known.pop(oldest)
            if held is not GONE:
                known[oldest] = held

    def expire(self, now_us: int) -> list[StoredEvent]:
        """The rows that have expired since the last call. They stay until their room is needed."""
        over: list[StoredEvent] = []
        if now_us < self.next_expiry_us:
            return over
        next_us = NEVER
        for row in self.rows:
            if row.expired:
                continue
            if now_us >= row.expiry_us:
                row.expired = True
                over.append(row)
                self.expired.insert(place(self.expired, row), row)
            elif row.expiry_us < next_us:
                next_us = row.expiry_us
        self.next_expiry_us = next_us
        return over

    def count_forward(self, row: StoredEvent) -> None:
        if row.fwd:
            del self.forwarded[self._turn(row)]
        row.fwd += 1
        self.forwarded.insert(self._turn(row), row)

    def _turn(self, row: StoredEvent) -> i64:
        """Where it is, or would be, among the forwarded."""
        low: i64 = 0
        high: i64 = len(self.forwarded)
        while low < high:
            middle = (low + high) >> 1
            if row.goes_before(self.forwarded[middle]):
                low = middle + 1
            else:
                high = middle
        return low

    def garbage_collect(self) -> StoredEvent | None:
        """Fig. 10: remove one event, and say which."""
        if not self.rows:
            return None
        row = self._take_first_to_go()
        del self.rows[place(self.rows, row)]
        self.known[row.id] = GONE
        self.bytes -= COUNTERS_BYTES + row.event.size
        if row.own:
            del self.own[row.id]
        return row

    def _take_first_to_go(self) -> StoredEvent:
        """Out of the expired, the forwarded, or neither."""
        if not self.expired:
            return self.forwarded.pop() if self.forwarded else self.rows[0]
        row = self.expired.pop(0)
        if row.fwd:
            del self.forwarded[self._turn(row)]
        return row
