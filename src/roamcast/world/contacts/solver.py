"""When two nodes that move in straight lines are in contact: the only place where this quadratic is solved.

|p + w s|² = r²  is  a s² + 2 b s + c = 0  for the place p and the velocity w of one node relative to the other. The
discriminant b² - a c is written as a r² - (p x w)², and each root in the form that does not subtract nearly equal
numbers.

Contact is the closed disc (distance <= r), as it is just after now: two nodes that touch for an instant and part are
not in contact, two that stand exactly r apart are.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Final

from librt.strings import BytesWriter, read_f64_le, write_f64_le
from mypy_extensions import i64

NUMBERS: Final = 8 * 4
"""Bytes of a pair in `together_all`: px, py, wx, wy."""


def together(px: float, py: float, wx: float, wy: float, r2: float) -> tuple[float, float]:
    """From when to when, counted from now, the two are in contact; (inf, inf) if they never are from now on."""
    a = wx * wx + wy * wy
    c = px * px + py * py - r2
    if a == 0.0:
        return (0.0, inf) if c <= 0.0 else (inf, inf)
    across = px * wy - py * wx
    d = a * r2 - across * across
    if not d > 0.0:  # they pass each other, and touch at most
        return inf, inf
    b = px * wx + py * wy
    root = sqrt(d)
    if c <= 0.0:
        return 0.0, -c / (b + root) if b > 0.0 else (root - b) / a
    if b < 0.0:
        return c / (root - b), (root - b) / a
    return inf, inf


def together_all(pairs: bytes, r2: float) -> bytes:
    """The same for many pairs: four numbers of eight bytes for each of them in, two out (little-endian)."""
    intervals = BytesWriter()
    for at in range(0, len(pairs), NUMBERS):
        k: i64 = at
        begin, end = together(
            read_f64_le(pairs, k), read_f64_le(pairs, k + 8), read_f64_le(pairs, k + 16), read_f64_le(pairs, k + 24), r2
        )
        write_f64_le(intervals, begin)
        write_f64_le(intervals, end)
    return intervals.getvalue()
