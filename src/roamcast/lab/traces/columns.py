"""Columns of tables between Arrow and numpy.

pyarrow's own functions for this import pandas, to look for its objects. That takes longer than a small trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from roamcast.log.arrays import texts

Array = NDArray[Any]


def to_arrow(column: Array | Sequence[Any], kind: pa.DataType, *, with_nulls: bool = False) -> pa.Array:
    """A column as Arrow has it. With nulls: NaN is none."""
    if pa.types.is_string(kind):
        return texts(list(column))
    if pa.types.is_boolean(kind):
        values = np.asarray(column, bool)
        return pa.Array.from_buffers(kind, len(values), [None, _bits(values)])
    values = np.ascontiguousarray(column, kind.to_pandas_dtype())
    present = _bits(~np.isnan(values)) if with_nulls and np.isnan(values).any() else None
    return pa.Array.from_buffers(kind, len(values), [present, pa.py_buffer(values)])


def repeated(text: str, count: int) -> pa.Array:
    content = text.encode()
    ends = np.arange(count + 1, dtype=np.int32) * len(content)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), pa.py_buffer(content * count)])


def to_numpy(column: pa.Array | pa.ChunkedArray) -> Array:
    """A column as numpy has it: texts are objects, and null is None or NaN."""
    whole = _in_one(column) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_string(whole.type):
        return np.array(whole.to_pylist(), object)
    if pa.types.is_boolean(whole.type):
        return _numbers(whole.cast(pa.int8())).astype(bool)
    values = _numbers(whole)
    return np.where(_numbers(pc.is_valid(whole).cast(pa.int8())) == 1, values, np.nan) if whole.null_count else values


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks > 1:
        return pa.concat_arrays(column.chunks)
    return column.chunk(0) if column.num_chunks else to_arrow([], column.type)


def _numbers(whole: pa.Array) -> Array:
    kind = whole.type.to_pandas_dtype()
    content = whole.buffers()[1]
    if content is None or not len(whole):
        return np.zeros(0, kind)
    return np.frombuffer(content, kind, len(whole), whole.offset * np.dtype(kind).itemsize)


def _bits(values: Array) -> pa.Buffer:
    """One for each value, the first one lowest."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
