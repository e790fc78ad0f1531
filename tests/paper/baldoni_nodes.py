"""What tests of Baldoni et al. 2005 share: brokers in given states."""

from __future__ import annotations

from typing import Any

from roamcast.protocols.proximity.frames import INFINITE, Beacon, Message
from roamcast.protocols.proximity.protocol import Proximity
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import Filter, topic
from roamcast.testing import ScriptHost, make

INTERVAL_US = 5_000_000
DELAY_US = 1_000_000  # at proximity 1
LATE_US = 1_000 * INTERVAL_US
NEWS = topic("news")


def broker(**params: Any) -> tuple[Proximity, ScriptHost]:
    """A broker long after the start of the simulation; without jitter by default."""
    host = ScriptHost()
    host.clock_us = LATE_US
    protocol, _ = make(Proximity, host, **{"max_delay_s": DELAY_US / 1e6, "jitter_ms": 0.0, **params})
    assert isinstance(protocol, Proximity)
    return protocol, host


def met(protocol: Proximity, other: int, missed: int, predicate: Filter = NEWS) -> None:
    """The other broker's last beacon came `missed` intervals ago."""
    host = protocol.host
    assert isinstance(host, ScriptHost)
    now = host.clock_us
    host.clock_us -= missed * INTERVAL_US
    protocol.on_frame(Beacon(predicate), other)
    host.clock_us = now


def proximity(protocol: Proximity, other: int) -> int:
    """In thousandths; infinite to a broker that is not in the table."""
    row = protocol.pt.row(other)
    return INFINITE if row < 0 else protocol.proximity_after(protocol.host.now() - protocol.pt.times_us[row])


def news(sequence: int = 1, publisher: int = 99, **content: Any) -> Event:
    return Event(event_id(publisher, sequence), "news", **content)


def message(destinations: dict[int, int] | None = None, credit: int = 0, event: Event | None = None) -> Message:
    return Message(event or news(), credit, destinations or {}, 0)


def sent(host: ScriptHost) -> list[Message]:
    return [frame for frame in host.frames("event") if isinstance(frame, Message)]


def sent_after(protocol: Proximity, host: ScriptHost) -> int | None:
    """Microseconds until the broker sends a message; None if it never does."""
    start = host.clock_us
    due = host.timers.get(news().id)
    host.advance(protocol, start + 2 * DELAY_US)
    assert bool(sent(host)) == (due is not None)
    return None if due is None else due - start
