"""Where nodes are: as the log's movements say, as somebody measured, or in a graph of which nodes heard each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from roamcast.errors import InputError
from roamcast.log.explanation.places import Places
from roamcast.log.explanation.select import Columns
from roamcast.log.explanation.spread import AT_SENDER
from roamcast.log.explanation.words import UNIX_US
from roamcast.log.reader import LogRow
from roamcast.show.replay.layout import laid_out
from roamcast.show.replay.packed import Column
from roamcast.world.traces.names import NAMED, number_of
from roamcast.world.traces.plan import Options, plan
from roamcast.world.traces.record import POINT, PROBLEM, REFUSAL

MOVES, MEASURED, GRAPH, RING = "moves", "measured", "graph", "ring"
FOREVER_US: Final = 1 << 50
SAMPLED: Final = 20_000
"""Receptions from which the range of nodes is estimated."""
NO_MOVES: Final = "The log has no movements, so nodes stand in a graph: those that heard each other are near."
HOW: Final = " Write it with --level full to see them move."
NO_FRAMES: Final = "The log has no frames and no movements, so nodes stand in a ring. Write it with --level full."

Leg = tuple[int, int, int, int, int, int, int]
"""The node's place in the list of nodes; begin and end in us; x, y in mm; velocities in 0.1 mm/s."""


class Placed(NamedTuple):
    how: str
    """moves, measured, graph or ring."""
    legs: list[Leg]
    remark: str
    links: Any = ()
    """Of a graph: pairs of places in the list of nodes, the lower one first."""


def placed(
    columns: Columns,
    moves: Sequence[LogRow],
    nodes: Sequence[int],
    begin_us: int,
    positions: Path | None,
    is_real: bool,
) -> Placed:
    """Times of legs count from the begin of the log."""
    index = {node: k for k, node in enumerate(nodes)}
    if positions is not None:
        return _measured(positions, index, begin_us)
    if moves:
        legs = [_leg(row, index[row.node], begin_us) for row in moves if row.node in index]
        return Placed(MOVES, sorted(legs), "")
    links = _links(columns, index)
    how = GRAPH if len(links) else RING
    legs = [
        (k, 0, FOREVER_US, round(1000 * x), round(1000 * y), 0, 0)
        for k, (x, y) in enumerate(laid_out(len(nodes), links).tolist())
    ]
    return Placed(how, legs, NO_FRAMES if how == RING else NO_MOVES if is_real else NO_MOVES + HOW, links)


def links_table(links: Any) -> list[Column]:
    import numpy as np

    values = np.array(links, np.int64).reshape(-1, 2)
    return [Column("a", values[:, 0], True), Column("b", values[:, 1])]


def table(legs: Sequence[Leg]) -> list[Column]:
    import numpy as np

    values = np.array(legs, np.int64).reshape(-1, 7)
    names = ("node", "t", "end", "x", "y", "vx", "vy")
    columns = {name: values[:, k] for k, name in enumerate(names)}
    columns["end"] = columns["end"] - columns["t"]
    return [Column(name, columns[name], name == "node") for name in names]


def farthest_m(columns: Columns, moves: Sequence[LogRow]) -> float:
    """The longest way of a frame that was received, as far as the log has movements."""
    import numpy as np

    places = Places(moves)
    received = np.flatnonzero(columns.are(("receive",)))[:SAMPLED]
    pairs = zip(*(columns[name][received].tolist() for name in ("node", "peer", "t")), strict=True)
    return max((places.distance_m(node, peer, t) or 0.0 for node, peer, t in pairs), default=0.0)


def _leg(row: LogRow, index: int, begin_us: int) -> Leg:
    x, y, vx, vy = map(float, row.reason.split())
    end = min(row.value - begin_us, FOREVER_US)
    return index, row.t - begin_us, end, round(x * 1e3), round(y * 1e3), round(vx * 1e4), round(vy * 1e4)


def _links(columns: Columns, index: dict[int, int]) -> Any:
    """Pairs of nodes of which one received or lost frames of the other."""
    import numpy as np

    at_radio = columns.are(("receive", "lose", "overhear")) & (columns["peer"] >= 0)
    heard = at_radio & ~(columns.are(("lose",)) & columns.have_reason(AT_SENDER))
    pairs = np.unique(np.stack([columns["node"][heard], columns["peer"][heard]], 1), axis=0).tolist()
    known = {(min(a, b), max(a, b)) for a, b in pairs if a in index and b in index}
    return np.array(sorted((index[a], index[b]) for a, b in known), int).reshape(-1, 2)


# ---- measured


def _measured(path: Path, index: dict[int, int], begin_us: int) -> Placed:
    """Positions of real nodes from a trace: by the clock of the log, or in seconds since the log begins."""
    tracks: dict[int, list[tuple[int, float, float]]] = {}
    for part in plan([str(path)], Options()):
        for record in part.records():
            if record[0] in (PROBLEM, REFUSAL):
                raise InputError(f"--positions {part.path}, line {record[1]}: {record[10]}")
            number = number_of(record[2].removeprefix("n")) if record[0] == POINT else NAMED
            if number in index:
                tracks.setdefault(number, []).append((record[4], record[6], record[7]))
    if not tracks:
        raise InputError(f"--positions {path}: has no position of the log's nodes, such as {next(iter(index))}")
    legs = [leg for node in sorted(tracks) for leg in _track(tracks[node], index[node], begin_us)]
    missing = len(index) - len(tracks)
    remark = f"{missing} of {len(index)} nodes have no measured position and are not drawn." if missing else ""
    return Placed(MEASURED, sorted(legs), remark)


def _track(points: list[tuple[int, float, float]], index: int, begin_us: int) -> list[Leg]:
    points = sorted(points)
    shift = begin_us if points[0][0] > UNIX_US else 0
    legs: list[Leg] = []
    for (t, x, y), (until, to_x, to_y) in pairwise([*points, (FOREVER_US + shift, *points[-1][1:])]):
        if until > t:
            took_s = (until - t) / 1e6
            speeds = round((to_x - x) / took_s * 1e4), round((to_y - y) / took_s * 1e4)
            legs.append((index, t - shift, until - shift, round(x * 1e3), round(y * 1e3), *speeds))
    return legs
