"""Events for the application, in the order in which they came.

Each has a position, and no position is used twice. A subscription is a cursor in this list. Ids are remembered for
longer than the events, so that no event is received twice.

When there is no room, the oldest events are removed. If a named subscription has not had such an event yet, it is
counted as lost. While a node runs without keys, it cannot check events. Unchecked events have separate room: they never
replace events that were checked. When the node runs with keys again, they are removed.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from roamcast.errors import StoreError
from roamcast.net.keep.clock import StoreClock
from roamcast.net.keep.content import decoded, encoded, expiry_s
from roamcast.net.keep.database import Bounds, Database
from roamcast.net.keep.values import StoredValues
from roamcast.pubsub.event import Event

log: Final = logging.getLogger("roamcast.net")

UNCHECKED: Final = "unchecked"
"""The durable value with the position at which unchecked events begin."""
_UNCHECKED: Final = struct.Struct("!qq")
_LAST_KNOWN: Final = "select coalesce(max(serial), 0) from known"
_UP_TO: Final = "select count(*), coalesce(sum(length(content)), 0) from received where position <= ?"


class Received(NamedTuple):
    position: int
    event: Event


class _Checked(NamedTuple):
    """The last position and the last serial of the events that were checked."""

    position: int
    serial: int


class ReceivedEvents:
    def __init__(self, db: Database, clock: StoreClock, values: StoredValues, bounds: Bounds) -> None:
        self._db = db
        self._clock = clock
        self._values = values
        self._bounds = bounds
        self.bytes = 0
        self.count = 0
        self.recount()
        self.lost = 0  # events that were removed before all named subscriptions got them

    def begin(self, authenticated: bool) -> None:
        """A boot begins. If it checks received events (`authenticated`), unchecked ones of earlier boots are
        removed."""
        with self._db.change():
            checked = self._checked()
            if not authenticated and checked is None:
                self._values.store(UNCHECKED, _UNCHECKED.pack(self.end(), self._db.number(_LAST_KNOWN)))
            elif authenticated and checked is not None:
                removed = self._count_after(checked.position)
                self._remove("position > ?", checked.position)
                self._db.run("delete from known where serial > ?", checked.serial)
                self._values.remove(UNCHECKED)
                log.warning("%d stored events are removed: this node was insecure when it received them", removed)

    def add(self, events: Iterable[Event]) -> list[Received]:
        """Returns the events that are new, with their positions. They are on disk when this returns."""
        try:
            with self._db.change():
                self._clock.write_if_set()
                return self._add(events, self._clock.now_s())
        except StoreError:
            self.recount()
            raise

    def recount(self) -> None:
        """Count again after a transaction that was undone."""
        with suppress(StoreError):
            self.count, self.bytes = self._db.row("select count(*), coalesce(sum(length(content)), 0) from received")

    def after(self, position: int, most: int) -> list[Received]:
        """The next events that are still stored and valid."""
        with self._db.committed():
            rows = self._db.rows(
                "select position, content from received where position > ? and until_s > ? order by position limit ?",
                *(position, self._clock.now_s(), most),
            )
        return [Received(position, decoded(content)[0]) for position, content in rows]

    def end(self) -> int:
        """The position of the event that was received last."""
        row = self._db.row("select seq from sqlite_sequence where name = 'received'")
        return 0 if row is None else int(row[0])

    def _add(self, events: Iterable[Event], now_s: float) -> list[Received]:
        new: list[Received] = []
        serial = self._db.number(_LAST_KNOWN) + 1
        for event in events:
            if self._db.run("insert or ignore into known values (?, ?)", event.id, serial).rowcount == 0:
                continue
            content = encoded(event)
            row = self._db.run(
                "insert into received (event, until_s, content) values (?, ?, ?)",
                *(event.id, expiry_s(event.validity_us, now_s), content),
            )
            serial += 1
            self.count += 1
            self.bytes += len(content)
            new.append(Received(int(row.lastrowid or 0), event))
        if new:
            self._make_room(now_s)
        return new

    # ---- room

    def _make_room(self, now_s: float) -> None:
        self._remove("until_s <= ?", now_s)
        checked = self._checked() or _Checked(0, 0)
        count, size = (0, 0) if checked.position == 0 else self._db.row(_UP_TO, checked.position)
        excess = self.count - count - self._bounds.received
        if excess > 0:
            self._remove_oldest(checked.position, excess)
        while self.bytes - size > self._bounds.received_bytes:
            self._remove_oldest(checked.position, 1 + (self.count - count) // 10)
        self._db.run(  # serials have no gaps, except where the oldest were removed here
            "delete from known where serial > ? and serial <= (select max(serial) from known) - ?",
            *(checked.serial, self._bounds.known),
        )

    def _remove_oldest(self, after: int, count: int) -> None:
        oldest = "select position from received where position > ? order by position limit ?"
        last = self._db.number(f"select max(position) from ({oldest})", after, count)
        (cursor,) = self._db.row("select min(cursor) from subscriptions")
        if cursor is not None:
            self.lost += self._count_after(max(after, cursor)) - self._count_after(max(last, cursor))
        self._remove("position > ? and position <= ?", after, last)

    def _remove(self, which: str, *values: object) -> None:
        for (size,) in self._db.rows(f"delete from received where {which} returning length(content)", *values):
            self.count -= 1
            self.bytes -= size

    def _count_after(self, position: int) -> int:
        return self._db.number("select count(*) from received where position > ?", position)

    def _checked(self) -> _Checked | None:
        """None if all stored events were checked."""
        stored = self._values.load(UNCHECKED)
        return None if stored is None else _Checked(*_UNCHECKED.unpack(stored))
