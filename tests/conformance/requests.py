"""Requests that tests make of a host."""

from __future__ import annotations

from typing import Any

from roamcast.pubsub.event import Event
from tests.conformance.driver import Deed, Driver, Ping, Probe

CELL = [0.0, 0.3, 0.6, 0.9]
"""All nodes hear each other."""


ABSENT = 77


def broadcast(*numbers: int, content: bytes = b"") -> Deed:
    def deed(probe: Probe, event: Event) -> None:
        for number in numbers:
            probe.host.broadcast(Ping(number, 0, content))

    return deed


def with_host(*calls: tuple[Any, ...]) -> Deed:
    """`with_host(("set_timer", 1, 5000), ("cancel_timer", 1))`"""

    def deed(probe: Probe, event: Event) -> None:
        for name, *arguments in calls:
            getattr(probe.host, name)(*arguments)

    return deed


def published(driver: Driver, i: int) -> Event:
    """Node i publishes an event without effect."""
    driver.do(i, lambda *_: None)
    event: Event = driver.probe(i).calls("publish")[-1].arguments[0]
    return event


def ping(number: int, id: int) -> Deed:
    return lambda probe, _: probe.host.broadcast(Ping(number, id))
