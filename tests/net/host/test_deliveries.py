"""Events on their way to the application."""

from __future__ import annotations

import pytest

from roamcast.net.durable import MemoryValues
from roamcast.net.host.deliveries import Deliveries
from roamcast.net.host.journal import Journal
from roamcast.net.host.publisher import Publisher
from roamcast.net.refusal import Tally
from roamcast.net.trust.membership import Membership
from roamcast.pubsub.event import Event
from tests.conformance.real import RING
from tests.support.sinks import MemorySink


def test_the_application_gets_the_event_without_and_with_its_seal(caplog: pytest.LogCaptureFixture) -> None:
    publisher, tally, sink = Publisher(Membership.secure(MemoryValues(), RING), 1372), Tally(), MemorySink()
    got: list[tuple[Event, Event]] = []
    deliveries = Deliveries(publisher, Journal(sink, "full", 3, 0, lambda: 5), tally, lambda *both: got.append(both))
    event = publisher.prepare("news", payload=b"x")
    deliveries.deliver(event)
    assert got == [(Event(event.id, "news", payload=b"x"), event)]
    deliveries.on_deliver = lambda *_: 1 / 0  # type: ignore[assignment, return-value]
    deliveries.deliver(event)
    deliveries.on_deliver = None
    deliveries.deliver(event)
    assert (tally.delivered, tally.drops(), len(sink.rows)) == (3, {"application full": 1}, 3)
    assert [record.message for record in caplog.records] == ["the application failed to take an event"]
