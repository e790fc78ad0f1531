"""Subscriptions with a name: they outlive their application."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from roamcast.errors import InputError
from roamcast.net.keep.database import Database


class NamedSubscription(NamedTuple):
    name: str
    filter: str
    cursor: int
    """The position of the last event that was handed over."""


class NamedSubscriptions:
    def __init__(self, db: Database, most: int, end: Callable[[], int]) -> None:
        """`end` returns the position of the event that was received last."""
        self._db = db
        self._most = most
        self._end = end

    def all(self) -> list[NamedSubscription]:
        return [NamedSubscription(*row) for row in self._db.rows(f"{_SELECT} order by name")]

    def get(self, name: str) -> NamedSubscription | None:
        row = self._db.row(f"{_SELECT} where name = ?", name)
        return None if row is None else NamedSubscription(*row)

    def set(self, name: str, filter: str) -> NamedSubscription:
        """A subscription that exists goes on where it was, perhaps with another filter; a new one begins now."""
        with self._db.change():
            old = self.get(name)
            if old is not None and old.filter == filter:
                return old
            if old is None and self._db.number("select count(*) from subscriptions") >= self._most:
                raise InputError(f"subscription {name!r}: there are {self._most} already; forget one")
            new = NamedSubscription(name, filter, self._end() if old is None else old.cursor)
            self._db.run("insert or replace into subscriptions values (?, ?, ?)", *new)
        return new

    def move(self, name: str, cursor: int) -> None:
        """All events up to this cursor were handed over. It is on disk when this returns; a cursor never goes back."""
        with self._db.change():
            self._db.run("update subscriptions set cursor = max(cursor, ?) where name = ?", cursor, name)

    def remove(self, name: str) -> None:
        with self._db.change():
            self._db.run("delete from subscriptions where name = ?", name)


_SELECT = "select name, filter, cursor from subscriptions"
