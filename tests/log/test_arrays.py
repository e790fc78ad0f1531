"""Arrays made of bytes are those that Arrow makes itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.log.arrays import numbers, texts


@given(st.lists(st.none() | st.text(max_size=20), max_size=40))
def test_texts_are_what_arrow_would_make_of_them(values: list[str | None]) -> None:
    made = texts(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))
    assert made.null_count == values.count(None)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_numbers_are_what_arrow_would_make_of_them(kind: str) -> None:
    for column in (np.array([], kind), np.array([1, -2, 2**31 - 1], kind)):
        assert numbers(column).equals(pa.array(column))


def test_a_run_writes_its_log_without_pandas(tmp_path: Path) -> None:
    program = (
        "import sys; from roamcast.world.scenario import Scenario; from roamcast.world.simulate import simulate;"
        "scenario = Scenario(nodes=5, duration_s=5.0, publishers=2, subscribers=3, rate_hz=1.0);"
        f"simulate(scenario, 'gossip', {{}}, 1, level='frames', log={str(tmp_path / 'log.parquet')!r});"
        "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
