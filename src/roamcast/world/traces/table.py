"""Tables of positions between commas, semicolons, tabs or spaces: in metres, or times, lat and lon in degrees.

Columns are recognised by their titles, in any order, or named by whoever reads the file; without either they are t,
node, x, y. Times are numbers, or dates as in ISO 8601 (UTC unless they have a zone). Without a column of nodes the file
is one node, named after the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from math import nan
from typing import Final

from roamcast.world.traces.columns import Columns
from roamcast.world.traces.files import CUT
from roamcast.world.traces.record import LATEST_S, SECOND_US, Record, metres, point, problem, unlike

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str, unit_us: float = SECOND_US) -> int:
    """Microseconds, from a number in units of `unit_us` or, since 1970, from a date."""
    try:
        return span(text, unit_us)
    except ValueError:
        if _is_number(text):
            raise
        return _since_epoch(datetime.fromisoformat(text.strip()))


def span(text: str, unit_us: float = SECOND_US) -> int:
    """Microseconds, from a number in units of `unit_us`."""
    t_us = float(text) * unit_us
    if not -LATEST_S * SECOND_US <= t_us <= LATEST_S * SECOND_US:
        raise ValueError(text)
    return round(t_us)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _since_epoch(when: datetime) -> int:
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def degrees(text: str, most: float) -> float:
    value = float(text)
    if not -most <= value <= most:
        raise ValueError(text)
    return value


def read(
    lines: Iterable[tuple[int, str]], columns: Columns, titles: str, unit_us: float, stem: str
) -> Iterator[Record]:
    """`titles` is the line of titles, empty if there is none. Degrees are x = lon, y = lat."""
    at, geographic = columns.at, columns.format == "gps-csv"
    t_at, node_at, z_at = at["t"], at.get("node", -1), at.get("z", -1)
    x_at, y_at = (at["lon"], at["lat"]) if geographic else (at["x"], at["y"])
    for number, line in lines:
        text = line.strip()
        if not text or text[0] == "#" or text == titles:
            continue
        cells = columns.cells(text)
        try:
            if len(cells) < columns.width or (columns.exact and len(cells) != columns.width):
                raise ValueError
            name = cells[node_at].strip() if node_at >= 0 else stem
            if geographic:
                x, y = degrees(cells[x_at], 180.0), degrees(cells[y_at], 90.0)
            else:
                x, y = metres(cells[x_at]), metres(cells[y_at])
            z = float(cells[z_at]) if z_at >= 0 and cells[z_at].strip() else nan
            if not name:
                raise ValueError
            yield point(number, name, instant(cells[t_at], unit_us), x, y, z)
        except ValueError:
            yield problem(number, CUT) if line == CUT else unlike(number, line, columns.form)
