"""Contact lists: `t i j`, perhaps with more columns, as SocioPatterns publishes them.

A line says that i and j were in contact on [t - resolution, t]. The resolution is the smallest step between two
successive times of the file (20 s in the SocioPatterns traces) unless it is given; a file with a single time has one
second. Words may be separated by spaces, tabs or commas; a first line of column names is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roamcast.world.traces.files import CUT
from roamcast.world.traces.record import Record, contact, micros, problem, unlike

TITLES: Final = ("t", "time", "timestamp")
ALONE_US: Final = 1_000_000


def read(lines: Iterable[tuple[int, str]], resolution_us: int) -> Iterator[Record]:
    for number, line in lines:
        words = line.replace(",", " ").split()
        if not words or line.startswith("#") or (number == 1 and words[0].lower() in TITLES):
            continue
        try:
            t, i, j = micros(words[0]), words[1], words[2]
            if i == j:
                raise ValueError
        except (ValueError, IndexError):
            yield problem(number, CUT) if line == CUT else unlike(number, line, "`t i j` of two nodes")
            continue
        yield contact(number, i, j, t - resolution_us, t)


def smallest_step(lines: Iterable[tuple[int, str]]) -> int:
    """The smallest step between successive times, in microseconds; 0 if there is only one time."""
    least = last = -1
    for _, line in lines:
        try:
            t = micros(line.replace(",", " ").split(None, 1)[0])
        except (ValueError, IndexError):
            continue
        if last >= 0 and t > last and (least < 0 or t - last < least):
            least = t - last
        last = t
    return max(least, 0)
