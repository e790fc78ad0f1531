"""A whole trace in memory, for a simulation.

A simulation is strict: it refuses a line that it cannot read, because half a trace is another trace (`roamcast trace
convert` writes the readable lines). Nodes are numbered in natural order of their names; times count from 0 s of the
file, or from its first time (`Format.begins`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from roamcast.errors import InputError
from roamcast.world.traces import formats
from roamcast.world.traces.files import located, unreadable
from roamcast.world.traces.names import counted
from roamcast.world.traces.plan import Options, Part, plan
from roamcast.world.traces.record import CONTACT, EXTENT, GONE, POINT, PROBLEM, REFUSAL, Record
from roamcast.world.traces.watch import DEGREES, are_degrees

Track = list[tuple[float, float, float]]
Interval = tuple[int, int]


class Movement:
    """Node k has the name `names[k]`, a track of (s, m, m), and `absences[k]` in us, where an end of -1 is never."""

    def __init__(self, names: list[str], tracks: list[Track], absences: list[list[Interval]]) -> None:
        self.names = names
        self.tracks = tracks
        self.absences = absences


def movement(path: str) -> Movement:
    """The movement in a file. Several parts of a simulation need it, so an unchanged file is read once."""
    try:
        state = located(path).stat()
    except OSError as error:
        raise InputError(f"trace={unreadable(path, error)}") from None
    return _movement(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _movement(path: str, _changed_ns: int, _size: int) -> Movement:
    part = _part(path, "positions")
    format = formats.get(part.format)
    points: dict[str, list[Record]] = {}
    for record in _strict(part):
        if record[0] == POINT:
            points.setdefault(record[2], []).append(record)
        elif record[0] == EXTENT and part.origin is None and are_degrees(record[4], record[5], record[6], record[7]):
            raise InputError(f"trace={path}: {DEGREES} (roamcast trace convert)")
    if not points:
        return Movement([], [], [])
    times = [record[4] for rows in points.values() for record in (rows[0], rows[-1])]
    begin, end = (min(times) if format.begins == "first" else 0), max(times)
    names = list(counted(points))
    tracks = [_track(points[name], begin) for name in names]
    absences: list[list[Interval]] = [[] for _ in names]
    if not format.stays:
        absences = [_absences(points[name], begin, end) for name in names]
    return Movement(names, tracks, absences)


def contacts(path: str) -> tuple[list[str], list[tuple[int, int, int, int]]]:
    """Names, and (i, j, from us, until us) of each contact, i < j."""
    part = _part(path, "contacts")
    pairs: dict[tuple[str, str], list[Interval]] = {}
    for record in _strict(part):
        if record[0] == CONTACT:
            pairs.setdefault((record[2], record[3]), []).append((record[4], record[5]))
    if not pairs:
        raise InputError(f"trace={path}: has no contacts")
    number = counted({name: True for pair in pairs for name in pair})
    by_number: dict[tuple[int, int], list[Interval]] = {}
    for (i, j), intervals in pairs.items():
        pair = min(number[i], number[j]), max(number[i], number[j])
        by_number.setdefault(pair, []).extend(intervals)
    first = min(start for intervals in by_number.values() for start, _ in intervals)
    begin = first if formats.get(part.format).begins == "first" else min(0, first)
    return list(number), [
        (i, j, start - begin, end - begin)
        for (i, j), intervals in sorted(by_number.items())
        for start, end in merged(intervals)
    ]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The union as disjoint closed intervals; one that begins where another ends continues it."""
    union: list[Interval] = []
    for start, end in sorted(intervals):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((start, end))
    return union


def _part(path: str, kind: str) -> Part:
    if "://" not in path and Path(path).is_dir():
        raise InputError(f"trace={path}: is a directory")
    try:
        (part,) = plan([path], Options(), split_bytes=1 << 62)
    except InputError as error:
        raise InputError(f"trace={error}") from None
    format = formats.get(part.format)
    if format.kind != kind:
        other = "contacts" if format.kind == "contacts" else "trace"
        raise InputError(f"trace={path}: {format.name} has {format.kind}; use mobility={other}")
    return part


def _strict(part: Part) -> Iterator[Record]:
    for record in part.records():
        if record[0] in (PROBLEM, REFUSAL):
            raise InputError(f"trace={part.path}, line {record[1]}: {record[10]}")
        yield record


def _track(rows: list[Record], begin: int) -> Track:
    """The points of a node, without repetitions of the last place at the end."""
    track = [((row[4] - begin) / 1e6, row[6], row[7]) for row in rows]
    while len(track) > 1 and track[-1][1:] == track[-2][1:]:
        track.pop()
    return track


def _absences(rows: list[Record], begin: int, end: int) -> list[Interval]:
    absences: list[Interval] = []
    if rows[0][4] > begin:
        absences.append((0, rows[0][4] - begin))
    for before, after in pairwise(rows):
        if after[9] != before[9] and after[4] > before[4]:
            absences.append((before[4] - begin, after[4] - begin))
    if rows[-1][4] < end or rows[-1][10] == GONE:
        absences.append((rows[-1][4] - begin, -1))
    return absences
