"""The event table of frugal dissemination (Baehni et al., 001_a488c218c5fd0a02, Figs. 3 and 10).

It holds the events a node has received or published, each with its expiry on the node's own clock and the number
of times the node has sent it on. When it is full, one event makes room for the next: an expired one if there is one,
else the one with the smallest gc = val / (fwd + val) (Equation 1).

gc(a) < gc(b) says fwd(a) / val(a) > fwd(b) / val(b): the unit of `val` cancels, so minutes and microseconds order the
events alike, and whole numbers decide it exactly.
"""

from __future__ import annotations

from typing import final

from roamcast.pubsub.event import Event

COUNTERS_BYTES = 16  # expiry and counter


@final
class StoredEvent:
    """A row: the event, its expiry, how often it was sent on (the paper's counter), whether it is this node's own."""

    __slots__ = ("event", "expiry_us", "fwd", "own")

    def __init__(self, event: Event, expiry_us: int, own: bool = False) -> None:
        self.event = event
        self.expiry_us = expiry_us
        self.fwd = 0
        self.own = own

    def age_us(self, now_us: int) -> int:
        return now_us - self.expiry_us + self.event.validity_us


@final
class EventTable:
    """Events by id, in the order they came."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: dict[int, StoredEvent] = {}
        self.own: dict[int, StoredEvent] = {}  # those of `rows` that this node published

    def __contains__(self, id: int) -> bool:
        return id in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def is_full(self) -> bool:
        return len(self.rows) >= self.size

    def add(self, row: StoredEvent) -> None:
        self.rows[row.event.id] = row
        if row.own:
            self.own[row.event.id] = row

    def garbage_collect(self, now_us: int) -> StoredEvent | None:
        """Fig. 10: remove one event, and say which. Of equals, the one that came first goes."""
        gc: StoredEvent | None = None
        for row in self.rows.values():
            if now_us >= row.expiry_us:
                gc = row
                break
            if gc is None or goes_before(row, gc):
                gc = row
        if gc is not None:
            del self.rows[gc.event.id]
            self.own.pop(gc.event.id, None)
        return gc

    def bytes(self) -> int:
        total = 0
        for row in self.rows.values():
            total += COUNTERS_BYTES + row.event.size
        return total


def goes_before(a: StoredEvent, b: StoredEvent) -> bool:
    """gc(a) < gc(b), multiplied out."""
    return a.fwd * b.event.validity_us > b.fwd * a.event.validity_us
