"""What a node keeps on disk, in one SQLite file: who it is, what it published, what it received, who has had what.

    vault          name, value                         identity, boot, sequence, … (net/__init__.py)
    publications   own events that are still valid, not sealed: given to the protocol again when the node comes back
    received       events for the application, in the order they came; `position` counts them
    held           frames that brought events of others that are still valid: the protocol hears them again (host.py)
    known          ids of received events, kept longer than these: nothing is received twice
    subscriptions  those with a name: filter, and the position of the last event that was handed over (the cursor)

Everything is one rule: a thing is written, and durably so, before anybody acts on it. A publication is written before
it is acknowledged, an event before it is handed over, a cursor before the event it points at is. So whoever is killed,
at whatever instant, has promised nothing that he does not know of when he comes back.

Settings. `journal_mode=WAL`: a commit is one append and one fsync, and those who read do not wait. `synchronous=FULL`:
that fsync is made at every commit. NORMAL would do against `kill -9`, because the system still has the pages, but these
nodes run on batteries, and the ordinary way for them to die is to lose power: NORMAL would then take back numbers that
were used and cursors that moved. Many writers share a commit (`Node` collects what comes while the last one lasts).
`locking_mode=EXCLUSIVE`: two processes with one identity would use each number twice; the second is refused.

Time. Clocks of such machines are set forward and back by years. Validities are reckoned by a clock of the store's own,
which nobody sets: it began as Unix time, follows the time since the machine was switched on, from one life to the next
as well, and is written down with every change of the vault, and with whatever is written after the system's clock was
set. Only when the machine was switched off meanwhile is the system's clock asked how much time went by; an answer below
0 or above a year is not believed, is said, and counts as none.

Bounds (`Bounds`): the oldest entries give way. Of a publication that gave way nothing is lost before the node restarts:
the protocol has it. An event that the application has not had yet and that gives way is counted as lost to it. Nothing
that was received from those whose word was checked gives way to what comes unchecked: that has bounds of its own.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Annotated, Final, NamedTuple, Self

import msgspec

from roamcast import files
from roamcast.errors import InputError, Malformed, StoreError, error_text
from roamcast.net.identity import Identity
from roamcast.net.publications import sealed_by, unsealed
from roamcast.net.vault import Vault
from roamcast.pubsub.event import FOREVER, Event, event_from_fields

log: Final = logging.getLogger("roamcast.net")

VERSION: Final = 3
FILE: Final = "node.db"
FOREVER_S: Final = 1e12
AWAY_MAX_S: Final = 366 * 86_400.0
"""No node was away for longer, as far as its store is concerned: it was the clock."""
SET_BACK_S: Final = 60.0
"""By less than this clocks are always set back; nobody need be told."""
STEP_S: Final = 5.0
"""A clock that went by so much more or less than time did was set."""
UNCHECKED: Final = "unchecked"
_CLOCK: Final = struct.Struct("!ddd")
"""The store's own, the system's, and since the machine was switched on; behind it, which time that was."""
_MARK: Final = struct.Struct("!qq")
_LAST_KNOWN: Final = "select coalesce(max(serial), 0) from known"

_HELD: Final = """
create table held (serial integer primary key autoincrement, at_s real not null, until_s real not null,
                   protocol text not null, circle text not null, sender integer not null, content blob not null);
"""
_TABLES: Final = f"""
{_HELD}
create table vault (name text primary key, value blob not null) without rowid;
create table publications (event integer primary key, at_s real not null, until_s real not null, content blob not null);
create table received (position integer primary key autoincrement, event integer not null, until_s real not null,
                       content blob not null);
