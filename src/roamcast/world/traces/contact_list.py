"""Contact lists: `t i j`, perhaps with more columns, as SocioPatterns publishes them.

A line says that i and j were in contact on [t - resolution, t]. The resolution is the smallest step between two
successive times of the file (20 s in the SocioPatterns traces) unless it is given; a file with a single time has one
second. Words may be separated by spaces, tabs or commas; a first line of column names is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roamcast.world.traces.columns import Columns
from roamcast.world.traces.files import CUT
from roamcast.world.traces.record import Record, contact, problem, unlike
from roamcast.world.traces.table import instant

ALONE_US: Final = 1_000_000


def read(
    lines: Iterable[tuple[int, str]], columns: Columns, titles: str, unit_us: float, resolution_us: int
) -> Iterator[Record]:
    """`titles` is the line of titles, empty if there is none. Numbers of time are in units of `unit_us`."""
    t_at, i_at, j_at = (columns.at[what] for what in ("t", "i", "j"))
    for number, line in lines:
        text = line.strip()
        if not text or text[0] == "#" or text == titles:
            continue
        try:
            cells = columns.cells(text)
            t, i, j = instant(cells[t_at], unit_us), cells[i_at].strip(), cells[j_at].strip()
            if not i or not j or i == j:
                raise ValueError
        except (ValueError, IndexError):
            yield problem(number, CUT) if line == CUT else unlike(number, line, "`t i j` of two nodes")
            continue
        yield contact(number, i, j, t - resolution_us, t)


def smallest_step(lines: Iterable[tuple[int, str]], columns: Columns, unit_us: float) -> int:
    """The smallest step between successive times, in microseconds; 0 if there is only one time."""
    least = last = -1
    t_at = columns.at["t"]
    for _, line in lines:
        try:
            t = instant(columns.cells(line)[t_at], unit_us)
        except (ValueError, IndexError):
            continue
        if last >= 0 and t > last and (least < 0 or t - last < least):
            least = t - last
        last = t
    return max(least, 0)
