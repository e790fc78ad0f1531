"""What tests of proximity-driven routing share."""

from __future__ import annotations

from typing import Any

from roamcast.protocols.proximity.protocol import Proximity
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make

NEWS = topic("news")
INTERVAL_US = 5_000_000


def broker(**params: Any) -> tuple[Proximity, ScriptHost]:
    protocol, host = make(Proximity, **params)
    assert isinstance(protocol, Proximity)
    return protocol, host


def news(sequence: int, publisher: int = 99) -> Event:
    return Event(event_id(publisher, sequence), "news")
