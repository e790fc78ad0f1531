"""Real nodes for tests, and helpers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from roamcast.pubsub.event import Event
from tests.conformance.driver import Deed, Ping, Probe
from tests.conformance.real import MULTICAST, Real

PAIR = [0.0, 0.5]


@pytest.fixture
def made() -> Iterator[list[Real]]:
    drivers: list[Real] = []
    yield drivers
    for driver in drivers:
        driver.check()


@pytest.fixture
def real(made: list[Real]) -> Any:
    def make(places: list[float] = PAIR, **more: Any) -> Real:
        made.append(Real(MULTICAST, places, **more))
        return made[-1]

    return make


def rows_of(driver: Real, kind: int) -> list[Any]:
    return [row for row in driver.sink.rows if row[2] == kind]


def broadcast_all(numbers: Iterable[int], content: bytes = b"") -> Deed:
    def deed(probe: Probe, _: Event) -> None:
        for number in numbers:
            probe.host.broadcast(Ping(number, 0, content))

    return deed
