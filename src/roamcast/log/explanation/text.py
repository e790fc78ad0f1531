"""The text of an explanation and of the lists, for a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from roamcast.log.explanation import words
from roamcast.log.explanation.causes import UNKNOWN
from roamcast.log.explanation.holders import CONDUCT

if TYPE_CHECKING:
    from roamcast.log.explanation.pair import Explanation, Neighbour
    from roamcast.log.explanation.timeline import Entry

WIDTH: Final = 80
MOST_NEIGHBOURS: Final = 6
MOST_LATER: Final = 3
MOST_ENTRIES: Final = 18
MOST_OF_ONE: Final = 8
"""Entries for each of the neighbours."""
TIED: Final = "\N{NO-BREAK SPACE}"
MOST_FRAME: Final = 10**9
"""Serials of real nodes have 63 bits, and help nobody who reads them."""


def explanation(of: Explanation) -> str:
    lines = [*wrapped(of.summary), ""]
    lines += _field("event", f"{of.name}, {of.about}")
    lines += _field("interest", of.interest)
    lines += _field("network", of.network) if of.network else []
    lines += _at_the_node(of)
    lines += _around(of)
    if of.remarks:
        lines += ["", *(line for remark in of.remarks for line in wrapped(remark))]
    return "\n".join(lines)


def wrapped(sentence: str, lead: str = "", rest: str | None = None) -> list[str]:
    """Lines that fit; `lead` begins the first one, and the others are indented as far, unless `rest` begins them."""
    rest = " " * len(lead) if rest is None else rest
    lines = wrap(sentence, WIDTH, initial_indent=lead, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(TIED, " ") for line in lines]


def _field(title: str, value: str) -> list[str]:
    return wrapped(value, f"{title:10}")


def _at_the_node(of: Explanation) -> list[str]:
    if of.timeline:
        begin = "the publication" if of.is_published else "the first row about it"
        lines = _entries(of.timeline, of.begins_us, " ", MOST_ENTRIES)
        return ["", f"At n{of.node}, in seconds after {begin}:", *lines]
    if of.cause in ("", UNKNOWN):
        return []
    return ["", f"At n{of.node} nothing happened: no frame with it was received, lost or overheard."]


def _around(of: Explanation) -> list[str]:
    """The neighbours that had the event, or the nodes that had it and were met later."""
    neighbours = [holder for holder in of.neighbours if holder.is_neighbour]
    if of.path:
        way = wrapped(f"The way to the nearest node that had it: {words.way(of.path, '–')}.")
        stop = of.path[-2]
        heading = f"Neighbours of n{stop} that had it" if neighbours else f"Nodes that had it and met n{stop} later"
        return ["", *way, *_section(f"It stopped before n{stop}. {heading}:", of.neighbours, MOST_NEIGHBOURS, of)]
    if neighbours:
        return _section(f"Neighbours of n{of.node} that had it:", neighbours, MOST_NEIGHBOURS, of)
    return _section(f"Nodes that had it and met n{of.node} later:", of.neighbours, MOST_LATER, of)


def _section(title: str, holders: list[Neighbour], most: int, of: Explanation) -> list[str]:
    if not holders:
        return []
    lines = [line for holder in holders[:most] for line in _neighbour(holder, of)]
    rest = Counter(holder.conduct for holder in holders[most:])
    deeds = ", ".join(f"{n} {CONDUCT[word]}" for word, n in rest.most_common())
    return ["", title, *lines, *(wrapped(f"… and {rest.total()} more: {deeds}", "  ") if rest else [])]


def _neighbour(holder: Neighbour, of: Explanation) -> Iterator[str]:
    away = "" if holder.distance_m is None else f", {holder.distance_m:.0f} m away"
    yield from wrapped(f"n{holder.node}{away}: {words.did(CONDUCT[holder.conduct], holder.reason)}", "  ", "    ")
    yield from _entries(holder.timeline, of.begins_us, "   ", MOST_OF_ONE)


def _entry(entry: Entry, begins_us: int, indent: str) -> list[str]:
    when = words.after(entry.t_us - begins_us)
    until = f", until {words.after(entry.until_us - begins_us)}" if len(entry.frames) > 1 else ""
    one = entry.frames[0] if len(entry.frames) == 1 else MOST_FRAME
    frame = f" [frame{TIED}{one}]" if one < MOST_FRAME else ""
    return wrapped(entry.text + until + frame, f"{indent}{when:>9}  ")


def _entries(entries: list[Entry], begins_us: int, indent: str, most: int) -> list[str]:
    """The first and the last few of them."""
    first, last = entries, entries[:0]
    if len(entries) > most + 1:
        first, last = entries[: most - most // 3], entries[-(most // 3) :]
    lines = [line for entry in first for line in _entry(entry, begins_us, indent)]
    if last:
        lines.append(f"{indent}… {len(entries) - len(first) - len(last):,} more left out; --json has everything …")
    return lines + [line for entry in last for line in _entry(entry, begins_us, indent)]


def columns(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of texts, aligned on the left; the last column is cut where it does not fit."""
    widths = [max(len(row[k]) for row in [heading, *rows]) for k in range(len(heading))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [heading, *rows]]
    return [line.rstrip() if len(line.rstrip()) <= WIDTH else line[: WIDTH - 1] + "…" for line in lines]
