"""The durable values of a node, in its store."""

from __future__ import annotations

from roamcast.net.durable import DurableValues
from roamcast.net.keep.clock import StoreClock
from roamcast.net.keep.database import Database


class StoredValues(DurableValues):
    def __init__(self, db: Database, clock: StoreClock) -> None:
        self._db = db
        self._clock = clock

    def load(self, name: str) -> bytes | None:
        row = self._db.row("select value from vault where name = ?", name)
        return None if row is None else bytes(row[0])

    def store(self, name: str, value: bytes) -> None:
        with self._db.change(durable=True):
            self._db.run("insert or replace into vault values (?, ?)", name, value)
            self._clock.write()

    def remove(self, name: str) -> None:
        with self._db.change():
            self._db.run("delete from vault where name = ?", name)
