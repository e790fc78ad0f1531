"""The numbers that figures and claims use: the metrics of a run, and quantities that follow from them.

A quantity has a value for a row of the metrics table, or None where the run does not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from roamcast.errors import unknown
from roamcast.judging import settings
from roamcast.log.catalogue import AVERAGED, METRICS
from roamcast.log.metric import SHARE, Quotient, Row, Term, over
from roamcast.papers import presets
from roamcast.world import mac
from roamcast.world.assembly import spec_of

EVENT = Term("frames_by_kind", "event")
"""Frames that carry events; all others maintain a protocol's tables."""


class Quantity(msgspec.Struct, frozen=True):
    name: str
    unit: str
    means: str
    formula: str
    value: Callable[[Row], float | None]


def value(row: Row, name: str) -> float | None:
    """A metric or a quantity of a run."""
    if name in AVERAGED:
        metric = row[name]
        return None if metric is None else float(metric)
    if name not in QUANTITIES:
        raise unknown("quantity", name, [*AVERAGED, *QUANTITIES])
    return QUANTITIES[name].value(row)


def _follows(name: str, unit: str, means: str, quotient: Quotient) -> Quantity:
    return Quantity(name, unit, means, quotient.text, quotient.value)


def _maintenance_share(row: Row) -> float | None:
    return 1.0 - (EVENT.value(row) or 0) / row["frames_sent"] if row["frames_sent"] else None


def _content_bytes_per_node(row: Row) -> float:
    return _content(row, row["bytes_sent"], row["frames_sent"]) / float(row["nodes"])


def _content_bytes_published_per_node(row: Row) -> float:
    content = _content(row, row["bytes_sent"] - row["warmup_bytes"], row["frames_sent"] - row["warmup_frames"])
    return content / float(row["nodes"])


def _content(row: Row, sent_bytes: int, frames: int) -> float:
    """Bytes that a protocol hands to the link layer, without headers; the padding of a mote's packets stays."""
    typed = tuple((field, value) for field, value in settings.world(row).items() if field in ("mac", "overhead_bytes"))
    return float(sent_bytes) - _header_bytes(row["preset"], row.get("reading", ""), typed) * float(frames)


@cache
def _header_bytes(preset: str, reading: str, typed: tuple[tuple[str, Any], ...]) -> int:
    """The header of a frame in the world of a preset with some changed fields."""
    s = presets.load(preset, reading).scenario(dict(typed))
    return int(mac.build(spec_of(s).mac).header)


_LISTED = (
    *(
        _follows(m.per_node, f"{m.unit} per node", f"`{m.name}` for each node", over(m.name, "nodes"))
        for m in METRICS
        if m.per_node
    ),
    _follows(
        "bytes_published_per_node",
        "bytes per node",
        "bytes sent from the first publication on: the warm-up, while tables fill, is left out",
        over(["bytes_sent", "-warmup_bytes"], "nodes"),
    ),
    Quantity(
        "content_bytes_per_node",
        "bytes per node",
        "bytes that protocols hand to the link layer: without its headers",
        "(bytes_sent − header · frames_sent) / nodes",
        _content_bytes_per_node,
    ),
    Quantity(
        "content_bytes_published_per_node",
        "bytes per node",
        "the same from the first publication on",
        "(bytes_sent − warmup_bytes − header · (frames_sent − warmup_frames)) / nodes",
        _content_bytes_published_per_node,
    ),
    _follows("events_sent", "frames", "frames that carry events", over([EVENT])),
    _follows(
        "events_sent_per_node", "frames per node", "frames that carry events, for each node", over([EVENT], "nodes")
    ),
    Quantity(
        "maintenance_share",
        SHARE,
        "the share of frames that carry no event: they maintain a protocol's tables",
        f"1 − {EVENT.text} / frames_sent",
        _maintenance_share,
    ),
    _follows(
        "messages",
        "frames",
        "frames that protocols sent, without repetitions by the link layer",
        over(["frames_sent", "-repeats"]),
    ),
    _follows(
        "overhead_published",
        "frames per delivery",
        "overhead from the first publication on: the warm-up, while tables fill, is left out",
        over(["frames_sent", "-warmup_frames"], "deliveries"),
    ),
    _follows(
        "receptions_per_delivery",
        "receptions per delivery",
        "how often a node that gets an event receives it, if every reception is at such a node",
        over(["deliveries", "duplicates"], "deliveries"),
    ),
)

QUANTITIES = {quantity.name: quantity for quantity in _LISTED}
"""Quantities by name. `nodes` is the number of nodes, `header` the bytes that the MAC adds to a frame."""