create table known (event integer primary key, serial integer not null);
create index known_by_age on known (serial);
create table subscriptions (name text primary key, filter text not null, cursor integer not null) without rowid;
"""

Count = Annotated[int, msgspec.Meta(ge=1)]


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    publications: Count = 1000
    received: Count = 10_000
    received_bytes: Count = 64 << 20
    known: Count = 100_000
    held: Count = 1000
    held_bytes: Count = 16 << 20
    subscriptions: Count = 1000


class Received(NamedTuple):
    position: int
    event: Event


class Held(NamedTuple):
    """A frame that brought events, `ago_us` before."""

    ago_us: int
    sender: int
    frame: bytes


class Named(NamedTuple):
    """A subscription that outlives its application."""

    name: str
    filter: str
    cursor: int


def steady_s() -> float:
    """Since the machine was switched on, asleep or not, where the system knows."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def machine_life() -> bytes:
    """Differs each time that the machine is switched on; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b""


class Store(Vault):
    """`folder=None` keeps everything in memory, and forgets it. All methods may be called from any thread."""

    def __init__(
        self,
        folder: str | Path | None,
        bounds: Bounds | None = None,
        unix_s: Callable[[], float] = time.time,
        steady_s: Callable[[], float] = steady_s,
        machine: bytes | None = None,
    ) -> None:
        self.bounds = bounds or Bounds()
        self._unix_s = unix_s
        self._steady_s = steady_s
        self._machine = machine_life() if machine is None else machine
        self._lock = threading.RLock()
        self._db = _opened(folder)
        self._bytes = 0
        self._weigh()
        self._ahead_s = self._begun_s() - steady_s()
        self._set_s = inf  # by how much the system's clock was ahead of the machine when that was written down
        self.lost = 0  # events that gave way before every named subscription had had them

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is done inside is one transaction, and one commit."""
        with self._lock, self._change():
            yield

    # ---- time

    def now_s(self) -> float:
        """By the store's own clock."""
        return self._steady_s() + self._ahead_s

    def _begun_s(self) -> float:
        """What the store's clock shows when a life begins."""
        unix_s, kept = self._unix_s(), self.load("clock")
        if kept is None:
            return unix_s
        then_s, then_unix_s, then_steady_s = _CLOCK.unpack_from(kept.ljust(_CLOCK.size, b"\0"))  # once there were two
        on_s = self._steady_s() - then_steady_s
        if self._machine and self._machine == kept[_CLOCK.size :] and on_s >= 0:
            return float(then_s + on_s)
        away_s = unix_s - then_unix_s
        if 0 <= away_s <= AWAY_MAX_S:
            return float(then_s + away_s)
        if away_s > 0 or away_s < -SET_BACK_S:
            days, way = abs(away_s) / 86_400, "forward" if away_s > 0 else "back"
            log.warning("the system's clock went %s by %.1f days; for what is stored no time has passed", way, days)
        return float(then_s)

    def _note_time(self) -> None:
        unix_s, steady_s = self._unix_s(), self._steady_s()
        self._set_s = unix_s - steady_s
        clock = _CLOCK.pack(self.now_s(), unix_s, steady_s) + self._machine
        self._run("insert or replace into vault values ('clock', ?)", clock)

    def _note_step(self) -> None:
        if abs(self._unix_s() - self._steady_s() - self._set_s) > STEP_S:
            self._note_time()

    # ---- vault

    def load(self, name: str) -> bytes | None:
        with self._lock:
            row = self._run("select value from vault where name = ?", name).fetchone()
        return None if row is None else bytes(row[0])

    def store(self, name: str, value: bytes) -> None:
        with self._lock, self._change():
            self._run("insert or replace into vault values (?, ?)", name, value)
            self._note_time()

    def begin(self, authenticated: bool) -> None:
        """A life begins in which others' word is checked, or is not. What was received unchecked is gone when it is."""
        mark = self._mark()
        with self._lock, self._change():
            if not authenticated and mark is None:
                self.store(UNCHECKED, _MARK.pack(self.end(), int(self._one(_LAST_KNOWN))))
            elif authenticated and mark is not None:
                position, serial = mark
                gone = self._count_behind(position)
                self._forget("position > ?", position)
                self._run("delete from known where serial > ?", serial)
                self._run("delete from vault where name = ?", UNCHECKED)
                log.warning("what was received while this node was insecure (%d events kept) is forgotten", gone)

    def _mark(self) -> tuple[int, int] | None:
        """The last position and serial of what was checked, if anything came unchecked since."""
        mark = self.load(UNCHECKED)
        return None if mark is None else _MARK.unpack(mark)

    # ---- own publications

    def publish(self, events: Iterable[Event]) -> None:
        """Own events, as they were said. They are durable when this returns."""
        with self._lock, self._change():
            self._note_step()
            now_s = self.now_s()
            for event in events:
                until_s = _until_s(event, now_s)
                self._run(
                    "insert or replace into publications values (?, ?, ?, ?)", event.id, now_s, until_s, _bytes(event)
                )
            self._run("delete from publications where until_s <= ?", now_s)
            over = int(self._one("select count(*) from publications")) - self.bounds.publications
            if over > 0:
                self._run(
                    "delete from publications where event in (select event from publications order by event limit ?)",
                    over,
                )

    def valid_publications(self) -> list[tuple[Event, int]]:
        """Own events whose validity is not over, oldest first, and how many microseconds of it are left."""
        with self._lock, self._change():
            now_s = self.now_s()
            self._run("delete from publications where until_s <= ?", now_s)
            rows = self._run("select content, at_s from publications order by event").fetchall()
        return [(event, _left_us(event, now_s - at_s)) for event, at_s in ((_event(c), a) for c, a in rows)]

    # ---- what others published and the protocol may hold

    def hold(self, protocol: str, circle: str, sender: int, frame: bytes, validity_us: int) -> None:
        """A frame that just came, and the longest validity of an event in it; `circle`: who was let in (`Member`)."""
        with self._lock, self._change():
            self._note_step()
            now_s = self.now_s()
            until_s = FOREVER_S if validity_us == FOREVER else now_s + validity_us / 1e6
            self._run(
                "insert into held (at_s, until_s, protocol, circle, sender, content) values (?, ?, ?, ?, ?, ?)",
                now_s,
                until_s,
                protocol,
                circle,
                sender,
                frame,
            )
            self._run("delete from held where until_s <= ?", now_s)
            self._run(
                "delete from held where serial <= (select serial from held order by serial desc limit 1 offset ?)",
                self.bounds.held,
            )
            while int(self._one("select coalesce(sum(length(content)), 0) from held")) > self.bounds.held_bytes:
                self._run("delete from held where serial = (select min(serial) from held)")

    def held(self, protocol: str, circle: str) -> list[Held]:
        """What came for this protocol in this circle and may be valid still, in the order it came."""
        with self._lock:
            now_s = self.now_s()
            rows = self._run(
                "select at_s, sender, content from held where protocol = ? and circle = ? and until_s > ? "
                "order by serial",
                protocol,
                circle,
                now_s,
            ).fetchall()
        return [Held(max(0, int((now_s - at_s) * 1e6)), sender, frame) for at_s, sender, frame in rows]

    # ---- what was received

    def receive(self, events: Iterable[Event]) -> list[Received]:
        """Those that were never received before, with the positions they got. Durable when this returns."""
        with self._lock:
            try:
                with self._change():
                    self._note_step()
                    return self._receive(events, self.now_s())
            except StoreError:  # what was counted meanwhile did not happen
                self._weigh()
                raise

    def _receive(self, events: Iterable[Event], now_s: float) -> list[Received]:
        new: list[Received] = []
        for event in events:
            serial = int(self._one(_LAST_KNOWN)) + 1
            if self._run("insert or ignore into known values (?, ?)", event.id, serial).rowcount == 0:
                continue
            content = _bytes(event)
            row = self._run(
                "insert into received (event, until_s, content) values (?, ?, ?)",
                event.id,
                _until_s(event, now_s),
                content,
            )
            self._bytes += len(content)
            new.append(Received(int(row.lastrowid or 0), event))
        if new:
            self._make_room(now_s)
        return new

    def after(self, position: int, most: int) -> list[Received]:
        """The next received events that are still kept and valid."""
        with self._lock:
            rows = self._run(
                "select position, content from received where position > ? and until_s > ? order by position limit ?",
                position,
                self.now_s(),
                most,
            ).fetchall()
        return [Received(position, _event(content)) for position, content in rows]

    def end(self) -> int:
        """The position of the event received last."""
        with self._lock:
            row = self._run("select seq from sqlite_sequence where name = 'received'").fetchone()
        return 0 if row is None else int(row[0])

    def counts(self) -> dict[str, int]:
        names = ("publications", "received", "held", "known", "subscriptions")
        with self._lock:
            held = {name: int(self._one(f"select count(*) from {name}")) for name in names}
        return {**held, "received_bytes": self._bytes, "lost": self.lost}

    def _weigh(self) -> None:
        with self._lock:
            self._bytes = int(self._one("select coalesce(sum(length(content)), 0) from received"))

    def _make_room(self, now_s: float) -> None:
        least = self._one("select min(cursor) from subscriptions")
        self._forget("until_s <= ?", now_s)
        stays, serial = self._mark() or (0, 0)
        over = self._count_behind(stays) - self.bounds.received
        if over > 0:
            self._give_way(stays, over, least)
        staying = self._one("select coalesce(sum(length(content)), 0) from received where position <= ?", stays)
        while self._bytes - staying > self.bounds.received_bytes:
            self._give_way(stays, 1 + self._count_behind(stays) // 10, least)
        self._run(
            "delete from known where serial > ? and serial <= (select max(serial) from known) - ?",
            serial,
            self.bounds.known,
        )  # serials have no gaps but those of what was deleted here: the oldest

    def _count_behind(self, position: int) -> int:
        return int(self._one("select count(*) from received where position > ?", position))

    def _give_way(self, stays: int, how_many: int, least: float | None) -> None:
        oldest = "select position from received where position > ? order by position limit ?"
        last = int(self._one(f"select max(position) from ({oldest})", stays, how_many))
        if least is not None:
            self.lost += self._count_behind(max(stays, int(least))) - self._count_behind(max(last, int(least)))
        self._forget("position > ? and position <= ?", stays, last)

    def _forget(self, which: str, *values: object) -> None:
        freed = self._one(f"select coalesce(sum(length(content)), 0) from received where {which}", *values)
        self._run(f"delete from received where {which}", *values)
        self._bytes -= int(freed)

    # ---- subscriptions

    def subscriptions(self) -> list[Named]:
        with self._lock:
            rows = self._run("select name, filter, cursor from subscriptions order by name").fetchall()
        return [Named(*row) for row in rows]

    def subscribe(self, name: str, filter: str) -> Named:
        """The subscription of this name: it goes on where it was, or begins now if it is new."""
        with self._lock, self._change():
            row = self._run("select name, filter, cursor from subscriptions where name = ?", name).fetchone()
            if row is not None and row[1] == filter:
                return Named(*row)
            if row is None and int(self._one("select count(*) from subscriptions")) >= self.bounds.subscriptions:
                raise InputError(f"subscription {name!r}: there are {self.bounds.subscriptions} already; forget one")
            named = Named(name, filter, self.end() if row is None else int(row[2]))
            self._run("insert or replace into subscriptions values (?, ?, ?)", *named)
        return named

    def move(self, name: str, cursor: int) -> None:
        """Everything up to here has been handed over. Durable when this returns."""
        with self._lock, self._change():
            self._run("update subscriptions set cursor = max(cursor, ?) where name = ?", cursor, name)

    def unsubscribe(self, name: str) -> None:
        with self._lock, self._change():
            self._run("delete from subscriptions where name = ?", name)

    # ---- SQL

    def _one(self, statement: str, *values: object) -> float:
        """The single value that a statement gives; null only where the statement says so."""
        (value,) = self._run(statement, *values).fetchone()
        return value  # type: ignore[no-any-return]

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise StoreError(f"the node's store failed: {error}") from error

    def _change(self) -> _Change:
        return _Change(self._db)


class _Change:
    """A transaction: all of it or nothing, durable at its end. One inside another is part of it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._outer = False

    def __enter__(self) -> None:
        self._outer = not self._db.in_transaction
        if self._outer:
            self._execute("begin immediate")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._outer:
            if kind is not None:
                with suppress(sqlite3.Error):
                    self._db.execute("rollback")
            else:
                self._execute("commit")

    def _execute(self, statement: str) -> None:
        try:
            self._db.execute(statement)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._db.execute("rollback")
            raise StoreError(f"the node's store failed: {error}") from error


def _opened(folder: str | Path | None) -> sqlite3.Connection:
    if folder is None:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        db.executescript(_TABLES)
        return db
    path = Path(folder) / FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, files.PRIVATE))
    except OSError as error:
        raise InputError(f"cannot keep state in {folder}: {error_text(error)}") from None
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
    try:
        db.execute("pragma locking_mode = exclusive")
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("begin exclusive")
        (version,) = db.execute("pragma user_version").fetchone()
        if version < VERSION:
            if version > 0:
                _unseal(db)
                db.execute("drop table if exists held")  # it did not say in which circle that came
            for statement in (_TABLES if version == 0 else _HELD).split(";"):
                db.execute(statement)
            db.execute(f"pragma user_version = {VERSION}")
        db.execute("commit")
    except sqlite3.OperationalError as error:
        db.close()
        if "locked" in str(error):
            raise InputError(f"{path.parent}: another node is running on this state") from None
        raise InputError(f"cannot keep state in {path}: {error}") from None
    except sqlite3.DatabaseError as error:
        db.close()
        raise InputError(f"{path} is no store of a node: {error}") from None
    if version > VERSION:
        db.close()
        raise InputError(f"{path} was written by a newer roamcast (version {version}; this one knows {VERSION})")
    return db


def _unseal(db: sqlite3.Connection) -> None:
    """Before version 3, publications were kept as they travelled."""
    for (seed,) in db.execute("select value from vault where name = 'identity'").fetchall():
        public = Identity(seed).public
        for id, content in db.execute("select event, content from publications").fetchall():
            event = _event(content)
            if sealed_by(event, public):
                db.execute("update publications set content = ? where event = ?", (_bytes(unsealed(event)), id))


# ---- events


def _bytes(event: Event) -> bytes:
    return msgspec.msgpack.encode(event.fields())


def _event(content: bytes) -> Event:
    try:
        return event_from_fields(msgspec.msgpack.decode(content))
    except (Malformed, msgspec.DecodeError) as error:
        raise StoreError(f"the node's store is damaged: {error}") from error


def _until_s(event: Event, now_s: float) -> float:
    return FOREVER_S if event.validity_us == FOREVER else now_s + event.validity_us / 1e6


def _left_us(event: Event, age_s: float) -> int:
    """Of a store that goes by the system's clock for the first time; set back, that makes nothing younger than new."""
    return FOREVER if event.validity_us == FOREVER else event.validity_us - max(0, int(age_s * 1e6))
