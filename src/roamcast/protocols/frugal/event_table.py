"""The event table of frugal dissemination (Baehni et al., Figs. 3 and 10).

It holds the events that a node has received or published, each with its expiry by the node's own clock and the number
of times the node has forwarded it. When it is full, one event makes room for the next: an expired one if there is one,
otherwise the one with the smallest gc = val / (fwd + val) (Equation 1).

gc(a) < gc(b) means fwd(a) / val(a) > fwd(b) / val(b): the unit of `val` cancels, so minutes and microseconds give the
same order, and whole numbers decide it exactly (`is_collected_before`). An event that was never forwarded has the
largest gc, 1. So expired events go first, in the order they came, then forwarded ones by gc, then the rest in the order
they came. Three sorted lists hold all rows, the expired rows and the forwarded rows; the last forwarded row goes first.
Binary search finds the position of a row, and a forwarded row moves whenever it is forwarded again.

Ids of collected events are remembered: one lookup in `known` shows whether an event is stored, was collected, or is
new.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.protocols.frugal.frames import Id, table_id
from roamcast.pubsub.event import Event

COUNTERS_BYTES: Final = 16  # expiry and counter
NEVER: Final = 1 << 60
"""Far from any time, and near enough that it is a small int when compiled: a larger one makes each comparison slow."""


@final
class StoredEvent:
    """A row: the event, its expiry, how often it was forwarded (the paper's counter), whether it is this node's own."""

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
        "presumed_us",
        "serial",
        "wanting",
    )

    def __init__(self, event: Event, expiry_us: int, own: bool = False, id: Id = None) -> None:
        # sets of neighbours, a bit each (neighbors.py); they come first because every received copy reads them
        self.holders = 0  # presumed to have it
        self.wanting = 0  # interested in it, valid or not
        self.lacking = 0  # need it
        self.awaited = False  # it waits for the back-off: then it is sent, or a reason is noted
        self.expired = False
        self.own = own
        self.id = table_id(event.id) if id is None else id
        self.serial: i64 = 0  # the order of rows in the table
        self.fwd = 0
        self.event = event
        self.expiry_us = expiry_us
        self.presumed_us = 0  # when neighbours were last presumed to have got it; only kept for repairs (R21)

    def is_collected_before(self, other: StoredEvent) -> bool:
        """Equation 1: the smaller gc goes first; of equals, the one that came first."""
        own_ratio, other_ratio = self.fwd, other.fwd
        if self.event.validity_us != other.event.validity_us:
            own_ratio *= other.event.validity_us
            other_ratio *= self.event.validity_us
        return own_ratio > other_ratio or (own_ratio == other_ratio and self.serial < other.serial)

    def age_us(self, now_us: int) -> int:
        return now_us - self.expiry_us + self.event.validity_us


COLLECTED: Final = StoredEvent(Event(0), 0)
"""Stands for all rows that were collected: all neighbours may have them (all bits are set), and none needs them."""
COLLECTED.holders = -1


def place(rows: list[StoredEvent], row: StoredEvent) -> i64:
    """The position of a row among rows in the order they came."""
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
    """Events in the order they came, and up to `seen_limit` ids of these and of collected events.

    `remember`: the expiries of collected events are kept as well, so that their ids can be listed (R21).
    """

    def __init__(self, size: int, seen_limit: int, remember: bool = False) -> None:
        self.size = size
        self.remember = remember
        self.collected: dict[Id, int] = {}  # id -> expiry, of collected events, if these are remembered
        self.seen_limit = seen_limit
        self.rows: list[StoredEvent] = []
        self.known: dict[Id, StoredEvent] = {}  # the rows, and COLLECTED for collected ones
        self.own: dict[Id, StoredEvent] = {}  # those of `rows` that this node published
        self.added = 0
        self.published = 0  # how many of the added rows were this node's own
        self.bytes = 0
        self.next_expiry_us = NEVER  # no row expires before
        self.expired: list[StoredEvent] = []  # the expired ones of `rows`
        self.forwarded: list[StoredEvent] = []  # those of `rows` that were forwarded; the last one goes first

    def __len__(self) -> int:
        return len(self.rows)

    def is_full(self) -> bool:
        return len(self.rows) >= self.size

    def add(self, row: StoredEvent) -> None:
        self.added += 1
        self.collected.pop(row.id, None)
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
            entry = known.pop(oldest)
            if entry is not COLLECTED:
                known[oldest] = entry
            elif self.remember:
                self.collected.pop(oldest, None)

    def is_stored(self, id: Id) -> bool:
        row = self.known.get(id)
        return row is not None and row is not COLLECTED

    def presumed(self, id: Id, now_us: int) -> None:
        """Neighbours are presumed to have got this event now (R21)."""
        row = self.known[id]
        if row is not COLLECTED:
            row.presumed_us = now_us

    def valid_ids(self, now_us: int) -> list[Id]:
        """The ids of the valid events that this node has or had, as far as it remembers them."""
        ids: list[Id] = [row.id for row in self.rows if not row.expired]
        for id, expiry_us in list(self.collected.items()):
            if expiry_us > now_us:
                ids.append(id)
            else:
                del self.collected[id]
        return ids

    def expire(self, now_us: int) -> list[StoredEvent]:
        """The rows that have expired since the last call. They stay until their room is needed."""
        expired: list[StoredEvent] = []
        if now_us < self.next_expiry_us:
            return expired
        next_us = NEVER
        for row in self.rows:
            if row.expired:
                continue
            if now_us >= row.expiry_us:
                row.expired = True
                expired.append(row)
                self.expired.insert(place(self.expired, row), row)
            elif row.expiry_us < next_us:
                next_us = row.expiry_us
        self.next_expiry_us = next_us
        return expired

    def count_forward(self, row: StoredEvent) -> None:
        if row.fwd:
            del self.forwarded[self._forwarded_position(row)]
        row.fwd += 1
        self.forwarded.insert(self._forwarded_position(row), row)

    def _forwarded_position(self, row: StoredEvent) -> i64:
        """The position of a row in `forwarded`."""
        low: i64 = 0
        high: i64 = len(self.forwarded)
        while low < high:
            middle = (low + high) >> 1
            if row.is_collected_before(self.forwarded[middle]):
                low = middle + 1
            else:
                high = middle
        return low

    def garbage_collect(self) -> StoredEvent | None:
        """Fig. 10: remove one event, and return it."""
        if not self.rows:
            return None
        row = self._take_first_to_go()
        del self.rows[place(self.rows, row)]
        self.known[row.id] = COLLECTED
        if self.remember and not row.expired:
            self.collected[row.id] = row.expiry_us
        self.bytes -= COUNTERS_BYTES + row.event.size
        if row.own:
            del self.own[row.id]
        return row

    def _take_first_to_go(self) -> StoredEvent:
        """The row that goes first, removed from `expired` and `forwarded`."""
        if not self.expired:
            return self.forwarded.pop() if self.forwarded else self.rows[0]
        row = self.expired.pop(0)
        if row.fwd:
            del self.forwarded[self._forwarded_position(row)]
        return row
