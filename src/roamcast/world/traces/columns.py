"""What the cells of a line mean: by the titles in the first line of a table, or by the names that somebody gives.

| names                                    | what a line is                                           | format         |
|------------------------------------------|----------------------------------------------------------|----------------|
| `t`, `x`, `y`, perhaps `node` and `z`    | a place, in metres; without a node, the file is one node | `csv`          |
| `t`, `lat`, `lon`, perhaps `node`, `z`   | a place, in degrees                                      | `gps-csv`      |
| `t`, `i`, `j`                            | two nodes that are in contact at a time                  | `contact-list` |
| `i`, `j`, `start`, `end` (or `duration`) | a contact, from its beginning to its end                 | `intervals`    |

Cells are between semicolons, tabs or commas, or between spaces where there is none of these.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Final

from roamcast.errors import InputError

TITLES: Final = {
    "t": ("t", "time", "timestamp", "time_s", "datetime", "date_time", "date", "utc", "t_s", "seconds"),
    "node": ("node", "id", "name", "vehicle", "vehicle_id", "device", "device_id", "user", "user_id", "taxi_id"),
    "x": ("x", "x_m", "xpos", "pos_x", "easting"),
    "y": ("y", "y_m", "ypos", "pos_y", "northing"),
    "z": ("z", "z_m", "alt", "altitude", "ele", "elevation", "height"),
    "lat": ("lat", "latitude"),
    "lon": ("lon", "lng", "long", "longitude"),
    "i": ("i", "id1", "node1", "node_1", "a", "source", "src"),
    "j": ("j", "id2", "node2", "node_2", "b", "target", "dst", "peer"),
    "start": ("start", "start_s", "start_time", "begin", "begin_s", "from", "from_s", "t_start"),
    "end": ("end", "end_s", "end_time", "stop", "until", "until_s", "to", "t_end"),
    "duration": ("duration", "duration_s", "length", "length_s"),
}
SHAPES: Final = {
    "intervals": (("i", "j", "start", "end"), ("i", "j", "start", "duration")),
    "contact-list": (("t", "i", "j"),),
    "gps-csv": (("t", "lat", "lon"),),
    "csv": (("t", "x", "y"),),
}
"""The columns that a line of each format must have."""
UNTITLED: Final = {
    "csv": ("t", "node", "x", "y"),
    "contact-list": ("t", "i", "j"),
    "intervals": ("i", "j", "start", "end"),
}
"""The columns of files without titles."""
SKIPPED: Final = "-"


class Columns:
    """Which cell is what: by `given` names, one for each cell (`-` for a cell without meaning), or else by the titles
    in `header`, or else as files of the format have them that have no titles."""

    def __init__(self, header: str, given: tuple[str, ...] = (), format: str = "") -> None:
        self.separator = separator_of(header)
        titles = [cell.strip().strip('"').lower() for cell in self.cells(header)]
        self.doubled = "" if given else _doubled(titles)
        """Two titles that mean the same; empty if there are none."""
        self.at = positions(given) if given else _by_titles(titles)
        self.titled = bool(self.at) and _are_words(titles)
        self.exact = not self.at and format == "csv"
        """Whether a line with more cells is malformed: nothing says what they would be."""
        self.at = self.at or positions(UNTITLED.get(format, ()))
        self.format = shape_of(self.at)

    @property
    def form(self) -> str:
        """The names, in the order of the cells."""
        return ",".join(sorted(self.at, key=lambda what: self.at[what]))

    @property
    def width(self) -> int:
        return max(self.at.values()) + 1

    def missing(self, name: str) -> list[str]:
        """The columns that the format needs and that are not here."""
        return min(([what for what in shape if what not in self.at] for shape in SHAPES[name]), key=len)

    def cells(self, line: str) -> list[str]:
        if self.separator is None:
            return line.split()
        if '"' in line:
            return next(csv.reader([line], delimiter=self.separator))
        return line.split(self.separator)


def separator_of(line: str) -> str | None:
    return next((s for s in (";", "\t", ",") if s in line), None)


def parsed(text: str) -> tuple[str, ...]:
    """The names in `i,j,start,end`; refuses names that say nothing, or not enough."""
    names = tuple(name.strip().lower() for name in text.split(",")) if text else ()
    for name in names:
        if name != SKIPPED and name not in TITLES:
            raise InputError(f"columns={text}: {name!r} is not one of {', '.join(TITLES)}, or {SKIPPED} for others")
        if name != SKIPPED and names.count(name) > 1:
            raise InputError(f"columns={text}: {name!r} is there twice")
    if names and not shape_of(positions(names)):
        wanted = "; ".join(f"{','.join(shape)} ({name})" for name, shapes in SHAPES.items() for shape in shapes)
        raise InputError(f"columns={text}: must have all of one of these: {wanted}")
    return names


def positions(names: Iterable[str]) -> dict[str, int]:
    return {name: k for k, name in enumerate(names) if name != SKIPPED}


def shape_of(at: dict[str, int]) -> str:
    """The format whose lines have these columns; empty if there is none."""
    for name, shapes in SHAPES.items():
        if any(all(what in at for what in shape) for shape in shapes):
            return name
    return ""


def _by_titles(titles: list[str]) -> dict[str, int]:
    if not _are_words(titles):
        return {}
    at = {what: k for k, title in enumerate(titles) for what, names in TITLES.items() if title in names}
    if "i" in at and "j" not in at:  # one node, not a pair
        at.setdefault("node", at.pop("i"))
    return at


def _doubled(titles: list[str]) -> str:
    for names in TITLES.values():
        same = [title for title in titles if title in names]
        if len(same) > 1:
            return " and ".join(same)
    return ""


def _are_words(cells: list[str]) -> bool:
    """Whether this can be a line of titles: no cell begins like a number or a date."""
    return not any(cell[:1].isdecimal() or cell[:1] in ("-", "+", ".") for cell in cells)
