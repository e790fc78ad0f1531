"""Tables as few bytes, and back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roamcast.show.replay.packed import Column, packed
from tests.show.replay.runs import unpacked

NUMBERS = st.lists(st.integers(-(1 << 51), (1 << 51) - 1), max_size=30)


@given(NUMBERS, st.lists(st.integers(0, 1 << 40), max_size=30))
def test_numbers_come_back(any_numbers: list[int], times: list[int]) -> None:
    rising = sorted(times)
    tables = {
        "a": [Column("n", np.array(any_numbers, np.int64))],
        "b": [Column("t", np.array(rising, np.int64), rises=True), Column("k", np.arange(len(rising)))],
    }
    texts, back = unpacked(packed({"title": "näher"}, tables))
    assert texts["title"] == "näher"
    assert back == {"a": {"n": any_numbers}, "b": {"t": rising, "k": list(range(len(rising)))}}


def test_columns_that_rise_evenly_cost_next_to_nothing() -> None:
    even = Column("t", np.arange(100_000) * 1000, rises=True)
    assert len(packed({}, {"rows": [even]})) < 1000
