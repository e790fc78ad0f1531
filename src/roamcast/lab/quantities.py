"""What figures and claims speak of: the metrics of a run, and numbers that follow from them.

A quantity is a function from a row of the metrics table to a number, or to None where the run does not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from roamcast.errors import unknown
from roamcast.lab.campaign import SUMMABLE
from roamcast.papers import presets
from roamcast.world import mac
from roamcast.world.assembly import spec_of

Row = Mapping[str, Any]

EVENT = "event"
"""The kind of frames that carry what is published; all others serve to keep a protocol's tables."""


def value(row: Row, name: str) -> float | None:
    """A metric or a quantity of a run."""
    if name in SUMMABLE:
        found = row[name]
        return None if found is None else float(found)
    if name not in QUANTITIES:
        raise unknown("quantity", name, [*SUMMABLE, *QUANTITIES])
    return QUANTITIES[name](row)


def _events_sent(row: Row) -> float:
    return float(row["frames_by_kind"].get(EVENT, 0))


def _maintenance_share(row: Row) -> float | None:
    return 1.0 - _events_sent(row) / row["frames_sent"] if row["frames_sent"] else None


def _receptions_per_delivery(row: Row) -> float | None:
    """How often a node that gets an event receives it, if nobody hears it in vain."""
    return (row["deliveries"] + row["duplicates"]) / row["deliveries"] if row["deliveries"] else None


def _messages(row: Row) -> float:
    """Frames that protocols sent: what the link layer repeats is not a message more."""
    return float(row["frames_sent"] - row["repeats"])


def _overhead_published(row: Row) -> float | None:
    """Frames per delivery from the first publication on: what is sent while tables fill counts for nothing."""
    return (row["frames_sent"] - row["warmup_frames"]) / row["deliveries"] if row["deliveries"] else None


def _bytes_published_per_node(row: Row) -> float:
    return float(row["bytes_sent"] - row["warmup_bytes"]) / float(row["nodes"])


def _content_bytes_per_node(row: Row) -> float:
    return _content(row, row["bytes_sent"], row["frames_sent"]) / float(row["nodes"])


def _content_bytes_published_per_node(row: Row) -> float:
    content = _content(row, row["bytes_sent"] - row["warmup_bytes"], row["frames_sent"] - row["warmup_frames"])
    return content / float(row["nodes"])


def _content(row: Row, sent_bytes: int, frames: int) -> float:
    """What a protocol hands to the link layer: bytes without headers (a mote's packets are padded: that stays)."""
    typed = tuple((field, row["world"][field]) for field in ("mac", "overhead_bytes") if field in row["world"])
    return float(sent_bytes) - _header_bytes(row["preset"], row.get("reading", ""), typed) * float(frames)


@cache
def _header_bytes(preset: str, reading: str, typed: tuple[tuple[str, str], ...]) -> int:
    """Of a frame in the world of a preset, in which a campaign has changed some fields."""
    s = presets.load(preset, reading).scenario(dict(typed))
    return int(mac.build(spec_of(s).mac).header)


def _per_node(of: str) -> Callable[[Row], float]:
    return lambda row: float(row[of]) / float(row["nodes"])


QUANTITIES: dict[str, Callable[[Row], float | None]] = {
    "bytes_per_node": _per_node("bytes_sent"),
    "bytes_published_per_node": _bytes_published_per_node,
    "content_bytes_per_node": _content_bytes_per_node,
    "content_bytes_published_per_node": _content_bytes_published_per_node,
    "duplicates_per_node": _per_node("duplicates"),
    "duplicates_wanted_per_node": _per_node("duplicates_wanted"),
    "parasites_per_node": _per_node("parasites"),
    "events_sent": _events_sent,
    "events_sent_per_node": lambda row: _events_sent(row) / float(row["nodes"]),
    "maintenance_share": _maintenance_share,
    "messages": _messages,
    "overhead_published": _overhead_published,
    "receptions_per_delivery": _receptions_per_delivery,
}
