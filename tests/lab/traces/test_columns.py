"""Columns keep their values between Arrow and numpy, and pandas is not loaded for it."""

from __future__ import annotations

import subprocess
import sys
from math import isnan, nan
from typing import Any

import pyarrow as pa
import pytest

from roamcast.lab.traces.columns import repeated, to_arrow, to_numpy

CASES = [
    (pa.int8(), [1, -2, 3]),
    (pa.int32(), [1, -2, 3]),
    (pa.int64(), [1 << 62, -2, 3]),
    (pa.float64(), [0.1, -0.0, 3.0]),
    (pa.bool_(), [True, False, True]),
    (pa.string(), ["a", None, "ü"]),
]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=[str(kind) for kind, _ in CASES])
def test_there_and_back(kind: pa.DataType, values: list[Any]) -> None:
    column = to_arrow(values, kind)
    column.validate(full=True)
    assert (column.type, column.to_pylist()) == (kind, values)
    assert to_numpy(column).tolist() == values
    assert to_numpy(column.slice(1, 1)).tolist() == values[1:2]
    assert to_numpy(pa.chunked_array([column.slice(1), column])).tolist() == [*values[1:], *values]
    assert to_numpy(pa.chunked_array([], kind)).tolist() == to_numpy(column.slice(0, 0)).tolist() == []


def test_nan_is_null_only_where_there_may_be_nulls() -> None:
    assert to_arrow([1.0, nan], pa.float64(), with_nulls=True).to_pylist() == [1.0, None]
    assert to_arrow([1.0, nan], pa.float64()).null_count == 0
    one, none = to_numpy(pa.array([1.0, None])).tolist()
    assert one == 1.0 and isnan(none)


def test_a_text_for_every_row() -> None:
    column = repeated("wö/a.csv", 3)
    column.validate(full=True)
    assert column.to_pylist() == ["wö/a.csv"] * 3
    assert repeated("a", 0).to_pylist() == []


def test_a_small_trace_loads_neither_spark_nor_pandas() -> None:
    program = (
        "import sys; from pathlib import Path; import tempfile\n"
        "from roamcast.lab.traces import contacts, summary, trace\n"
        "from roamcast.lab.traces.here import Here\n"
        "file = Path(tempfile.mkdtemp()) / 'a.csv'\n"
        "file.write_text('t,node,x,y\\n0,ann,0,0\\n0,bob,9,0\\n5,ann,8,0\\nwhat\\n')\n"
        "read = trace.read(Here(), [str(file)])\n"
        "assert summary.of(read, contacts.of(read, 5.0), [5.0])['contacts']['count'] == 1\n"
        "print(sorted({'pandas', 'pyspark'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
