"""Every test of a trace runs wherever tables can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from roamcast.lab.traces.here import Here
from tests.lab.traces.places import Scattering, in_spark

if TYPE_CHECKING:
    from roamcast.lab.traces.trace import Place


@pytest.fixture(params=["here", "scattered", "spark"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "spark":
        made = in_spark(request.getfixturevalue("spark"))
    else:
        made = Here() if request.param == "here" else Scattering(1)
    yield made
    made.close()
