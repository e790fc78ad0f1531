"""What tests of Baehni et al. 2005 share: events, and a process by hand."""

from __future__ import annotations

from math import nan
from typing import Any

from roamcast.protocols.frugal.event_table import EventTable, StoredEvent
from roamcast.protocols.frugal.frames import Events, EventsIds, Heartbeat, table_id
from roamcast.protocols.frugal.protocol import Frugal
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import Filter, topic
from roamcast.testing import ScriptHost
from tests.protocols.frugal.nodes import ids_of

SECOND = 1_000_000
MINUTE = 60 * SECOND


T0, T1, T2 = topic("T0"), topic("T0.T1"), topic("T0.T1.T2")


def event(number: int, name: str = "T0", validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, number), name, validity_us=validity_us)


class Node:
    """One process whose clock the test sets; its first heartbeat is far in the future unless a test sets it."""

    def __init__(self, *subscriptions: Filter, speed_mps: float = nan, **params: Any) -> None:
        self.host = ScriptHost(0)
        self.host.speed_mps = speed_mps
        self.host.draws = [0.999999]
        self.frugal = Frugal(self.host, Frugal.params_class(**{"jitter_ms": 0.0, **params}))
        self.frugal.on_start()
        for key, filter in enumerate(subscriptions):
            self.frugal.on_subscribe(key, filter)

    def heartbeat(self, j: int, *subscriptions: Filter, speed_mps: float = nan) -> None:
        self.host.hear(self.frugal, Heartbeat(list(subscriptions), speed_mps), j)
        self.advance(0)

    def ids(self, j: int, *events: Event) -> None:
        self.host.hear(self.frugal, EventsIds([table_id(e.id) for e in events]), j)

    def events(self, j: int, *events: Event, to: tuple[int, ...] = (), age_us: int = 0) -> None:
        self.host.hear(self.frugal, Events(list(events), [age_us] * len(events), list(to)), j)

    def advance(self, seconds: float) -> None:
        self.host.advance(self.frugal, self.host.clock_us + round(seconds * SECOND))

    def sent(self, kind: str) -> list[Any]:
        """The frames of a kind since the last call."""
        frames = self.host.frames(kind)
        self.host.sent = [(to, frame) for to, frame in self.host.sent if frame.kind != kind]
        return frames

    def sent_ids(self) -> list[list[int]]:
        return [[e.id for e in frame.events()] for frame in self.sent("event")]

    def neighbors(self) -> list[int]:
        return list(self.frugal.neighborhood_table.rows)

    def stored(self) -> list[int]:
        return [row.event.id for row in self.frugal.events_table.rows]

    def ids_of(self, j: int) -> list[int]:
        """The ids that a neighbour is presumed to have."""
        table = self.frugal.neighborhood_table
        return ids_of(table, table.rows[j])


def hold(table: EventTable, number: int, validity_us: int, fwd: int, expiry_us: int = FOREVER) -> None:
    stored = StoredEvent(event(number, validity_us=validity_us), expiry_us)
    table.add(stored)
    for _ in range(fwd):
        table.count_forward(stored)


def collected(table: EventTable, now_us: int = 0) -> int:
    table.expire(now_us)
    gc = table.garbage_collect()
    assert gc is not None
    assert gc not in table.rows
    return gc.event.id
