"""GPX tracks: degrees, and times in UTC.

If several files are read together, each file is one node, named after the file. In a single file each track is a node,
named by its <name>, or else after the file (file-2, file-3 … for further tracks without a name). Between two track
segments the receiver had no position: the node is absent. Waypoints and routes are not movements and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Final

from roamcast.world.traces.record import Record, point, problem
from roamcast.world.traces.table import degrees, instant
from roamcast.world.traces.xml import BROKEN, elements

WANTED: Final = frozenset(("trk", "/name", "trkseg", "trkpt", "/ele", "/time", "/trkpt"))


def read(path: str, stem: str, one_node: bool) -> Iterator[Record]:
    """`stem` is the file's name without its suffix."""
    tracks = segment = 0
    segments: dict[str, int] = {}
    name = stem
    inside = False  # a track point; names and times also occur elsewhere
    here: dict[str, str] = {}
    at = 0
    for line, what, attributes, text in elements(path, WANTED):
        if what == BROKEN:
            yield problem(line, text)
        elif what == "trk":
            tracks += 1
            name = stem if one_node or tracks == 1 else f"{stem}-{tracks}"
        elif what == "/name" and tracks and not inside and not one_node and text:
            name = text
        elif what == "trkseg":
            segment = segments[name] = segments.get(name, -1) + 1
        elif what == "trkpt":
            inside, here, at = True, dict(attributes), line
        elif what == "/trkpt":
            inside = False
            yield _point(at, name, here, segment)
        elif inside:
            here[what] = text


def _point(line: int, name: str, here: dict[str, str], segment: int) -> Record:
    try:
        t_us = instant(here["/time"])
        lat, lon = degrees(here["lat"], 90.0), degrees(here["lon"], 180.0)
        z = float(here["/ele"]) if here.get("/ele") else nan
    except (KeyError, ValueError):
        return problem(line, "track point needs lat and lon in degrees and a time")
    return point(line, name, t_us, lon, lat, z, segment)
