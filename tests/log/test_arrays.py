"""Arrays made from bytes are equal to those that Arrow makes itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.log.arrays import column, numbers, texts


@given(st.lists(st.none() | st.text(max_size=20), max_size=40))
def test_texts_are_what_arrow_would_make_of_them(values: list[str | None]) -> None:
    made = texts(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))
    assert made.null_count == values.count(None)


COUNTS = pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int32(), [1, None, -(2**31)]),
        (pa.int64(), [2**63 - 1, 0]),
        (pa.float64(), [0.1, None, 1e300, 7]),
        (pa.string(), ["ä", None]),
        (pa.int64(), []),
    ],
)
def test_columns_are_what_arrow_would_make_of_them(kind: pa.DataType, values: list[Any]) -> None:
    for many in (values, values * 9):
        made = column(many, kind)
        made.validate(full=True)
        assert made.equals(pa.array(many, kind))


@given(st.lists(st.none() | st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3), max_size=12))
def test_maps_are_what_arrow_would_make_of_their_entries(values: list[dict[str, int] | None]) -> None:
    made = column(values, COUNTS)
    made.validate(full=True)
    assert made.equals(pa.array([None if value is None else list(value.items()) for value in values], COUNTS))


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_numbers_are_what_arrow_would_make_of_them(kind: str) -> None:
    for values in (np.array([], kind), np.array([1, -2, 2**31 - 1], kind)):
        assert numbers(values).equals(pa.array(values))


def test_a_run_writes_its_log_without_pandas(tmp_path: Path) -> None:
    program = (
        "import sys; from roamcast.world.scenario import Scenario; from roamcast.world.simulate import simulate;"
        "scenario = Scenario(nodes=5, duration_s=5.0, publishers=2, subscribers=3, rate_hz=1.0);"
        f"simulate(scenario, 'gossip', {{}}, 1, level='frames', log={str(tmp_path / 'log.parquet')!r});"
        "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
