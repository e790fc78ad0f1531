"""Tables of whole numbers as few bytes.

A column is written byte by byte: first the lowest bytes of all its numbers, then the next ones. Columns that only rise
are written as differences, those with negative numbers as 2n and -2n-1. Neighbouring bytes are then much alike, and
deflate, which every browser can undo without a library, leaves little of them.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, Final, NamedTuple

LEVEL: Final = 7
"""Of deflate: 9 would take eight times as long for 2 % less."""


class Column(NamedTuple):
    """`values` are whole numbers (numpy). One that `rises` never decreases; others must be below 2 to the 52."""

    name: str
    values: Any
    rises: bool = False


Tables = dict[str, list[Column]]


def packed(texts: dict[str, Any], tables: Tables) -> bytes:
    """`texts` is everything else, as JSON; the browser's half of this is replay-data.js."""
    pieces: list[bytes] = []
    described: dict[str, Any] = {}
    for name, columns in tables.items():
        described[name] = {"rows": len(columns[0].values) if columns else 0, "columns": []}
        for column in columns:
            content, width, signed = _bytes(column)
            described[name]["columns"].append([column.name, width, int(column.rises), int(signed)])
            pieces.append(content)
    head = json.dumps({**texts, "tables": described}, ensure_ascii=False, separators=(",", ":")).encode()
    return zlib.compress(struct.pack("<I", len(head)) + head + b"".join(pieces), LEVEL)


def _bytes(column: Column) -> tuple[bytes, int, bool]:
    """The content, how many bytes a number has, and whether numbers have signs."""
    import numpy as np

    values = np.asarray(column.values, np.int64)
    if column.rises:
        values = np.diff(values, prepend=np.int64(0))
    signed = bool(len(values)) and int(values.min()) < 0
    if signed:
        values = (values << 1) ^ (values >> 63)
    width = max(1, (int(values.max()).bit_length() + 7) // 8) if len(values) else 1
    planes = values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
    return planes.T.tobytes(), width, signed
