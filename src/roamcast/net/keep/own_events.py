"""Events that this node published and that are still valid. Each is stored as it was sealed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from roamcast.net.keep.clock import StoreClock
from roamcast.net.keep.content import decoded, encoded, expiry_s
from roamcast.net.keep.database import Database
from roamcast.pubsub.event import FOREVER, Event


class OwnEvent(NamedTuple):
    event: Event
    group: bytes  # in which it was sealed; empty if it is not sealed
    left_us: int  # of its validity


class OwnEvents:
    """At most `most` events. The oldest are removed; they are lost only at a restart, because the protocol has them."""

    def __init__(self, db: Database, clock: StoreClock, most: int) -> None:
        self._db = db
        self._clock = clock
        self._most = most

    def add(self, events: Iterable[Event], group: bytes = b"") -> None:
        """Add events; they are on disk when this returns."""
        with self._db.change():
            self._clock.write_if_set()
            now_s = self._clock.now_s()
            for event in events:
                row = (event.id, now_s, expiry_s(event.validity_us, now_s), encoded(event, group))
                self._db.run("insert or replace into publications values (?, ?, ?, ?)", *row)
            self._remove_expired(now_s)
            excess = self._db.number("select count(*) from publications") - self._most
            if excess > 0:
                oldest = "select event from publications order by event limit ?"
                self._db.run(f"delete from publications where event in ({oldest})", excess)

    def valid(self) -> list[OwnEvent]:
        """Oldest first."""
        with self._db.change():
            now_s = self._clock.now_s()
            self._remove_expired(now_s)
            rows = self._db.rows("select content, at_s from publications order by event")
        return [_own(content, now_s - at_s) for content, at_s in rows]

    def _remove_expired(self, now_s: float) -> None:
        self._db.run("delete from publications where until_s <= ?", now_s)


def _own(content: bytes, age_s: float) -> OwnEvent:
    """A negative age counts as 0: a store without its own clock uses the system's, which may be set back."""
    event, group = decoded(content)
    left_us = FOREVER if event.validity_us == FOREVER else event.validity_us - max(0, int(age_s * 1e6))
    return OwnEvent(event, group, left_us)
