"""A machine with a clock, and events, for the tests of the store."""

from __future__ import annotations

from pathlib import Path

from roamcast.net.keep.database import Bounds
from roamcast.net.keep.store import Store
from roamcast.pubsub.event import FOREVER, Event

HERE = "a group's id"


YEAR_S = 365.25 * 86_400


class Clock:
    """A machine's clock: `s` is the time since it was switched on, and `set` is what people set the clock to at 0."""

    def __init__(self) -> None:
        self.s = 1000.0
        self.set = 1_800_000_000.0
        self.machine = b"switched on once"

    def store(self, folder: Path | None, bounds: Bounds | None = None) -> Store:
        return Store(folder, bounds, unix_s=lambda: self.s + self.set, steady_s=lambda: self.s, machine=self.machine)

    def switch_off_and_on(self, away_s: float) -> None:
        self.machine += b" more"
        self.set += self.s + away_s - 200
        self.s = 200.0


def event(n: int, validity_us: int = FOREVER, payload: bytes = b"x") -> Event:
    return Event(7 << 32 | n, "news", {"n": n}, payload, validity_us)


def ids(received: list[tuple[int, Event]]) -> list[int]:
    return [e.id & 0xFFFF for _, e in received]


def seconds_left(store: Store) -> list[int]:
    """How many seconds of their validity own events have left."""
    return [left // 1_000_000 for _, _, left in store.own.valid()]
