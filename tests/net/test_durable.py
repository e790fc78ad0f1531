from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roamcast.net.durable import DurableValues, MemoryValues
from roamcast.net.keep.store import Store


@pytest.fixture(params=["memory", "store"])
def values(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DurableValues]:
    if request.param == "memory":
        yield MemoryValues()
    else:
        store = Store(tmp_path)
        yield store.values
        store.close()


def test_the_value_that_was_stored_last_is_loaded(values: DurableValues) -> None:
    assert values.load("boot") is None
    values.store("boot", b"1")
    values.store("sequence", b"")
    values.store("boot", b"two")
    assert values.load("boot") == b"two"
    assert values.load("sequence") == b""
