"""Events that this node published and that are still valid. Each is stored as it was sealed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import inf
from typing import NamedTuple

from roamcast.errors import StoreError
from roamcast.net.keep.clock import StoreClock
from roamcast.net.keep.content import decoded, encoded, expiry_s
from roamcast.net.keep.database import Database
from roamcast.pubsub.event import FOREVER, Event


class OwnEvent(NamedTuple):
    event: Event
    group: bytes  # in which it was sealed; empty if it is not sealed
    left_us: int  # of its validity


class OwnEvents:
    """At most `most` events. The oldest are removed and counted (`lost`). The protocol still has them until a restart,
    or until its own table is full."""

    def __init__(self, db: Database, clock: StoreClock, most: int) -> None:
        self._db = db
        self._clock = clock
        self.most = most
        self.lost = 0  # valid events that were removed
        self._first_until_s = 0.0  # nothing expires before
        self.recount()

    def recount(self) -> None:
        """Count again after a transaction that was undone."""
        with suppress(StoreError):
            self._count = self._db.number("select count(*) from publications")

    def add(self, events: Iterable[Event], group: bytes = b"") -> None:
        """Add events; they are on disk when this returns."""
        with self._db.change():
            self._clock.write_if_set()
            now_s = self._clock.now_s()
            for event in events:
                until_s = expiry_s(event.validity_us, now_s)
                row = (event.id, now_s, until_s, encoded(event, group))
                self._count += 1 - self._db.number("select count(*) from publications where event = ?", event.id)
                self._db.run("insert or replace into publications values (?, ?, ?, ?)", *row)
                self._first_until_s = min(self._first_until_s, until_s)
            self._remove_expired(now_s)
            self._remove_oldest(self._count - self.most)

    def get(self, id: int) -> OwnEvent | None:
        """None if it is not stored, or has expired."""
        now_s = self._clock.now_s()
        row = self._db.row("select content, at_s from publications where event = ? and until_s > ?", id, now_s)
        return None if row is None else _own(row[0], now_s - row[1])

    def valid(self) -> list[OwnEvent]:
        """Oldest first."""
        with self._db.change():
            now_s = self._clock.now_s()
            self._remove_expired(now_s)
            rows = self._db.rows("select content, at_s from publications order by event")
        return [_own(content, now_s - at_s) for content, at_s in rows]

    def _remove_expired(self, now_s: float) -> None:
        if now_s >= self._first_until_s:
            self._count -= self._db.run("delete from publications where until_s <= ?", now_s).rowcount
            (first_s,) = self._db.row("select min(until_s) from publications")
            self._first_until_s = inf if first_s is None else first_s

    def _remove_oldest(self, excess: int) -> None:
        if excess > 0:
            oldest = "select event from publications order by event limit ?"
            removed = self._db.run(f"delete from publications where event in ({oldest})", excess).rowcount
            self._count -= removed
            self.lost += removed


def _own(content: bytes, age_s: float) -> OwnEvent:
    """A negative age counts as 0: a store without its own clock uses the system's, which may be set back."""
    event, group = decoded(content)
    left_us = FOREVER if event.validity_us == FOREVER else event.validity_us - max(0, int(age_s * 1e6))
    return OwnEvent(event, group, left_us)
