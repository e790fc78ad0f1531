"""Everything that a page shows of one log: texts, and tables of numbers.

    rows     the log's rows in order, without movements: t, node, kind, event, frame, peer, bytes, value, text
    legs     straight pieces of movement: places.py
    links    pairs of nodes that heard each other, if nodes stand in a graph
    absences when nodes slept or were down: node, from, until, state
    copies, pairs     the events: events.py

Numbers that stand for things in lists (nodes, events, texts) are their places in the list; where there can be none,
one more, so that 0 is none. Times count from the begin of the log, in microseconds.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

from roamcast.errors import InputError
from roamcast.log import schema
from roamcast.log.explanation import words
from roamcast.log.explanation.answers import NEEDED, NEEDS_FRAMES, OWN_CLOCKS, Answers, declare_sentences
from roamcast.log.explanation.holders import absences
from roamcast.log.explanation.select import DECISION_KINDS, EVENT_KINDS, FRAME_KINDS, Columns
from roamcast.log.interest import FAULTS
from roamcast.log.opened import Log
from roamcast.log.reader import LogRow
from roamcast.show import run as shown
from roamcast.show.replay import events, places
from roamcast.show.replay.cut import Cut, Wanted, cut
from roamcast.show.replay.events import Texts
from roamcast.show.replay.packed import Column, Tables, packed
from roamcast.show.replay.rules import STATES, look
from roamcast.show.replay.world import NOTHING, Wall, World, world_of

BIGGEST: Final = (1 << 50) - 1
"""Of the numbers in the tables: a browser counts exactly up to 2 to the 53."""
TEXTS: Final = ("send", "receive", "lose", "overhear", "subscribe", "unsubscribe", "recover")
"""Kinds whose reason is a text as it is."""
OVER_MARGIN: Final = 0.04
MILLISECONDS: Final = ", ms"
SHADOWED: Final = (
    "Ranges are those without shadowing: what stands between two nodes lets frames go farther, or less far."
)
LONG_MS: Final = 10_000
"""Ours: from here on people think in seconds."""


class Scene(NamedTuple):
    texts: dict[str, Any]
    tables: Tables

    def packed(self) -> bytes:
        return packed(self.texts, self.tables)


def scene(log: Log, wanted: Wanted | None = None, positions: Path | None = None) -> Scene:
    """`positions` is a trace of measured positions, for logs that have no movements."""
    name = str(log.path)
    whole = Columns(log.table())
    if not len(whole):
        raise InputError(f"{name} has no rows, because its level is summary: {NEEDED}")
    declare_sentences()
    part = cut(whole, wanted or Wanted(), name)
    columns = Columns(log.table().filter(_mask(part.rows)))
    nodes, visible = _nodes(columns, wanted)
    index = {node: k for k, node in enumerate(nodes)}
    answers = Answers(log.table(), name, log.is_merged)
    spreads = answers.spreads(_events_in(columns))
    texts = Texts()
    spread = events.event_tables(answers, spreads, index, part.begin_us, texts)
    moves = columns.rows_of_kinds(("move",))
    placed = places.placed(columns, moves, nodes[:visible], part.begin_us, positions, not log.description)
    world = world_of(log.description)
    event_index = {each.event: k for k, each in enumerate(spreads)}
    rows = _rows(columns, index, event_index, part.begin_us, texts)
    tables: Tables = {
        "rows": rows,
        "legs": places.table(placed.legs),
        "links": places.links_table(placed.links),
        "absences": _absences(columns, index, part.begin_us),
        "copies": spread.copies,
        "pairs": spread.pairs,
    }
    about = {
        **_about(log, part, columns),
        **_ground(world, placed, nodes[:visible], columns, moves),
        "roles": [world.roles[node] if node < len(world.roles) else "" for node in nodes] if world.roles else [],
        "nodes": nodes,
        "visible": visible,
        "events": spread.events,
        "texts": texts.listed(),
        "frames": _frame_kinds(columns),
        "remarks": _remarks(log, part, columns, placed.remark, world),
    }
    return Scene(about, tables)


def _mask(rows: Any) -> Any:
    import pyarrow as pa

    return pa.array(rows)


def _nodes(columns: Columns, wanted: Wanted | None) -> tuple[list[int], int]:
    """All nodes that rows are about, those first that the page draws, and how many these are."""
    import numpy as np

    own: list[int] = np.unique(columns["node"]).tolist()
    peers: list[int] = np.unique(columns["peer"][columns["peer"] >= 0]).tolist()
    others = sorted(set(peers) - set(own))
    if wanted is not None and wanted.nodes is not None:
        return own + others, len(own)
    return sorted({*own, *others}), len({*own, *others})


def _events_in(columns: Columns) -> set[int]:
    about = columns.are(EVENT_KINDS) & (columns["event"] > 0)
    return set(columns["event"][about].tolist())


# ---- rows


def _rows(
    columns: Columns, index: dict[int, int], event_index: dict[int, int], begin_us: int, texts: Texts
) -> list[Column]:
    import numpy as np

    still = ~columns.are(("move",))
    of_events = columns.are(EVENT_KINDS)
    ids, places_of = np.unique(np.where(of_events, columns["event"], 0)[still], return_inverse=True)
    event = np.array([event_index.get(id, -1) + 1 for id in ids.tolist()], np.int64)[places_of]
    frame = columns["frame"][still]
    if len(frame) and int(frame.max()) > BIGGEST:  # serials of real nodes
        serials, ranks = np.unique(frame, return_inverse=True)
        frame = ranks + (0 if serials[0] == 0 else 1)
    decided = columns.are(DECISION_KINDS)
    value = np.where(decided, 0, np.clip(columns["value"], 0, BIGGEST))
    return [
        Column("t", columns["t"][still] - begin_us, True),
        Column("node", _looked_up(columns["node"][still], index)),
        Column("kind", _codes(columns)[still]),
        Column("event", event),
        Column("frame", frame),
        Column("peer", _looked_up(columns["peer"][still], index) + 1),
        Column("bytes", columns["bytes"][still]),
        Column("value", value[still]),
        Column("text", _text_places(columns, texts)[still]),
    ]


def _absences(columns: Columns, index: dict[int, int], begin_us: int) -> list[Column]:
    import numpy as np

    rows = [
        (index[node], each.from_us - begin_us, min(each.until_us - begin_us, BIGGEST), STATES.index(each.state))
        for node, absent in sorted(absences(columns.rows_of_kinds(FAULTS)).items())
        for each in absent
    ]
    values = np.array(rows, np.int64).reshape(-1, 4)
    return [Column(name, values[:, k], name == "node") for k, name in enumerate(("node", "from", "until", "state"))]


def _looked_up(numbers: Any, index: dict[int, int]) -> Any:
    """The place of each number; -1 without one."""
    import numpy as np

    known, places_of = np.unique(numbers, return_inverse=True)
    return np.array([index.get(number, -1) for number in known.tolist()], np.int64)[places_of]


def _codes(columns: Columns) -> Any:
    import numpy as np

    codes = np.zeros(len(columns), np.int64)
    for code, kind in enumerate(schema.KINDS):
        codes[columns.are((kind,))] = code
    return codes


def _text_places(columns: Columns, texts: Texts) -> Any:
    """For each row the place of its text: the sentence of a decision, the reason of a frame or a subscription. The
    content of an event is in the list of events."""
    import numpy as np

    places = np.zeros(len(columns), np.int64)
    codes, reasons = columns.reasons()
    plain = columns.are(TEXTS)
    used, inverse = np.unique(codes[plain], return_inverse=True)
    places[plain] = np.array([texts.place(reasons[code]) for code in used.tolist()], np.int64)[inverse]
    decided = columns.are(DECISION_KINDS)
    places[decided] = _sentences(columns.rows(decided), texts)
    return places


def _sentences(rows: list[LogRow], texts: Texts) -> list[int]:
    known: dict[tuple[object, ...], int] = {}
    places_of = []
    for row in rows:
        key = row.kind, row.reason, row.event, row.peer, row.value
        place = known.get(key)
        if place is None:
            place = known[key] = texts.place(words.decision(row))
        places_of.append(place)
    return places_of


# ---- texts


def _about(log: Log, part: Cut, columns: Columns) -> dict[str, Any]:
    described = log.description
    title, protocol, world = str(log.path.name), "", ""
    if described:
        protocol = described["protocol"].rpartition(":")[2]
        world = f"{described['preset'] or 'a scenario'}, seed {described['seed']}"
        title = f"{protocol} on {world}"
    return {
        "title": title,
        "protocol": protocol,
        "world": world,
        "log": str(log.path),
        "is_unix": part.begin_us > words.UNIX_US,
        "begin_us": part.begin_us,
        "from": part.from_us - part.begin_us,
        "to": max(part.to_us, part.from_us + 1) - part.begin_us,
        "cut": part.sentence,
        "metrics": _metrics(log.summary) if described else [],
        "chips": _chips(log.summary) if described else [],
        "params": described.get("params", {}),
        "row_count": len(columns),
    }


def _metrics(summary: dict[str, Any]) -> list[list[str]]:
    """Title, value with its unit, and note."""
    metrics = {name: value for name, value in summary.items() if name != "fingerprint"}
    return [_with_unit(*line) for line in shown.lines(metrics) if line[0]][:6]


def _with_unit(title: str, value: str, note: str) -> list[str]:
    """A table of the terminal has units in its notes: `67.5  median, ms`."""
    if not note.endswith(MILLISECONDS) or value == shown.UNKNOWN:
        return [title, value, note]
    ms = float(value.replace(",", ""))
    return [title, f"{ms / 1000:,.1f} s" if ms >= LONG_MS else f"{value} ms", note.removesuffix(MILLISECONDS)]


def _chips(summary: dict[str, Any]) -> list[str]:
    """`delivery 62.6 %`, `2.83 frames sent per delivery`, `latency 67.5 ms, median`."""
    lines = {title: (value, note) for title, value, note in reversed(_metrics(summary))}
    known = {title: line for title, line in lines.items() if line[0] != shown.UNKNOWN}
    chips = []
    if "delivery" in known:
        chips.append(f"delivery {known['delivery'][0]}")
    if "overhead" in known:
        chips.append(" ".join(known["overhead"]))
    if "latency" in known:
        chips.append(f"latency {', '.join(known['latency'])}")
    return chips


def _ground(
    world: World, placed: places.Placed, nodes: list[int], columns: Columns, moves: list[LogRow]
) -> dict[str, Any]:
    """What lies below the nodes."""
    is_map = placed.how == places.MOVES
    ranges = [world.ranges[node] for node in nodes if node < len(world.ranges)] if is_map else []
    estimated = 0.0
    if is_map and not ranges:
        estimated = places.farthest_m(columns, moves)
        ranges = [estimated] * len(nodes) if estimated else []
    wall: Wall | None = world.wall if is_map else None
    return {
        "how": placed.how,
        "area": _area(world if is_map else NOTHING, placed.legs),
        "is_bounded": is_map and world.area is not None,
        "ranges": [round(value, 2) for value in ranges],
        "is_estimated": bool(estimated),
        "range_note": SHADOWED if ranges and world.scenario and world.scenario.shadowing_db else "",
        "streets": world.streets if is_map else [],
        "wall": None if wall is None else [wall.x_m, wall.from_us, wall.until_us],
    }


def _area(world: World, legs: list[places.Leg]) -> list[float]:
    """x, y, width and height in metres, with room for all movements."""
    xs, ys = [], []
    for _, t, end, x, y, vx, vy in legs:
        took_s = 0.0 if end >= places.FOREVER_US else (end - t) / 1e6
        xs += [x / 1e3, x / 1e3 + vx / 1e4 * took_s]
        ys += [y / 1e3, y / 1e3 + vy / 1e4 * took_s]
    if world.area is not None:
        xs, ys = [*xs, 0.0, world.area[0]], [*ys, 0.0, world.area[1]]
    if not xs:
        return [0.0, 0.0, 100.0, 100.0]
    left, low = min(xs), min(ys)
    wide, high = max(max(xs) - left, 10.0), max(max(ys) - low, 10.0)
    margin = 0.0 if world.area is not None else OVER_MARGIN * max(wide, high)
    return [round(v, 3) for v in (left - margin, low - margin, wide + 2 * margin, high + 2 * margin)]


def _frame_kinds(columns: Columns) -> list[dict[str, Any]]:
    """Those that carry events first, then by number; each with its colour."""
    codes, reasons = columns.reasons()
    sent = columns.are(("send",))
    counts = Counter(codes[sent].tolist())
    with_events = set(codes[sent & (columns["event"] > 0)].tolist())
    order = sorted(counts, key=lambda code: (code not in with_events, -counts[code], reasons[code]))
    return [{"kind": reasons[code], "count": counts[code], **look(k)} for k, code in enumerate(order)]


def _remarks(log: Log, part: Cut, columns: Columns, of_places: str, world: World) -> list[str]:
    has_frames = bool(columns.are((*FRAME_KINDS, *DECISION_KINDS)).any())
    remarks = [part.sentence, of_places, "" if has_frames else NEEDS_FRAMES, OWN_CLOCKS if log.is_merged else ""]
    return [remark for remark in [*remarks, *world.remarks] if remark]
