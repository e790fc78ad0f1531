"""Received frames on their way to the protocol."""

from __future__ import annotations

from typing import Any

import msgspec

from roamcast.net.host.inbox import CarriedEvents
from roamcast.protocols.kit import wire
from roamcast.pubsub.event import Event, event_id
from tests.conformance.driver import Parcel, Probe
from tests.net.conftest import broadcast_all
from tests.net.members import publication


def test_frames_with_events_of_others_are_reported_once(real: Any) -> None:
    driver = real()
    reports: list[tuple[int, bytes, list[int]]] = []
    driver.runners[1].inbox.on_carry = lambda sender, frame, events: reports.append(
        (sender, frame, [e.id for e in events])
    )
    heard = [publication(driver.runners[0].membership, n, topic="news") for n in (1, 2)]
    own = publication(driver.runners[1].membership, 7)
    for event in (heard[0], heard[0], own, heard[1], heard[0]):
        driver.do(0, lambda probe, _, event=event: probe.host.broadcast(Parcel(event)))
    driver.do(0, broadcast_all([1]))
    assert reports == [(0, wire.encode(Probe, Parcel(event)), [event.id]) for event in heard]


def test_a_frame_is_stored_as_it_came(real: Any) -> None:
    """Another implementation may encode the same frame in other bytes, for example with longer numbers."""
    driver = real()
    bodies: list[bytes] = []
    driver.runners[1].inbox.on_carry = lambda _, body, __: bodies.append(body)
    sender = driver.runners[0]
    event = publication(sender.membership, 1, topic="news")
    fields = msgspec.msgpack.encode(event.fields())
    body = b"\xdc\x00\x02" + b"\x01" + fields  # an array whose length has 16 bits, although four are enough
    assert body != wire.encode(Probe, Parcel(event))
    (datagram,) = sender.codec.outgoing(body, -1, 0)[1]
    driver.media[0].send(datagram)
    driver.run(0.5)
    assert bodies == [body]


def test_a_limited_number_of_carried_events_is_remembered() -> None:
    carried = CarriedEvents(own_number=7, most=2)
    frames = [Parcel(Event(event_id(node, 1))) for node in (1, 2, 3)]
    assert [carried.add(frame) for frame in frames] == [True, True, True]
    assert [carried.add(frame) for frame in reversed(frames)] == [False, False, True], "the oldest was forgotten"
    assert not carried.add(Parcel(Event(event_id(7, 1)))), "own events are stored elsewhere"
