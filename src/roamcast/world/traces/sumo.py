"""SUMO's floating car data (`--fcd-output`): the position of every vehicle at each time step.

Vehicles, persons and containers are nodes, by their ids. A node that is missing from the first or last steps is absent
then. With `--fcd-output.geo` places are in degrees (x is the longitude).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Final

from roamcast.world.traces.record import Record, metres, micros, point, problem
from roamcast.world.traces.xml import BROKEN, elements

NODES: Final = ("vehicle", "person", "container")
WANTED: Final = frozenset(("timestep", *NODES))


def read(path: str) -> Iterator[Record]:
    now: int | None = None
    for line, name, attributes, text in elements(path, WANTED):
        if name == BROKEN:
            yield problem(line, text)
        elif name == "timestep":
            try:
                now = micros(attributes["time"])
            except (KeyError, ValueError):
                now = None
                yield problem(line, f"timestep {attributes} has no time in seconds")
        elif now is None:
            yield problem(line, f"{name} {attributes.get('id', '')!r} is in no timestep")
        else:
            try:
                z = metres(attributes["z"]) if "z" in attributes else nan
                x, y = metres(attributes["x"]), metres(attributes["y"])
                if not attributes["id"]:
                    raise ValueError
                yield point(line, attributes["id"], now, x, y, z)
            except (KeyError, ValueError):
                yield problem(line, f"{name} {attributes.get('id', '')!r} needs an id and numbers x and y")
