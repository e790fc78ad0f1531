"""Everything that survives a restart of a node, in one SQLite file.

There is one rule: data are on disk before any code acts on them. An event is stored before `publish` returns, a
received event before it is handed over, and a cursor before the event at it is handed over. So a node that is killed at
any moment has everything that it promised when it starts again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from roamcast.errors import StoreError
from roamcast.net.keep.carried import CarriedFrames
from roamcast.net.keep.clock import StoreClock, steady_s
from roamcast.net.keep.database import Bounds, Database
from roamcast.net.keep.own_events import OwnEvents
from roamcast.net.keep.received import ReceivedEvents
from roamcast.net.keep.subscriptions import NamedSubscriptions
from roamcast.net.keep.values import StoredValues


class StoreCounts(msgspec.Struct, frozen=True):
    """How many entries the tables have."""

    publications: int
    received: int
    held: int
    known: int
    subscriptions: int
    received_bytes: int
    lost: int


class Store:
    """`folder=None` keeps everything in memory only. All methods may be called from any thread."""

    def __init__(
        self,
        folder: str | Path | None,
        bounds: Bounds | None = None,
        unix_s: Callable[[], float] = time.time,
        steady_s: Callable[[], float] = steady_s,
        machine: bytes | None = None,
        *,
        wait: bool = True,
    ) -> None:
        """Without `wait`, only durable values wait for the disk."""
        bounds = bounds or Bounds()
        self.db = Database(folder, wait=wait)
        clock = StoreClock(self.db, unix_s, steady_s, machine)
        self.values = StoredValues(self.db, clock)
        self.own = OwnEvents(self.db, clock, bounds.publications)
        self.carried = CarriedFrames(self.db, clock, bounds)
        self.received = ReceivedEvents(self.db, clock, self.values, bounds)
        self.subscriptions = NamedSubscriptions(self.db, bounds.subscriptions, self.received.end)

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All changes inside are one transaction. They are on disk when `commit` has returned."""
        try:
            with self.db.prepared():
                yield
        except BaseException:
            self._recount()
            raise

    def commit(self) -> None:
        """Commit what was done together; the only method that waits for the disk. On an error nothing of it remains."""
        try:
            self.db.commit()
        except StoreError:
            self._recount()
            raise

    def _recount(self) -> None:
        for table in (self.received, self.own, self.carried):
            table.recount()

    def counts(self) -> StoreCounts:
        names = ("publications", "received", "held", "known", "subscriptions")
        entries = {name: self.db.number(f"select count(*) from {name}") for name in names}
        return StoreCounts(**entries, received_bytes=self.received.bytes, lost=self.received.lost)
