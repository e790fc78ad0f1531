"""Carried frames: frames as they came, with events of other nodes that the protocol may still forward."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import NamedTuple

from roamcast.errors import StoreError
from roamcast.net.keep.clock import StoreClock
from roamcast.net.keep.content import expiry_s
from roamcast.net.keep.database import Bounds, Database


class CarriedFrame(NamedTuple):
    ago_us: int  # when it came
    sender: int
    body: bytes


class CarriedFrames:
    """The frames stay within `bounds.held` and `bounds.held_bytes`; the oldest are removed."""

    def __init__(self, db: Database, clock: StoreClock, bounds: Bounds) -> None:
        self._db = db
        self._clock = clock
        self._bounds = bounds
        self._first_until_s = 0.0  # nothing expires before
        self.recount()

    def recount(self) -> None:
        """Count again after a transaction that was undone."""
        with suppress(StoreError):
            self._count, self._bytes = self._db.row("select count(*), coalesce(sum(length(content)), 0) from held")

    def add(self, protocol: str, group: str, sender: int, body: bytes, validity_us: int) -> None:
        """A frame that came just now. `group`: `Membership.group_name`; `validity_us`: the longest of its events."""
        with self._db.change():
            self._clock.write_if_set()
            now_s = self._clock.now_s()
            self._db.run(
                "insert into held (at_s, until_s, protocol, circle, sender, content) values (?, ?, ?, ?, ?, ?)",
                *(now_s, expiry_s(validity_us, now_s), protocol, group, sender, body),
            )
            self._count += 1
            self._bytes += len(body)
            self._first_until_s = min(self._first_until_s, expiry_s(validity_us, now_s))
            self._remove_expired(now_s)
            while self._count > self._bounds.held or self._bytes > self._bounds.held_bytes:
                self._remove("serial = (select min(serial) from held)")

    def _remove_expired(self, now_s: float) -> None:
        if now_s >= self._first_until_s:
            self._remove("until_s <= ?", now_s)
            (first_s,) = self._db.row("select min(until_s) from held")
            self._first_until_s = inf if first_s is None else first_s

    def _remove(self, which: str, *values: object) -> None:
        for (size,) in self._db.rows(f"delete from held where {which} returning length(content)", *values):
            self._count -= 1
            self._bytes -= size

    def valid(self, protocol: str, group: str) -> list[CarriedFrame]:
        """The frames for this protocol in this group that may have a valid event, in the order in which they came."""
        now_s = self._clock.now_s()
        rows = self._db.rows(
            "select at_s, sender, content from held where protocol = ? and circle = ? and until_s > ? order by serial",
            *(protocol, group, now_s),
        )
        return [CarriedFrame(max(0, int((now_s - at_s) * 1e6)), sender, body) for at_s, sender, body in rows]
