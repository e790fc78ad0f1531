"""Arrow arrays of numbers, texts and maps, made from their bytes.

`pyarrow.array` could do this, but it imports pandas to check for pandas objects. That takes a quarter of a second,
longer than most runs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any


def numbers(column: Any) -> Any:
    """The Arrow array of a contiguous numpy array."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, pa.py_buffer(column)])


def texts(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    encoded = [b"" if value is None else value.encode() for value in values]
    buffers = [_present(values), _ends(encoded), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def maps(values: Sequence[Mapping[str, Any] | None], kind: Any) -> Any:
    """Dictionaries as an Arrow array of the map type `kind`; entries keep their order."""
    import pyarrow as pa

    given = [value or {} for value in values]
    keys = texts([key for value in given for key in value])
    items = column([item for value in given for item in value.values()], kind.item_type)
    entries = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(kind, len(values), [_present(values), _ends(given)], children=[entries])


def column(values: Sequence[Any], kind: Any) -> Any:
    """Values, some of them perhaps None, as one of the types that tables have: text, number, truth or map."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        return maps(values, kind)
    if pa.types.is_string(kind):
        return texts(values)
    if pa.types.is_boolean(kind):
        return truths(values)
    code = {pa.int32(): "i", pa.int64(): "q", pa.float64(): "d"}[kind]
    content = array(code, (0 if value is None else value for value in values))
    return pa.Array.from_buffers(kind, len(values), [_present(values), pa.py_buffer(content)])


def truths(values: Sequence[bool | None]) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), len(values), [_present(values), _bits(map(bool, values))])


def _ends(values: Sequence[Any]) -> Any:
    """The offsets at which values begin, and the last one ends, when they are put one after another."""
    import pyarrow as pa

    return pa.py_buffer(array("i", accumulate(map(len, values), initial=0)))


def _present(values: Sequence[Any]) -> Any:
    """A bit for each value that is not None, the first one lowest; None if no value is None."""
    return _bits(value is not None for value in values) if None in values else None


def _bits(values: Iterable[bool]) -> Any:
    """A bit for each value, the first one lowest."""
    import pyarrow as pa

    bits = "".join("1" if value else "0" for value in values)
    return pa.py_buffer(int(bits[::-1] or "0", 2).to_bytes((len(bits) + 7) // 8, "little"))
