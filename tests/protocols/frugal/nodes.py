"""What tests of frugal dissemination share."""

from __future__ import annotations

from typing import Any

from roamcast.protocols.frugal.frames import table_id
from roamcast.protocols.frugal.neighbors import Neighbor, NeighborhoodTable
from roamcast.protocols.frugal.protocol import Frugal
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make

NEWS = topic("news")
SECOND = 1_000_000


def node(**params: Any) -> tuple[Frugal, ScriptHost]:
    protocol, host = make(Frugal, **params)
    assert isinstance(protocol, Frugal)
    return protocol, host


def news(sequence: int, publisher: int = 99, validity_us: int = FOREVER) -> Event:
    return Event(event_id(publisher, sequence), "news", validity_us=validity_us)


def ids_of(table: NeighborhoodTable, neighbor: Neighbor) -> list[int]:
    """The ids that a neighbour is presumed to have, except those of collected events."""
    ids = [row.event.id for row in table.events.rows if row.holders & neighbor.bit]
    return ids + [table_id(id) for id, holders in table.unknown_holders.items() if holders & neighbor.bit]
