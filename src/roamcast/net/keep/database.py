"""The SQLite file of a node: its tables, its versions, and transactions on it.

    vault          the durable values (net/durable.py)
    publications   own events that are still valid: the protocol gets them again after a restart
    received       events for the application, in the order in which they came; `position` counts them
    held           carried frames: frames with events of other nodes that are still valid
    known          ids of received events, kept for longer than the events: no event is received twice
    subscriptions  those with a name: the filter, and the position of the last event that was handed over (the cursor)

Settings. With `journal_mode=WAL` a commit is one append and one fsync, and readers do not wait. `synchronous=FULL`
makes that fsync at every commit. NORMAL survives `kill -9`, because the system still has the pages. But these nodes run
on batteries and often end by losing power: with NORMAL, events and cursors of the last seconds are then lost. So it is
used only if the operator wants that (durability = "none"), and never for durable values: a number must not be used
twice. Many changes share a commit (node/writer.py). `locking_mode=EXCLUSIVE` refuses a second process with the
same identity, because two processes would use each number twice.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from roamcast import files
from roamcast.errors import InputError, StoreError, error_text
from roamcast.net.keep.content import decoded, encoded
from roamcast.net.trust.identity import Identity
from roamcast.net.trust.seals import sealed_by, unsealed

VERSION: Final = 4
FILE: Final = "node.db"
_CARRIED: Final = """
create table held (serial integer primary key autoincrement, at_s real not null, until_s real not null,
                   protocol text not null, circle text not null, sender integer not null, content blob not null);
"""
_TABLES: Final = f"""
{_CARRIED}
create table vault (name text primary key, value blob not null) without rowid;
create table publications (event integer primary key, at_s real not null, until_s real not null, content blob not null);
create table received (position integer primary key autoincrement, event integer not null, until_s real not null,
                       content blob not null);
create table known (event integer primary key, serial integer not null);
create index known_by_age on known (serial);
create table subscriptions (name text primary key, filter text not null, cursor integer not null) without rowid;
"""

_WAIT: Final = "pragma synchronous = full"
_NO_WAIT: Final = "pragma synchronous = normal"
_INDEXES: Final = (
    "create index if not exists received_by_expiry on received (until_s)",
    "create index if not exists held_by_expiry on held (until_s)",
)

Count = Annotated[int, msgspec.Meta(ge=1)]


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is kept at most. The oldest entries are removed."""

    publications: Count = 10_000
    received: Count = 10_000
    received_bytes: Count = 64 << 20
    known: Count = 100_000
    held: Count = 1000
    held_bytes: Count = 16 << 20
    subscriptions: Count = 1000


