"""Arrow arrays of numbers and texts, made from their bytes.

`pyarrow.array` could do this, but it imports pandas to check for pandas objects. That takes a quarter of a second,
longer than most runs.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any


def numbers(column: Any) -> Any:
    """The Arrow array of a contiguous numpy array."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, pa.py_buffer(column)])


def texts(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    encoded = [b"" if value is None else value.encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    if None in values:
        present = sum(1 << k for k, value in enumerate(values) if value is not None)  # a bit each
        buffers[0] = pa.py_buffer(present.to_bytes((len(values) + 7) // 8, "little"))
    return pa.Array.from_buffers(pa.string(), len(values), buffers)
