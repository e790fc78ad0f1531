"""The text of an explanation and of the lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from roamcast.log.explanation import words

if TYPE_CHECKING:
    from roamcast.log.explanation.pair import Entry, Explanation, NearNode

WIDTH: Final = 100
MOST_NEAR: Final = 8
MOST_LATER: Final = 3
MOST_ENTRIES: Final = 60
MOST_DECISIONS: Final = 5


def explanation(of: Explanation) -> str:
    lines = [*wrap(of.summary, WIDTH), ""]
    lines += _field(f"event {of.name}", of.about)
    lines += _field(f"n{of.node} interested", of.interest)
    if of.timeline:
        begin = "the publication" if of.is_published else "the first row about it"
        lines += ["", f"What happened at n{of.node}, in seconds after {begin}:"]
        lines += _limited([line for entry in of.timeline for line in _entry(entry, of.begins_us)])
    elif of.cause not in ("", "not in the log"):
        lines += [
            "",
            f"At n{of.node} nothing happened about it: no frame with it was received, lost or overheard there.",
        ]
    near = [holder for holder in of.near if holder.is_near]
    lines += _section(f"Nodes near n{of.node} that had it:", near, MOST_NEAR, of)
    if not near:
        lines += _section(f"Nodes that had it and met n{of.node} later:", of.near, MOST_LATER, of)
    if of.remarks:
        lines.append("")
        lines += [line for remark in of.remarks for line in wrap(remark, WIDTH)]
    return "\n".join(lines)


def _section(title: str, holders: list[NearNode], most: int, of: Explanation) -> list[str]:
    if not holders:
        return []
    lines = [line for holder in holders[:most] for line in _near_node(holder, of)]
    rest = [f"  … and {len(holders) - most} more"] if len(holders) > most else []
    return ["", title, *lines, *rest]


def _field(title: str, value: str) -> list[str]:
    return wrap(value, WIDTH, initial_indent=f"{title}: ", subsequent_indent="  ")


def _entry(entry: Entry, begins_us: int) -> list[str]:
    when = words.after(entry.t_us - begins_us)
    until = f", until {words.after(entry.until_us - begins_us)}" if len(entry.frames) > 1 else ""
    return _hanging(f"{when:>11}  ", entry.text + until)


def _hanging(lead: str, sentence: str) -> list[str]:
    return wrap(sentence, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead))


def _limited(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_ENTRIES:
        return lines
    half = MOST_ENTRIES // 2
    return [*lines[:half], f"  … {len(lines) - 2 * half} lines left out; --json has everything …", *lines[-half:]]


def _near_node(holder: NearNode, of: Explanation) -> Iterator[str]:
    since = words.after(holder.had_us - of.begins_us)
    way = "" if len(holder.way) < 2 else f" by {words.way(holder.way)}"
    meters = "" if holder.distance_m is None else f", then {holder.distance_m:.0f} m away"
    lead = f"  n{holder.node}: "
    yield from _hanging(lead, f"had it from {since} s{way}{meters}; {_contact(holder, of.node)}")
    indent = " " * len(lead)
    for decision in holder.decisions[-MOST_DECISIONS:]:
        yield from _hanging(f"{indent}{words.after(decision.t_us - of.begins_us)}  ", decision.text)
    if holder.sent_us:
        first = words.after(holder.sent_us[0] - of.begins_us)
        at = "at" if len(holder.sent_us) == 1 else "first at"
        yield f"{indent}sent it {words.times(len(holder.sent_us))}, {at} {first} s"
    elif not holder.decisions:
        yield f"{indent}never sent it; the log has no decision of it"


def _contact(holder: NearNode, node: int) -> str:
    """When the last and the next frame went between the two nodes."""
    parts = []
    if holder.contact_before_us is not None:
        parts.append(f"{words.duration(holder.had_us - holder.contact_before_us)} before")
    if holder.contact_after_us is not None:
        parts.append(f"{words.duration(holder.contact_after_us - holder.had_us)} after")
    return f"in contact with n{node} {words.together(parts)}"


def columns(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of texts, aligned on the left."""
    widths = [max(len(row[k]) for row in [heading, *rows]) for k in range(len(heading))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heading, *rows]
    ]