class Database:
    """All methods may be called from any thread. `folder=None` keeps everything in memory only."""

    def __init__(self, folder: str | Path | None, *, wait: bool = True) -> None:
        """Without `wait`, commits do not wait for the disk, except those of `change(durable=True)`."""
        self._lock = threading.RLock()
        self._connection = _in_memory() if folder is None else _opened(Path(folder))
        self._wait = wait
        self._uncommitted = False  # a `prepared` change waits for `commit`
        self._failure: StoreError | None = None  # of its commit, if another change had to make that
        if not wait:
            self._connection.execute(_NO_WAIT)

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()

    def run(self, statement: str, *values: object) -> sqlite3.Cursor:
        with self._lock:
            try:
                return self._connection.execute(statement, values)
            except sqlite3.Error as error:
                raise StoreError(f"the node's store failed: {error}") from error

    def rows(self, statement: str, *values: object) -> list[Any]:
        with self._lock:
            return self.run(statement, *values).fetchall()

    def row(self, statement: str, *values: object) -> Any:
        """The first row, or None."""
        with self._lock:
            return self.run(statement, *values).fetchone()

    def number(self, statement: str, *values: object) -> int:
        """The single number that a statement returns."""
        (value,) = self.row(statement, *values)
        return int(value)

    @contextmanager
    def change(self, *, durable: bool = False) -> Iterator[None]:
        """One transaction: all of it or nothing, on disk at its end. A change inside a change is a part of it.

        `durable`: on disk even if the other changes do not wait for the disk.
        """
        with self._lock:
            self._finish_prepared()
            if self._connection.in_transaction:
                yield
                return
            relaxed = durable and not self._wait
            if relaxed:
                self._connection.execute(_WAIT)
            try:
                with self._transaction():
                    yield
                self._control("commit")
            finally:
                if relaxed:
                    self._connection.execute(_NO_WAIT)

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """A transaction whose commit is a step of its own (`commit`), which may wait for the disk in another thread."""
        with self._lock:
            self._finish_prepared()
            with self._transaction():
                yield
            self._uncommitted = True

    def commit(self) -> None:
        """Commit the prepared change. It is on disk when this returns; on an error nothing of it remains."""
        with self._lock:
            self._finish_prepared()
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    @contextmanager
    def committed(self) -> Iterator[None]:
        """What is read inside does not change if a commit fails: a change that was prepared is committed before."""
        with self._lock:
            self._finish_prepared()
            yield

    def _finish_prepared(self) -> None:
        """No other change may become a part of the prepared one: its caller would not wait for that commit."""
        if self._uncommitted:
            self._uncommitted = False
            try:
                self._control("commit")
            except StoreError as error:
                self._failure = error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._control("begin immediate")
        try:
            yield
        except BaseException:
            self._roll_back()
            raise

    def _control(self, statement: str) -> None:
        try:
            self._connection.execute(statement)
        except sqlite3.Error as error:
            self._roll_back()
            raise StoreError(f"the node's store failed: {error}") from error

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.execute("rollback")


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(_TABLES)
    for statement in _INDEXES:
        connection.execute(statement)
    return connection


def _opened(folder: Path) -> sqlite3.Connection:
    path = folder / FILE
    try:
        folder.mkdir(mode=files.PRIVATE_FOLDER, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, files.PRIVATE))
    except OSError as error:
        kind = StoreError if error.errno in files.FAILING else InputError
        raise kind(f"cannot keep state in {folder}: {error_text(error)}") from None
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
    try:
        version = _prepare(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" in str(error):
            raise InputError(f"{folder}: another node is running on this state") from None
        raise (StoreError if _failing(error) else InputError)(f"cannot keep state in {path}: {error}") from None
    except sqlite3.DatabaseError as error:
        connection.close()
        raise InputError(f"{path} is not the store of a node: {error}") from None
    if version > VERSION:
        connection.close()
        raise InputError(f"{path} was written by a newer roamcast (version {version}; this one knows {VERSION})")
    return connection


def _failing(error: sqlite3.Error) -> bool:
    """Whether the disk is full or fails, so that the same request may succeed later."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _prepare(connection: sqlite3.Connection) -> int:
    """Lock the file, make the tables or bring them up to date, and return the version that the file had."""
    connection.execute("pragma locking_mode = exclusive")
    connection.execute("pragma journal_mode = wal")
    connection.execute(_WAIT)
    connection.execute("begin exclusive")
    (version,) = connection.execute("pragma user_version").fetchone()
    if version < VERSION:
        if 0 < version < 3:
            _unseal_own_events(connection)
            connection.execute("drop table if exists held")  # it did not record in which group a frame came
        if version < 3:
            for statement in (_TABLES if version == 0 else _CARRIED).split(";"):
                connection.execute(statement)
        connection.execute(f"pragma user_version = {VERSION}")
    if version <= VERSION:
        for statement in _INDEXES:
            connection.execute(statement)
    connection.execute("commit")
    return int(version)


def _unseal_own_events(connection: sqlite3.Connection) -> None:
    """Before version 3, own events were stored sealed, without the group in which they were sealed."""
    for (seed,) in connection.execute("select value from vault where name = 'identity'").fetchall():
        public = Identity(seed).public
        for id, content in connection.execute("select event, content from publications").fetchall():
            event, _ = decoded(content)
            if sealed_by(event, public):
                plain = encoded(unsealed(event))
                connection.execute("update publications set content = ? where event = ?", (plain, id))
