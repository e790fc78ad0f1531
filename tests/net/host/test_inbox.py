"""Received frames on their way to the protocol."""

from __future__ import annotations

from typing import Any

from roamcast.protocols.kit import wire
from tests.conformance.driver import Parcel, Probe
from tests.net.conftest import say_all
from tests.net.members import publication


def test_frames_with_events_of_others_are_told_once(real: Any) -> None:
    driver = real()
    told: list[tuple[int, bytes, list[int]]] = []
    driver.runners[1].inbox.on_carry = lambda sender, frame, events: told.append(
        (sender, frame, [e.id for e in events])
    )
    heard = [publication(driver.runners[0].membership, n, topic="news") for n in (1, 2)]
    own = publication(driver.runners[1].membership, 7)
    for event in (heard[0], heard[0], own, heard[1], heard[0]):
        driver.do(0, lambda probe, _, event=event: probe.host.broadcast(Parcel(event)))
    driver.do(0, say_all([1]))
    assert told == [(0, wire.encode(Probe, Parcel(event)), [event.id]) for event in heard]
