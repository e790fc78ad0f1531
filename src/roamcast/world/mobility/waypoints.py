"""Movement from traces: each node has a track of points (t, x, y) and walks straight from one to the next.

Before the time of its first point a node stands there, and after the last one it stays there. The formats are those of
`roamcast.world.traces`; if a file has more nodes than the scenario, the first ones are used.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import final

from roamcast.errors import InputError
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import rest
from roamcast.world.streams import Stream
from roamcast.world.traces import load

Track = list[tuple[float, float, float]]


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
    tracks = load.movement(path).tracks
    if len(tracks) < nodes:
        have = "no node" if not tracks else f"{len(tracks)} node{'s' if len(tracks) > 1 else ''}"
        raise InputError(f"trace={path} has {have}, but nodes={nodes}; use fewer nodes or a trace with more")
    return tracks[:nodes]
