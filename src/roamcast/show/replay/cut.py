"""Which rows of a log a page has: all of them, or those of some time and of some nodes.

A page must open in a moment and fit into a mail, so a long log is cut even if nobody asks: it then ends early, and the
page says where and how to see the rest.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final, NamedTuple

from roamcast.errors import InputError
from roamcast.log.explanation.select import Columns

MOST_ROWS: Final = 400_000
"""Ours: such a page has about 2 MB, and making it takes half a minute."""
LASTING: Final = ("subscribe", "unsubscribe", "sleep", "wake", "crash", "recover")
"""Rows that still matter when the time of the page begins."""


class Wanted(NamedTuple):
    """What a person asked for; times are seconds since the log begins."""

    from_s: float | None = None
    to_s: float | None = None
    nodes: frozenset[int] | None = None
    most_rows: int = MOST_ROWS


class Cut(NamedTuple):
    rows: Any
    """A mask of the rows in the page."""
    begin_us: int
    """The first time of the whole log."""
    from_us: int
    to_us: int
    end_us: int
    """The last time of the whole log."""
    sentence: str
    """What is missing and how to see it; empty if the page has everything."""


def cut(columns: Columns, wanted: Wanted, name: str) -> Cut:
    """`name` is what people call the log."""
    import numpy as np

    t = columns["t"]
    begin, end = (0 if 0 <= int(t[0]) < 1 << 40 else int(t[0])), int(t[-1])
    from_us, to_us = _span(wanted, begin, end, name)
    chosen = np.ones(len(t), bool)
    if wanted.nodes is not None:
        chosen = _of_nodes(columns, wanted.nodes, name)
    lasting = columns.are(LASTING) & (t < from_us)
    moving = columns.are(("move",)) & (t < from_us) & (columns["value"] >= from_us)
    inside = chosen & (t >= from_us) & (t <= to_us)
    last_us = to_us
    if inside.sum() > wanted.most_rows:
        last_us = int(t[inside][wanted.most_rows]) - 1
        inside &= t <= last_us
    rows = inside | (chosen & (lasting | moving))
    if not inside.any():
        raise InputError(f"{name} has no rows between {_s(from_us - begin)} and {_s(to_us - begin)} s of these nodes")
    sentence = _sentence(wanted, int(inside.sum()), len(t), from_us - begin, last_us - begin, end - begin)
    return Cut(rows, begin, from_us, last_us, end, sentence)


def _span(wanted: Wanted, begin: int, end: int, name: str) -> tuple[int, int]:
    for option, value in (("--from", wanted.from_s), ("--to", wanted.to_s)):
        if value is not None and not isfinite(value):
            raise InputError(f"{option} {value:g}: must be a number of seconds")
    from_us = begin if wanted.from_s is None else begin + round(wanted.from_s * 1e6)
    to_us = end if wanted.to_s is None else min(end, begin + round(wanted.to_s * 1e6))
    if not begin <= from_us <= end:
        raise InputError(f"--from {wanted.from_s:g}: {name} lasts from 0 to {_s(end - begin)} s")
    if to_us <= from_us and to_us < end:
        raise InputError(f"--to {wanted.to_s:g}: must be after --from {_s(from_us - begin)}")
    return from_us, to_us


def _of_nodes(columns: Columns, nodes: frozenset[int], name: str) -> Any:
    import numpy as np

    known = np.unique(columns["node"]).tolist()
    unknown = sorted(nodes - set(known))
    if unknown:
        raise InputError(f"--nodes: {name} has no node {unknown[0]}; it has {known[0]} to {known[-1]}")
    return np.isin(columns["node"], np.array(sorted(nodes)))


def _sentence(wanted: Wanted, shown: int, total: int, from_us: int, to_us: int, end_us: int) -> str:
    if shown == total:
        return ""
    parts = [f"This page has {shown:,} of the log's {total:,} rows"]
    if from_us > 0 or to_us < end_us:
        parts.append(f"from {_s(from_us)} to {_s(to_us)} of {_s(end_us)} s")
    if wanted.nodes is not None:
        parts.append(f"of {len(wanted.nodes)} chosen nodes" if len(wanted.nodes) > 1 else "of one chosen node")
    return ", ".join(parts) + ". --from, --to and --nodes choose others."


def _s(us: int) -> str:
    return f"{us / 1e6:,.1f}".removesuffix(".0")
