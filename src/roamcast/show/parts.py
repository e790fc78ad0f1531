"""The parts that a report is folded into, and the contents that lead to them. Both work without scripts.

A part is a `details` element. Its address is inside what is folded, so a browser that is led there unfolds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roamcast.show.markup import Child, Html, joined, tag


class Place(msgspec.Struct, frozen=True):
    """An entry of the contents; `below` are the figures or worlds of a part."""

    id: str
    text: str
    below: list[Place] = []


def part(
    place: str, title: Child, *children: Child, kicker: str = "", brief: Child = None, opened: bool = False
) -> Html:
    """`brief` is seen while the part is folded."""
    summary = tag(
        "summary",
        tag("p", kicker, class_="kicker") if kicker else None,
        tag("h2", title),
        tag("div", brief, class_="brief") if brief else None,
    )
    back = tag("p", tag("a", "to the top of this part", href=f"#{place}"), class_="back")
    return tag("details", summary, tag("div", children, back, id=place, class_="inside"), class_="part", open=opened)


def contents(places: Sequence[Place]) -> Html:
    return tag(
        "nav",
        tag("details", tag("summary", "Contents", tag("span", class_="here")), _listed(places), open=True),
        class_="contents",
        aria_label="contents",
    )


def _listed(places: Sequence[Place]) -> Html:
    items = [
        tag("li", tag("a", place.text, href=f"#{place.id}"), _listed(place.below) if place.below else None)
        for place in places
    ]
    return tag("ol", items)


def table(heads: Sequence[Child], rows: Sequence[Html], name: str, caption: str = "") -> Html:
    """A table that becomes a list of cards on a phone; its cells come from `cell`, its first column names the row."""
    titles = [
        tag("th", head, scope="col", role="columnheader", class_="num" if k else None) for k, head in enumerate(heads)
    ]
    return tag(
        "table",
        tag("caption", caption) if caption else None,
        tag("thead", tag("tr", titles, role="row"), role="rowgroup"),
        tag("tbody", rows, role="rowgroup"),
        class_="cards",
        role="table",
        aria_label=name,
    )


def line(first: Child, cells: Sequence[Html]) -> Html:
    return tag("tr", tag("th", first, scope="row", role="rowheader"), cells, role="row")


def cell(content: Child, head: str, best: bool = False) -> Html:
    return tag("td", content, class_="num best" if best else "num", data_of=head, role="cell")


def interval(text: str) -> Html:
    """`0.774 ± 0.048`, broken before the sign where there is no room."""
    mean, sign, half = text.partition(" ± ")
    return joined(mean, tag("span", f" ± {half}", class_="half") if sign else None)
