"""Commits that wait, and commits that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from roamcast.net.keep.store import Store
from roamcast.net.node.writer import Writer


def fail_commits_of_events(store: Store) -> None:
    """Statements succeed and the commit fails: SQLite checks a deferred reference then."""
    store.db.run("pragma foreign_keys = on")
    store.db.run("create table parents (id integer primary key)")
    store.db.run("create table orphans (id integer references parents (id) deferrable initially deferred)")
    store.db.run("create trigger failing after insert on received begin insert into orphans values (1); end")


@contextmanager
def busy(writer: Writer) -> Iterator[None]:
    """Meanwhile reads and commits wait for the writer's thread, in order."""
    gate = threading.Event()
    writer._thread.submit(gate.wait)
    try:
        yield
    finally:
        gate.set()


async def prepared(store: Store) -> None:
    """A change waits for its commit."""
    while not store.db._uncommitted:
        await asyncio.sleep(0)
