"""Ids, times, decisions and lists of nodes as people read and type them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from roamcast.errors import InputError
from roamcast.log.reader import LogRow
from roamcast.protocols.kit.interface import explain
from roamcast.pubsub.event import FOREVER, Event, event_id

UNIX_US: Final = 10**14
"""Clocks that show more count from 1970 (real nodes); those of simulations begin at 0."""
MOST_NODES: Final = 4
MOST_ATTRIBUTES: Final = 6
LONG_WAY: Final = 7


def event_name(event: int) -> str:
    """`3:12` is the twelfth event of node 3."""
    return f"{event >> 32}:{event & 0xFFFF_FFFF}"


def event_of(text: str | int) -> int:
    """The inverse of `event_name`; the plain number is understood too."""
    publisher, colon, sequence = str(text).strip().removeprefix("n").partition(":")
    try:
        number = event_id(int(publisher), int(sequence)) if colon else int(publisher, 0)
    except ValueError:
        number = 0
    if not 0 < number < 1 << 63:
        raise InputError(f"event {text!r}: must be PUBLISHER:NUMBER, such as 3:12, or an event's id")
    return number


def node_of(text: str | int) -> int:
    digits = str(text).strip().removeprefix("n")
    if not digits.isdecimal():
        raise InputError(f"node {text!r}: must be a node's number, such as 7")
    return int(digits)


def clock(t_us: int) -> str:
    if t_us > UNIX_US:
        return f"{datetime.fromtimestamp(t_us // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}.{t_us % 1_000_000 // 1000:03d} UTC"
    return f"{t_us / 1e6:.3f} s"


def duration(us: int) -> str:
    """Short, for sentences."""
    for limit, unit in ((1_000, "us"), (1_000_000, "ms")):
        if abs(us) < limit:
            return f"{us * 1000 / limit:.3g} {unit}"
    return f"{us / 1e6:.3g} s" if abs(us) < 100_000_000 else f"{us / 1e6:.0f} s"


def after(us: int) -> str:
    """A time since the publication; the clocks of two real nodes can disagree, so it can be negative."""
    return f"{us / 1e6:+.4f}"


def nodes(numbers: Sequence[int], most: int = MOST_NODES) -> str:
    """`n4, n9 and n12`; of many, the first few."""
    if len(numbers) > most:
        return ", ".join(f"n{node}" for node in numbers[: most - 1]) + f" and {len(numbers) - most + 1} more"
    return together([f"n{node}" for node in numbers])


def together(parts: Sequence[str]) -> str:
    """Parts that may have an "and" of their own are separated by a comma."""
    last = ", and " if any(" and " in part for part in parts) else " and "
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + last + parts[-1]


def did(deed: str, label: str) -> str:
    """What a node did, and the label of its reason."""
    return f"{deed} ({label})" if label else deed


def way(numbers: Sequence[int], arrow: str = "→") -> str:
    """`n3 → n4 → n7`; of a long one, the ends."""
    shown = [f"n{node}" for node in numbers]
    if len(shown) > LONG_WAY:
        shown = [*shown[:2], "…", *shown[-3:]]
    return f" {arrow} ".join(shown)


def addressee(node: int) -> str:
    return "all in range" if node < 0 else f"n{node}"


def loss(reason: str) -> str:
    """Why a radio lost a frame: the label of the log, and what it means."""
    meaning = {"half-duplex": "it was sending itself", "loss": "by chance"}
    return f"{reason} ({meaning[reason]})" if reason in meaning else reason


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number != 1 else f"1 {noun}".removesuffix("s")


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def content(event: Event) -> str:
    """Topic and attributes, in short."""
    attributes = [f"{name}={value}" for name, value in list(event.attrs.items())[:MOST_ATTRIBUTES]]
    if len(event.attrs) > MOST_ATTRIBUTES:
        attributes.append("…")
    topic = [f"topic {event.topic}"] if event.topic else []
    return ", ".join(topic + attributes) or "no topic, no attributes"


def validity(event: Event) -> str:
    return "valid for ever" if event.validity_us >= FOREVER else f"valid for {duration(event.validity_us)}"


def decision(row: LogRow) -> str:
    """The protocol's own sentence, with the event's name as people type it."""
    return explain(row.kind, row.reason, row.event, row.peer, row.value).replace(
        f"{row.event:#x}", event_name(row.event)
    )
