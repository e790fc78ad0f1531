"""Contacts as intervals: `i j start end`, perhaps with more columns, as the Haggle and other CRAWDAD traces have them.

A line is one contact, from its beginning to its end (or with its duration). Lines are in any order; contacts of a pair
that overlap, because both of its nodes recorded them, are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roamcast.world.traces.columns import Columns
from roamcast.world.traces.files import CUT
from roamcast.world.traces.record import Record, contact, problem, unlike
from roamcast.world.traces.table import instant, span


def read(lines: Iterable[tuple[int, str]], columns: Columns, titles: str, unit_us: float) -> Iterator[Record]:
    """`titles` is the line of titles, empty if there is none. Numbers of time are in units of `unit_us`."""
    at = columns.at
    for number, line in lines:
        text = line.strip()
        if not text or text[0] == "#" or text == titles:
            continue
        try:
            cells = [cell.strip() for cell in columns.cells(text)]
            i, j, start = cells[at["i"]], cells[at["j"]], instant(cells[at["start"]], unit_us)
            lasts = "end" not in at
            end = start + span(cells[at["duration"]], unit_us) if lasts else instant(cells[at["end"]], unit_us)
            if not i or not j or i == j or end < start:
                raise ValueError
        except (ValueError, IndexError):
            yield problem(number, CUT) if line == CUT else unlike(number, line, f"`{columns.form}` of two nodes")
            continue
        yield contact(number, i, j, start, end)
