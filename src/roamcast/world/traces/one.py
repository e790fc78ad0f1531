"""The ONE's files: external movement (`time id x y` under a header of offsets) and events (`time CONN a b up`).

Movement: the first line is `minTime maxTime minX maxX minY maxY`, perhaps with minZ maxZ. As in The ONE, its minima
are subtracted from all values. Lines are in order of time.

Events: a contact lasts from `up` to `down`, and one that is still up at the end to the last line of the file. If both
hosts report it (`a b up`, `b a up`), it lasts as long as one of them does: the union. Events of messages (C, S, DE, A,
DR, R) are skipped. Hosts keep their names (p12).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roamcast.world.traces.files import CUT
from roamcast.world.traces.record import (
    Record,
    contact,
    metres,
    micros,
    point,
    problem,
    refusal,
    seconds,
    unlike,
)

MESSAGES: Final = frozenset(("C", "S", "DE", "A", "DR", "R"))
HEADER: Final = "a header minTime maxTime minX maxX minY maxY"
SAMPLE: Final = "`time id x y`"
EVENT: Final = "`time CONN a b up` or … down"


def offsets(line: str) -> tuple[int, float, float]:
    """The minima to subtract from t, x and y; ValueError if the line is not a header."""
    words = line.split()
    if len(words) not in (6, 8):
        raise ValueError(line)
    numbers = [float(word) for word in words]
    if any(numbers[k] > numbers[k + 1] for k in range(0, len(numbers), 2)):
        raise ValueError(line)
    return micros(words[0]), metres(words[2]), metres(words[4])


def read_movement(lines: Iterable[tuple[int, str]], header: str) -> Iterator[Record]:
    """`header` is the file's first line, wherever `lines` begin."""
    try:
        t0, x0, y0 = offsets(header)
    except ValueError:
        yield refusal(1, f"{header.strip()[:60]!r} is not {HEADER}")
        return
    for number, line in lines:
        words = line.split()
        if number == 1 or not words or line.startswith("#"):
            continue
        try:
            t, name, x, y = words[:4]
            yield point(number, name, micros(t) - t0, metres(x) - x0, metres(y) - y0)
        except ValueError:
            yield problem(number, CUT) if line == CUT else unlike(number, line, SAMPLE)


Up = dict[tuple[str, str], tuple[int, int, list[str]]]
"""Of each pair that is connected: since when, the line that says so, and the hosts that report it."""


def read_events(lines: Iterable[tuple[int, str]]) -> Iterator[Record]:
    up: Up = {}
    now = at = 0
    for number, line in lines:
        words = line.split()
        if not words or line.startswith("#"):
            continue
        try:
            t = micros(words[0])
            if words[1] in MESSAGES:
                continue
            if words[1] != "CONN" or words[4].lower() not in ("up", "down") or words[2] == words[3]:
                raise ValueError
        except (ValueError, IndexError):
            yield problem(number, CUT) if line == CUT else unlike(number, line, EVENT)
            continue
        if at and t < now:
            yield refusal(number, f"time runs backwards: {seconds(t)}, after {seconds(now)} in line {at}")
            return
        now, at = t, number
        yield from _event(up, number, t, words[2], words[3], words[4].lower() == "up")
    for (a, b), (since, line_up, _) in up.items():
        yield contact(line_up, a, b, since, now)


def _event(up: Up, number: int, t: int, reporter: str, other: str, rises: bool) -> Iterator[Record]:
    pair = a, b = min(reporter, other), max(reporter, other)
    if pair not in up:
        if rises:
            up[pair] = t, number, [reporter]
        else:
            yield problem(number, f"{a} and {b} are not connected")
        return
    since, line_up, reporters = up[pair]
    if rises and reporter in reporters:
        yield problem(number, f"{a} and {b} are already connected since line {line_up}")
    elif rises:
        reporters.append(reporter)
    else:
        reporters.remove(reporter if reporter in reporters else other)  # one side alone may end what the other began
        if not reporters:
            del up[pair]
            yield contact(line_up, a, b, since, t)
