"""Tables of positions between commas, semicolons or tabs: `t,node,x,y` in metres, or times, lat and lon in degrees.

Columns are found by their titles, in any order; without titles they are t, node, x, y. Times are seconds, or dates as
in ISO 8601 (UTC unless they have a zone). Without a column of nodes the file is one node, named after the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from math import nan
from typing import Final

from roamcast.world.traces.files import CUT
from roamcast.world.traces.record import LATEST_S, Record, metres, point, problem, refusal, unlike

TITLES: Final = {
    "t": ("t", "time", "timestamp", "time_s", "datetime", "date_time", "date", "utc", "t_s", "seconds"),
    "node": ("node", "id", "name", "vehicle", "vehicle_id", "device", "device_id", "user", "user_id", "taxi_id", "i"),
    "x": ("x", "x_m", "xpos", "pos_x", "easting"),
    "y": ("y", "y_m", "ypos", "pos_y", "northing"),
    "z": ("z", "z_m", "alt", "altitude", "ele", "elevation", "height"),
    "lat": ("lat", "latitude"),
    "lon": ("lon", "lng", "long", "longitude"),
}
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Columns:
    """The meaning of each cell of a line."""

    def __init__(self, header: str) -> None:
        self.separator = next((s for s in (";", "\t", ",") if s in header), ",")
        cells = [cell.strip().strip('"').lower() for cell in header.split(self.separator)]
        self.at = {what: cells.index(title) for what, titles in TITLES.items() for title in titles if title in cells}
        self.titled = bool(self.at)
        if not self.titled and len(cells) == 4:
            self.at = {"t": 0, "node": 1, "x": 2, "y": 3}
        self.geographic = "lat" in self.at and "lon" in self.at
        places = ("lat", "lon") if self.geographic else ("x", "y")
        self.missing = [what for what in ("t", *places) if what not in self.at]
        self.form = ",".join(sorted(self.at, key=lambda what: self.at[what]))

    def cells(self, line: str) -> list[str]:
        if '"' in line:
            return next(csv.reader([line], delimiter=self.separator))
        return line.split(self.separator)


def instant(text: str) -> int:
    """Microseconds, from a number of seconds or, since 1970, from a date."""
    try:
        t = float(text)
    except ValueError:
        return _since_epoch(datetime.fromisoformat(text.strip()))
    if not -LATEST_S <= t <= LATEST_S:
        raise ValueError(text)
    return round(t * 1e6)


def _since_epoch(when: datetime) -> int:
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def degrees(text: str, most: float) -> float:
    value = float(text)
    if not -most <= value <= most:
        raise ValueError(text)
    return value


def read(lines: Iterable[tuple[int, str]], header: str, stem: str) -> Iterator[Record]:
    """`header` is the file's first line that is not a comment, wherever `lines` begin. Degrees are x = lon, y = lat."""
    columns = Columns(header)
    if columns.missing:
        wanted = "titles must name t, node, and x and y or lat and lon"
        yield refusal(1, f"no column {' and '.join(columns.missing)}; {wanted}")
        return
    at = columns.at
    t_at, node_at, z_at = at["t"], at.get("node", -1), at.get("z", -1)
    x_at, y_at = (at["lon"], at["lat"]) if columns.geographic else (at["x"], at["y"])
    width = max(at.values()) + 1
    titles = header.strip() if columns.titled else ""
    for number, line in lines:
        text = line.strip()
        if not text or text[0] == "#" or text == titles:
            continue
        cells = columns.cells(text)
        try:
            if len(cells) < width or (not columns.titled and len(cells) != 4):
                raise ValueError
            name = cells[node_at].strip() if node_at >= 0 else stem
            if columns.geographic:
                x, y = degrees(cells[x_at], 180.0), degrees(cells[y_at], 90.0)
            else:
                x, y = metres(cells[x_at]), metres(cells[y_at])
            z = float(cells[z_at]) if z_at >= 0 and cells[z_at].strip() else nan
            if not name:
                raise ValueError
            yield point(number, name, instant(cells[t_at]), x, y, z)
        except ValueError:
            yield problem(number, CUT) if line == CUT else unlike(number, line, columns.form)
