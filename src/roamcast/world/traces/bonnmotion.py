"""BonnMotion's own format (`.movements`, `.movements.gz`): a line for each node, `t x y t x y …`.

The first line of a file with three dimensions is `#3D`, and its lines are `t x y z t x y z …`; other lines that begin
with # are comments. The file NAME.params beside NAME.movements says how long the scenario lasts (`duration=`), and has
`z=` if there are three dimensions. Nodes are numbered from 0 in the order of their lines. They stand at their first
place before its time, and at the last one until the end, which is the duration or else the end of the longest line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import nan

from roamcast.errors import InputError
from roamcast.world.traces.files import CUT, located
from roamcast.world.traces.record import Record, metres, micros, point, problem, shown

Row = tuple[int, float, float, float]


def parameters(path: str) -> dict[str, str]:
    """The contents of NAME.params beside NAME.movements; empty if there is no such file."""
    beside = path.removesuffix(".gz").removesuffix(".movements") + ".params"
    try:
        text = located(beside).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, InputError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def read(lines: Iterable[tuple[int, str]], parameters: dict[str, str]) -> Iterator[Record]:
    width = 4 if "z" in parameters else 3
    tracks: list[tuple[int, list[Row]]] = []
    for number, line in lines:
        if line.startswith("#"):
            width = 4 if line.startswith("#3D") else width
        elif line.strip():
            rows = _rows(line, width) if line != CUT else []
            if not rows:
                form = "t x y …" if width == 3 else "t x y z …"
                yield problem(number, CUT if line == CUT else f"{shown(line)} is not {form} of one node")
            tracks.append((number, rows))  # a node that cannot be read keeps its number
    try:
        end = micros(parameters.get("duration", "0"))
    except ValueError:
        end = 0
    end = max([end, *(rows[-1][0] for _, rows in tracks if rows)])
    for node, (number, rows) in enumerate(tracks):
        yield from _points(str(node), number, rows, end)


def _rows(line: str, width: int) -> list[Row]:
    words = line.split()
    if len(words) % width:
        return []
    try:
        return [
            (
                micros(words[k]),
                metres(words[k + 1]),
                metres(words[k + 2]),
                metres(words[k + 3]) if width == 4 else nan,
            )
            for k in range(0, len(words), width)
        ]
    except ValueError:
        return []


def _points(name: str, number: int, rows: list[Row], end: int) -> Iterator[Record]:
    if not rows:
        return
    if rows[0][0] > 0:
        yield point(number, name, 0, *rows[0][1:])
    for row in rows:
        yield point(number, name, *row)
    if rows[-1][0] < end:
        yield point(number, name, end, *rows[-1][1:])
