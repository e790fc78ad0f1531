"""Carried frames: frames as they came, with events of other nodes that the protocol may still forward."""

from __future__ import annotations

from typing import NamedTuple

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

    def add(self, protocol: str, group: str, sender: int, body: bytes, validity_us: int) -> None:
        """A frame that came just now. `group`: `Membership.group_name`; `validity_us`: the longest of its events."""
        with self._db.change():
            self._clock.write_if_set()
            now_s = self._clock.now_s()
            self._db.run(
                "insert into held (at_s, until_s, protocol, circle, sender, content) values (?, ?, ?, ?, ?, ?)",
                *(now_s, expiry_s(validity_us, now_s), protocol, group, sender, body),
            )
            self._db.run("delete from held where until_s <= ?", now_s)
            self._db.run(
                "delete from held where serial <= (select serial from held order by serial desc limit 1 offset ?)",
                self._bounds.held,
            )
            while self._db.number("select coalesce(sum(length(content)), 0) from held") > self._bounds.held_bytes:
                self._db.run("delete from held where serial = (select min(serial) from held)")

    def valid(self, protocol: str, group: str) -> list[CarriedFrame]:
        """The frames for this protocol in this group that may have a valid event, in the order in which they came."""
        now_s = self._clock.now_s()
        rows = self._db.rows(
            "select at_s, sender, content from held where protocol = ? and circle = ? and until_s > ? order by serial",
            *(protocol, group, now_s),
        )
        return [CarriedFrame(max(0, int((now_s - at_s) * 1e6)), sender, body) for at_s, sender, body in rows]
