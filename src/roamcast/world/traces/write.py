"""Formats that can be written. Reading the result gives the same trace, in whole microseconds.

Times count from the beginning of the trace (`Format.begins`). Nodes keep their names where a format has names and all
names are single words; if not, they are numbered in natural order. Heights are left out.

Absences are written where a format can express them: ns-2 has `switch OFF`, and a vehicle that is missing from SUMO's
first or last steps is absent. The ONE subtracts the minima of its header, so negative coordinates become 0 there. A
contact list has a line for every step of its resolution that a contact touches, so contacts become a little longer if
they do not begin and end on a step; its resolution is in a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from math import hypot
from typing import Final, Literal, TextIO
from xml.sax.saxutils import quoteattr

from roamcast.errors import InputError, unknown
from roamcast.world.traces.formats import Kind
from roamcast.world.traces.plan import RESOLUTION
from roamcast.world.traces.setdest import PLACEMENT_MPS

SINGLE_WORD: Final = re.compile(r"[^\s,;\"'#]+\Z")

Place = tuple[int, int, float, float, int]
"""Node, microseconds, x and y in metres, segment."""
Line = tuple[int, int, int, bool]
"""Microseconds, two nodes, and whether a contact begins (or, in a contact list, exists)."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about the whole trace that are needed before its first row is written."""

    names: list[str]
    end_us: int
    west_m: float = 0.0
    east_m: float = 0.0
    south_m: float = 0.0
    north_m: float = 0.0
    resolution_us: int = 0

    def labels(self) -> list[str]:
        """The names of nodes in formats that have names."""
        if all(SINGLE_WORD.match(name) for name in self.names):
            return self.names
        return [str(k) for k in range(len(self.names))]


@dataclass(frozen=True)
class Target:
    kind: Kind
    by: Literal["node", "time"]
    """The order of its rows: by node and time, or by time and node."""
    absences: Literal["all", "ends", "none"]
    """Which absences it can express."""
    names: Literal["any", "words", "none"]
    """Which names of nodes it can have."""
    places: Callable[[TextIO, Iterable[Place], Facts], None] | None = None
    lines: Callable[[TextIO, Iterable[Line], Facts], None] | None = None


def get(name: str) -> Target:
    if name not in TARGETS:
        raise unknown("format to write", name, TARGETS)
    return TARGETS[name]


def stamp(t_us: int) -> str:
    """Seconds, without rounding."""
    sign, t_us = ("-", -t_us) if t_us < 0 else ("", t_us)
    whole, part = divmod(t_us, 1_000_000)
    return f"{sign}{whole}.{part:06d}".rstrip("0").rstrip(".") if part else f"{sign}{whole}"


def _ns2(out: TextIO, places: Iterable[Place], facts: Facts) -> None:
    for node, rows in groupby(places, key=lambda place: place[0]):
        _ns2_node(out, node, list(rows), facts.end_us)


def _ns2_node(out: TextIO, node: int, rows: list[Place], end_us: int) -> None:
    me = f"$node_({node})"

    def at(t_us: int, order: str) -> None:
        out.write(f'$ns_ at {stamp(t_us)} "{me} {order}"\n')

    _, t_us, x, y, segment = rows[0]
    if t_us < 0:
        raise InputError(f"node {node} is present at {stamp(t_us)} s; ns2 begins at 0 s")
    out.write(f"{me} set X_ {x!r}\n{me} set Y_ {y!r}\n{me} set Z_ 0.0\n")
    if t_us > 0:
        at(0, "switch OFF")
        at(t_us, "switch ON")
    for _, to_us, to_x, to_y, to_segment in rows[1:]:
        if to_segment != segment and to_us > t_us:
            at(t_us, "switch OFF")
            at(to_us, "switch ON")
        far = hypot(to_x - x, to_y - y)
        if far > 0.0:
            speed = far / (to_us - t_us) * 1e6
            if speed >= PLACEMENT_MPS:
                raise InputError(f"node {node} moves at {speed:.3g} m/s at {stamp(t_us)} s, which ns2 cannot express")
            at(t_us, f"setdest {to_x!r} {to_y!r} {speed!r}")
        t_us, x, y, segment = to_us, to_x, to_y, to_segment
    if t_us < end_us:
        at(t_us, "switch OFF")
    else:
        at(t_us, f"setdest {x!r} {y!r} 0.0")  # so that the script lasts as long as the trace


