"""Imported movements: each node has a track of (t, x, y), is there then, and walks straight in between.

Before its first point a node stands there, and after the last one it stays.

Two kinds of files are read here: ns-2 `setdest` scripts, and CSV lines `t,node,x,y` (a header is allowed, order is
free). Nodes of a file are numbered by their ids in ascending order; a file may have more nodes than are asked for.
In ns-2 a movement that is ordered before the last one has arrived starts from where the node then is, and speed 0 stops
it. Converters let nodes appear and vanish by movements at absurd speeds (`PLACEMENT_MPS` or more), usually from and to
the origin: those before its first real movement only say where a node starts, those after its last one are skipped, so
that a node stands where it appears before and where it vanishes after. Other orders (`switch ON`, `god_`) are skipped.
"""

from __future__ import annotations

import re
from math import inf, isfinite
from pathlib import Path
from typing import Final, final

from roamcast.errors import InputError
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import distance, rest
from roamcast.world.streams import Stream

Track = list[tuple[float, float, float]]

PLACEMENT_MPS: Final = 1e6
NUMBER: Final = r"([-+0-9.eE]+)"
SETS: Final = re.compile(r"\$node_\((\d+)\)\s+set\s+([XY])_\s+" + NUMBER)
GOES: Final = re.compile(rf"at\s+{NUMBER}\s+\"\$node_\((\d+)\)\s+setdest\s+{NUMBER}\s+{NUMBER}\s+{NUMBER}\s*\"")


@final
class Waypoints(Mobility):
    def __init__(self, tracks: list[Track]) -> None:
        self.tracks = [strict(node, track) for node, track in enumerate(tracks)]
        self.passed: list[int] = [0] * len(tracks)  # index of the point at which each node's leg starts

    def first(self, node: int, stream: Stream) -> Leg:
        track = self.tracks[node]
        k = 0
        while k + 1 < len(track) and track[k + 1][0] <= 0.0:
            k += 1
        self.passed[node] = k
        t, x, y = track[k]
        return rest(0.0, x, y, t) if t > 0.0 else self._leg(node)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        if leg.end_s > self.tracks[node][self.passed[node]][0]:
            self.passed[node] += 1
        return self._leg(node)

    def _leg(self, node: int) -> Leg:
        track = self.tracks[node]
        k = self.passed[node]
        t, x, y = track[k]
        if k + 1 == len(track):
            return rest(t, x, y, inf)
        to_t, to_x, to_y = track[k + 1]
        return Leg(t, x, y, (to_x - x) / (to_t - t), (to_y - y) / (to_t - t), to_t)


def strict(node: int, track: Track) -> Track:
    """The track in order of time, without repetitions."""
    if not track:
        raise InputError(f"trace: node {node} has no position")
    points: Track = []
    for t, x, y in sorted(track):
        if not (isfinite(t) and isfinite(x) and isfinite(y)):
            raise InputError(f"trace: node {node} at {t} s is at ({x}, {y}); all three must be finite")
        if points and points[-1][0] == t:
            if points[-1] != (t, x, y):
                raise InputError(f"trace: node {node} is at two places at {t:g} s")
            continue
        points.append((t, x, y))
    return points


def read_trace(path: str, nodes: int) -> list[Track]:
    """The tracks of the first `nodes` nodes of a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"trace: {path} cannot be read ({reason(error)})") from None
    by_id = read_setdest(text, path) if "$node_" in text else read_csv(text, path)
    if len(by_id) < nodes:
        have = "no node" if not by_id else f"{len(by_id)} node{'s' if len(by_id) > 1 else ''}"
        raise InputError(f"trace: {path} has {have}, but nodes={nodes}; ask for fewer nodes or give a longer trace")
    return [by_id[id] for id in sorted(by_id)[:nodes]]


def reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "not text in UTF-8"


def read_csv(text: str, path: str) -> dict[int, Track]:
    tracks: dict[int, Track] = {}
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or line.startswith("#") or (number == 1 and cells[0] == "t"):
            continue
        try:
            t, node, x, y = cells
            tracks.setdefault(int(node), []).append((float(t), float(x), float(y)))
        except ValueError:
            raise InputError(f"trace: {path}, line {number}: {line.strip()!r} is not t,node,x,y") from None
    return tracks


@final
class Script:
    """What an ns-2 script has told one node so far."""

    def __init__(self) -> None:
        self.x = 0.0
        self.y = 0.0
        self.orders: list[tuple[float, float, float, float]] = []  # t, x, y, speed

    def track(self) -> Track:
        orders = sorted(self.orders, key=lambda order: order[0])
        while orders and orders[-1][3] >= PLACEMENT_MPS and any(order[3] < PLACEMENT_MPS for order in orders):
            orders.pop()
        track: Track = [(0.0, self.x, self.y)]
        moved = False
        for t, to_x, to_y, speed in orders:
            if speed >= PLACEMENT_MPS and not moved:
                track = [(0.0, to_x, to_y)]
                continue
            moved = True
            t, x, y = halt(track, t)
            took_s = distance(x, y, to_x, to_y) / speed if speed > 0.0 else 0.0
            if t + took_s > t:
                track.append((t + took_s, to_x, to_y))
        return track


def halt(track: Track, t: float) -> tuple[float, float, float]:
    """Cut the track at t, where a new order reaches the node, and say where that is."""
    last_t, x, y = track[-1]
    if t < last_t and len(track) > 1:
        from_t, from_x, from_y = track[-2]
        share = (t - from_t) / (last_t - from_t)
        x = from_x + share * (x - from_x)
        y = from_y + share * (y - from_y)
        track.pop()
    if t > track[-1][0]:
        track.append((t, x, y))
    return track[-1]


def read_setdest(text: str, path: str) -> dict[int, Track]:
    scripts: dict[int, Script] = {}
    for number, line in enumerate(text.splitlines(), 1):
        order = line.strip()
        if order.startswith("#"):
            continue
        sets = SETS.search(order)
        goes = GOES.search(order)
        try:
            if goes:
                t, x, y, speed = (float(goes.group(k)) for k in (1, 3, 4, 5))
                scripts.setdefault(int(goes.group(2)), Script()).orders.append((t, x, y, speed))
            elif sets and not order.startswith("$ns_"):
                script = scripts.setdefault(int(sets.group(1)), Script())
                if sets.group(2) == "X":
                    script.x = float(sets.group(3))
                else:
                    script.y = float(sets.group(3))
            elif "setdest" in order or (sets and order.startswith("$ns_")):
                raise ValueError
        except ValueError:
            raise InputError(
                f"trace: {path}, line {number}: {order!r} is no setdest order such as "
                '$ns_ at 2.0 "$node_(0) setdest 10.0 20.0 1.5"'
            ) from None
    return {id: script.track() for id, script in scripts.items()}
