"""The formats by name, and what each of them promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from roamcast.errors import unknown

Kind = Literal["positions", "contacts"]


@dataclass(frozen=True)
class Format:
    name: str
    title: str
    kind: Kind
    order: Literal["file", "node", "free"]
    """Which lines must be in order of time: all, those of each node, or none."""
    split: bool
    """Whether every line can be read without those before it."""
    begins: Literal["zero", "first"]
    """Which time is 0 s of a simulation: 0 s of the file, or the first time in it."""
    stays: bool
    """Whether a node is present before its first and after its last line."""
    degrees: bool = False


FORMATS: Final = {
    f.name: f
    for f in (
        Format("ns2", "ns-2 movement script (setdest)", "positions", "free", False, "zero", False),
        Format("bonnmotion", "BonnMotion .movements", "positions", "node", False, "zero", False),
        Format("one-movement", "The ONE, external movement", "positions", "file", True, "zero", True),
        Format("sumo-fcd", "SUMO floating car data (XML)", "positions", "file", False, "first", False),
        Format("csv", "positions in metres: t,node,x,y", "positions", "node", True, "zero", True),
        Format("gps-csv", "positions in degrees: t,node,lat,lon", "positions", "node", True, "first", False, True),
        Format("gpx", "GPX tracks", "positions", "node", False, "first", False, True),
        Format("contact-list", "contacts: t i j", "contacts", "file", True, "first", True),
        Format("intervals", "contacts: i j start end", "contacts", "free", True, "first", True),
        Format("one-conn", "The ONE, CONN events", "contacts", "free", False, "zero", True),
    )
}


def get(name: str) -> Format:
    if name not in FORMATS:
        raise unknown("trace format", name, FORMATS)
    return FORMATS[name]