def _bonnmotion(out: TextIO, places: Iterable[Place], _: Facts) -> None:
    for _, rows in groupby(places, key=lambda place: place[0]):
        out.write(" ".join(f"{stamp(t_us)} {x!r} {y!r}" for _, t_us, x, y, _ in rows) + "\n")


def _one_movement(out: TextIO, places: Iterable[Place], facts: Facts) -> None:
    """Minima that are not negative are written as 0, so that nothing is subtracted when it is read."""
    labels = facts.labels()
    west, south = min(0.0, facts.west_m), min(0.0, facts.south_m)
    east, north = max(west, facts.east_m), max(south, facts.north_m)
    out.write(f"0 {stamp(facts.end_us)} {west!r} {east!r} {south!r} {north!r}\n")
    for node, t_us, x, y, _ in places:
        out.write(f"{stamp(t_us)} {labels[node]} {x!r} {y!r}\n")


def _csv(out: TextIO, places: Iterable[Place], facts: Facts) -> None:
    labels = facts.labels()
    out.write("t,node,x,y\n")
    for node, t_us, x, y, _ in places:
        out.write(f"{stamp(t_us)},{labels[node]},{x!r},{y!r}\n")


def _sumo_fcd(out: TextIO, places: Iterable[Place], facts: Facts) -> None:
    ids = [quoteattr(name) for name in facts.names]
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<fcd-export>\n')
    for t_us, rows in groupby(places, key=lambda place: place[1]):
        out.write(f'    <timestep time="{stamp(t_us)}">\n')
        for node, _, x, y, _ in rows:
            out.write(f'        <vehicle id={ids[node]} x="{x!r}" y="{y!r}"/>\n')
        out.write("    </timestep>\n")
    out.write("</fcd-export>\n")


def _one_conn(out: TextIO, lines: Iterable[Line], facts: Facts) -> None:
    labels = facts.labels()
    for t_us, i, j, up in lines:
        out.write(f"{stamp(t_us)} CONN {labels[i]} {labels[j]} {'up' if up else 'down'}\n")


def _contact_list(out: TextIO, lines: Iterable[Line], facts: Facts) -> None:
    labels = facts.labels()
    out.write(f"{RESOLUTION}{stamp(facts.resolution_us)}\n")
    for t_us, i, j, _ in lines:
        out.write(f"{stamp(t_us)} {labels[i]} {labels[j]}\n")


def _intervals(out: TextIO, lines: Iterable[Line], facts: Facts) -> None:
    """In order of their ends. Titles, because lines of four numbers could be something else."""
    labels = facts.labels()
    began: dict[tuple[int, int], int] = {}
    out.write("i,j,start,end\n")
    for t_us, i, j, up in lines:
        if up:
            began[i, j] = t_us
        else:
            out.write(f"{labels[i]},{labels[j]},{stamp(began.pop((i, j)))},{stamp(t_us)}\n")


TARGETS: Final = {
    "ns2": Target("positions", "node", "all", "none", places=_ns2),
    "bonnmotion": Target("positions", "node", "none", "none", places=_bonnmotion),
    "one-movement": Target("positions", "time", "none", "words", places=_one_movement),
    "sumo-fcd": Target("positions", "time", "ends", "any", places=_sumo_fcd),
    "csv": Target("positions", "time", "none", "words", places=_csv),
    "one-conn": Target("contacts", "time", "all", "words", lines=_one_conn),
    "intervals": Target("contacts", "time", "all", "words", lines=_intervals),
    "contact-list": Target("contacts", "time", "all", "words", lines=_contact_list),
}
