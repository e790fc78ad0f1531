"""ns-2 movement scripts (`setdest`), as ns-2's own generator, BonnMotion and SUMO's traceExporter write them.

    $node_(0) set X_ 10.0
    $ns_ at 2.0 "$node_(0) setdest 10.0 20.0 1.5"
    $ns_ at 9.0 "$node_(0) switch OFF"

Readings, one test each:
  R1  an order that comes before the node has arrived starts from where the node is at that time; speed 0 stops it
  R2  orders are events of a script: their order in the file does not matter
  R3  converters let nodes appear and vanish by movements at absurd speeds (PLACEMENT_MPS or more), usually from and to
      the origin: those before a node's first real movement say where and when it appears, those after the last one
      when it vanishes
  R4  a node that is switched off is absent until it is switched on; all are on at first; of two orders for the same
      time the later one in the file counts
  R5  except for R3 and R4, a node is present from 0 s to the last time in the file
      (a node that is never present is not in the trace)
  R6  other orders of nodes, ns and god are skipped
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import hypot, inf, isfinite
from typing import Final

from roamcast.world.traces.record import GONE, Record, metres, micros, point, problem, refusal, seconds, shown

PLACEMENT_MPS: Final = 1e6
NUMBER: Final = r"([-+0-9.eE]+)"
SETS: Final = re.compile(r"\$node_\((\d+)\)\s+set\s+([XYZ])_\s+" + NUMBER)
GOES: Final = re.compile(rf"at\s+{NUMBER}\s+\"\$node_\((\d+)\)\s+setdest\s+{NUMBER}\s+{NUMBER}\s+{NUMBER}\s*\"")
SWITCHES: Final = re.compile(rf"at\s+{NUMBER}\s+\"\$node_\((\d+)\)\s+switch\s+(ON|OFF)\s*\"")
OTHERS: Final = ("$node_(", "$ns_", "$ns ", "$god_", "set ", "puts ")
FORM: Final = 'no setdest order such as $ns_ at 2.0 "$node_(0) setdest 10.0 20.0 1.5"'

Waypoint = tuple[int, float, float]


class Script:
    """The orders of a file to one node."""

    def __init__(self) -> None:
        self.line = 0
        self.placed: dict[str, tuple[float, int]] = {}  # axis -> where, and in which line
        self.orders: list[tuple[int, float, float, float]] = []  # t, x, y, speed
        self.switches: list[tuple[int, bool]] = []

    def place(self, axis: str, value: float, line: int) -> str:
        """Returns an error text, which is empty if there is no error."""
        before = self.placed.get(axis)
        if before is not None and before[0] != value:
            return f"is placed twice: {axis}_ {before[0]:g} in line {before[1]}, {value:g} in line {line}"
        self.placed[axis] = value, line
        return ""

    def movement(self) -> tuple[list[Waypoint], int, float]:
        """The track, when the node appears (us) and when it vanishes (us or inf)."""
        orders = sorted(self.orders, key=lambda order: order[0])  # R2
        appears, vanishes = 0, inf
        while orders and orders[-1][3] >= PLACEMENT_MPS and any(order[3] < PLACEMENT_MPS for order in orders):
            vanishes = orders.pop()[0]
        track: list[Waypoint] = [(0, self.placed.get("X", (0.0, 0))[0], self.placed.get("Y", (0.0, 0))[0])]
        moved = False
        for t, to_x, to_y, speed in orders:
            if speed >= PLACEMENT_MPS and not moved:  # R3
                appears = t
                track = [(0, to_x, to_y)]
                continue
            moved = True
            t, x, y = halt(track, t)
            took_us = round(hypot(to_x - x, to_y - y) / speed * 1e6) if speed > 0.0 else 0
            if took_us > 0:
                track.append((t + took_us, to_x, to_y))
        return track, appears, vanishes

    def ends_off(self, vanishes: float) -> bool:
        """Whether the node is absent after the last order."""
        return vanishes < inf or (bool(self.switches) and not sorted(self.switches, key=lambda s: s[0])[-1][1])

    def present(self, appears: int, vanishes: float, end: int) -> list[tuple[int, int]]:
        """The intervals during which the node is present."""
        on_since = appears if appears >= 0 else 0
        on = True
        intervals: list[tuple[int, int]] = []
        last = int(min(vanishes, end))
        for t, switched_on in sorted(self.switches, key=lambda switch: switch[0]):  # R4
            if on and not switched_on:
                intervals.append((on_since, min(t, last)))
            elif switched_on and not on:
                on_since = max(t, appears)
            on = switched_on
        if on:
            intervals.append((on_since, last))
        return [(since, until) for since, until in intervals if since < until or since == until == end]


def halt(track: list[Waypoint], t: int) -> Waypoint:
    """Cut the track at t, when a new order reaches the node, and return that point (R1)."""
    if t < track[-1][0] and len(track) > 1:
        x, y = place_at(track, t)
        track.pop()
        if t > track[-1][0]:
            track.append((t, x, y))
    elif t > track[-1][0]:
        track.append((t, track[-1][1], track[-1][2]))
    return track[-1]


def place_at(track: list[Waypoint], t: int) -> tuple[float, float]:
    before = track[0]
    for after in track:
        if after[0] >= t:
            if after[0] == t or after[0] == before[0]:
                return after[1], after[2]
            share = (t - before[0]) / (after[0] - before[0])
            return before[1] + share * (after[1] - before[1]), before[2] + share * (after[2] - before[2])
        before = after
    return before[1], before[2]


def read(lines: Iterable[tuple[int, str]]) -> Iterator[Record]:
    scripts: dict[str, Script] = {}
    for number, line in lines:
        order = line.strip()
        if not order or order.startswith("#"):
            continue
        wrong = _take(scripts, order, number)
        if wrong is not None:
            yield wrong
            if "placed twice" in wrong[10]:
                return
    yield from _points(scripts)


def _take(scripts: dict[str, Script], order: str, number: int) -> Record | None:
    goes, switches, sets = GOES.search(order), SWITCHES.search(order), SETS.match(order)
    try:
        if goes:
            x, y, speed = metres(goes.group(3)), metres(goes.group(4)), float(goes.group(5))
            if not isfinite(speed) or speed < 0.0:
                raise ValueError
            _script(scripts, goes.group(2), number).orders.append((micros(goes.group(1)), x, y, speed))
        elif switches:
            script = _script(scripts, switches.group(2), number)
            script.switches.append((micros(switches.group(1)), switches.group(3) == "ON"))
        elif sets:
            wrong = _script(scripts, sets.group(1), number).place(sets.group(2), metres(sets.group(3)), number)
            if wrong:
                return refusal(number, f"node {sets.group(1)} {wrong}")
        elif "setdest" in order or not order.startswith(OTHERS) or SETS.search(order):  # R6
            raise ValueError
    except ValueError:
        return problem(number, f"{shown(order)} is {FORM}")
    return None


def _script(scripts: dict[str, Script], name: str, number: int) -> Script:
    script = scripts.setdefault(str(int(name)), Script())
    script.line = script.line or number
    return script


def _points(scripts: dict[str, Script]) -> Iterator[Record]:
    movements = {name: script.movement() for name, script in scripts.items()}
    ends = [track[-1][0] for track, _, _ in movements.values()]
    ends += [t for script in scripts.values() for t, _ in script.switches]
    ends += [int(t) for _, appears, vanishes in movements.values() for t in (appears, vanishes) if t < inf]
    end = max([0, *ends])
    for name, script in scripts.items():
        track, appears, vanishes = movements[name]
        if track[0][0] < 0:
            yield refusal(script.line, f"node {name} moves at {seconds(track[0][0])}, before the script begins")
            return
        gone = GONE if script.ends_off(vanishes) else ""
        present = script.present(appears, vanishes, end)
        for segment, (since, until) in enumerate(present):
            inner = [(t, x, y) for t, x, y in track if since < t < until]
            rows = [(since, *place_at(track, since)), *inner, (until, *place_at(track, until))]
            last = gone if segment == len(present) - 1 else ""
            for t, x, y in rows[:-1] if until > since else []:
                yield point(script.line, name, t, x, y, segment=segment)
            yield point(script.line, name, *rows[-1], segment=segment, text=last)
