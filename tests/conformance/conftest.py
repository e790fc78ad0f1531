"""Every test of the suite runs on all backends that its fixture names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conformance.driver import Driver
from tests.conformance.real import BROADCAST, MULTICAST, Real
from tests.conformance.simulated import Kind, Simulated

SIMULATED: dict[str, Callable[..., Driver]] = {
    f"{kind.mac}, {kind.radio}{more}": (lambda *a, kind=kind, **k: Simulated(kind, *a, **k))
    for kind, more in [
        (Kind("ideal", "disc"), ""),
        (Kind("ideal", "two-ray"), ""),
        (Kind("dcf", "disc"), ""),
        (Kind("dcf", "disc", "summary"), ", short cut"),
        (Kind("dcf", "disc", carrier_sense_ratio=2.0), ", sensed farther"),
        (Kind("dcf", "two-ray", carrier_sense_ratio=2.0), ""),
        (Kind("dcf", "log-distance"), ""),
        (Kind("dcf", "free-space"), ""),
        (Kind("tinyos", "disc"), ""),
        (Kind("tinyos", "disc", "summary"), ", short cut"),
        (Kind("tinyos", "two-ray"), ""),
    ]
}
REAL: dict[str, Callable[..., Driver]] = {
    "real, multicast": lambda *a, **k: Real(MULTICAST, *a, **k),
    "real, broadcast": lambda *a, **k: Real(BROADCAST, *a, **k),
    "real, insecure": lambda *a, **k: Real(MULTICAST, *a, **{**k, "secure": False}),
}
BACKENDS = SIMULATED | REAL
LOGGING = [name for name in BACKENDS if not name.endswith("short cut")]

MakeDriver = Callable[..., Driver]
"""`drive(places, subscriptions=…, loss=…)`"""


@pytest.fixture(params=BACKENDS)
def drive(request: pytest.FixtureRequest) -> Iterator[MakeDriver]:
    yield from _making(request.param)


@pytest.fixture(params=LOGGING)
def drive_logging(request: pytest.FixtureRequest) -> Iterator[MakeDriver]:
    """The backends whose log has deliveries and notes."""
    yield from _making(request.param)


def _making(backend: str) -> Iterator[MakeDriver]:
    made: list[Driver] = []

    def make(*arguments: Any, **named: Any) -> Driver:
        made.append(BACKENDS[backend](*arguments, **named))
        return made[-1]

    yield make
    for driver in made:
        driver.check()
