"""Errors that only many lines show, and that are refused: time running backwards, a node at two places, degrees that
would be read as metres.

The first two are checked while records pass, within one part of a trace; across parts, SPAN records are compared.
Degrees are recognised by their speed: a degree is about 100 km, so a movement in degrees seems slower than a thousandth
of its true speed. If all coordinates could be degrees and most movements are slower than SLOW_MPS, they are not metres:
5 cm/s, read as degrees a second, is 5 km/s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import nan
from typing import Final

from roamcast.world.traces.record import CONTACT, EXTENT, POINT, REFUSAL, SPAN, Record, refusal, seconds

SLOW_MPS: Final = 0.05
DEGREES: Final = (
    "coordinates look like degrees, not metres: all are within ±180 and ±90, and most movements are slower than "
    "5 cm/s; give the units, degrees or metres"
)


class Track:
    """The first and the last position of a node."""

    def __init__(self, line: int, t_us: int, x: float, y: float, segment: int) -> None:
        self.first = (line, t_us, x, y)
        self.line, self.t_us, self.x, self.y = line, t_us, x, y
        self.segment = segment
        self.gaps = 0


class Watch:
    def __init__(self, in_file_order: bool, gap_us: int) -> None:
        self.in_file_order = in_file_order
        self.gap_us = gap_us  # a node without lines for longer was absent; 0 means never
        self.tracks: dict[str, Track] = {}
        self.contact_spans: dict[str, tuple[int, int, int]] = {}
        self.now = self.line = 0
        self.began = 0
        self.points = self.moves = self.fast = 0
        self.widest_x = self.widest_y = 0.0

    def checked(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            kind = record[0]
            if kind == POINT:
                passed = self.point(record)
                if passed is None:
                    continue
                record = passed
            elif kind == CONTACT:
                record = self.contact(record)
            yield record
            if record[0] == REFUSAL:
                return
        yield from self.summary()

    def backwards(self, line: int, t_us: int) -> Record | None:
        if self.in_file_order:
            if self.line and t_us < self.now:
                before = f"after {seconds(self.now)} in line {self.line}"
                return refusal(line, f"time runs backwards: {seconds(t_us)}, {before}; sort the lines by time")
            if not self.line:
                self.began = t_us
            self.now, self.line = t_us, line
        return None

    def contact(self, record: Record) -> Record:
        _, line, i, j, from_us, until_us, *_ = record
        wrong = self.backwards(line, until_us)
        if wrong is not None:
            return wrong
        for name in (i, j):
            before = self.contact_spans.get(name)
            if before is None:
                self.contact_spans[name] = line, from_us, until_us
            elif until_us > before[2] or from_us < before[1]:
                self.contact_spans[name] = before[0], min(before[1], from_us), max(before[2], until_us)
        return record

    def point(self, record: Record) -> Record | None:
        """The record to pass on; None if it repeats the last one."""
        _, line, name, _, t_us, _, x, y, z, segment, text = record
        wrong = self.backwards(line, t_us)
        if wrong is not None:
            return wrong
        self.points += 1
        self.widest_x = max(self.widest_x, abs(x))
        self.widest_y = max(self.widest_y, abs(y))
        track = self.tracks.get(name)
        if track is None:
            self.tracks[name] = Track(line, t_us, x, y, segment)
            return record
        took_us = t_us - track.t_us
        if took_us <= 0:
            where = f"node {name}"
            if took_us < 0:
                before = f"{seconds(t_us)}, after {seconds(track.t_us)} in line {track.line}"
                return refusal(line, f"time runs backwards for {where}: {before}; sort the lines by time")
            if x != track.x or y != track.y:
                places = f"({track.x:g}, {track.y:g}) in line {track.line} and ({x:g}, {y:g})"
                return refusal(line, f"{where} is at two places at {seconds(t_us)}: {places}")
            if segment == track.segment:
                return None
        dx, dy = x - track.x, y - track.y
        if dx or dy:
            self.moves += 1
            if dx * dx + dy * dy >= (SLOW_MPS * 1e-6 * took_us) ** 2:
                self.fast += 1
        if self.gap_us and took_us > self.gap_us and segment == track.segment:
            track.gaps += 1
        track.line, track.t_us, track.x, track.y, track.segment = line, t_us, x, y, segment
        return record if not track.gaps else (POINT, line, name, "", t_us, 0, x, y, z, segment + track.gaps, text)

    def summary(self) -> Iterator[Record]:
        for name, track in self.tracks.items():
            line, t_us, x, y = track.first
            last = f"{track.x!r} {track.y!r}"
            yield SPAN, line, name, f"{x!r} {y!r}", t_us, track.t_us, 0.0, 0.0, nan, track.segment + track.gaps, last
        for name, (line, from_us, until_us) in self.contact_spans.items():
            yield SPAN, line, name, "", from_us, until_us, 0.0, 0.0, nan, 0, ""
        run = f"{self.began} {self.now}" if self.line else ""
        yield EXTENT, self.points, "", "", self.moves, self.fast, self.widest_x, self.widest_y, nan, 0, run


def are_degrees(moves: int, fast: int, widest_x: float, widest_y: float) -> bool:
    return moves > 0 and widest_x <= 180.0 and widest_y <= 90.0 and 2 * fast < moves
