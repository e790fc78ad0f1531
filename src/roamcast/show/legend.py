"""One legend for all panels of a figure, as HTML: it wraps where the page is narrow, and its text can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roamcast.show.figures import STATED
from roamcast.show.league import Front
from roamcast.show.markup import Html, joined, tag, trusted
from roamcast.show.palette import INK, PAPER, Look, look
from roamcast.show.panels import Panel

WIDTH, HEIGHT, RADIUS = 34, 14, 4.4
"""Of a sample of a line with its marker, in pixels."""
ALONE = 16
"""The width of a marker without a line."""


def of_panels(panels: Sequence[Panel]) -> Html | None:
    """Of panels that `together` has given common looks. None where there is nothing to distinguish."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        groups.setdefault(panel.key, []).append(panel)
    drawn = [_group(key, members) for key, members in groups.items()]
    shown = [each for each in drawn if each is not None]
    return joined(shown) if shown else None


def of_fronts(fronts: Sequence[Front]) -> Html | None:
    names = list(dict.fromkeys(entrant.name for front in fronts for entrant in front.entrants))
    return _legend("", [(sample(look(k), line=False), name) for k, name in enumerate(names)]) if names else None


def _group(key: str, panels: Sequence[Panel]) -> Html | None:
    names = list(dict.fromkeys(series.name for panel in panels for series in panel.series))
    line = any(not panel.categories for panel in panels)
    entries = [(sample(look(panels[0].place(name)), line), name) for name in names]
    if any(panel.marks for panel in panels):
        entries.append((_star(), STATED))
    return _legend(key, entries) if len(entries) > 1 else None


def _legend(key: str, entries: Sequence[tuple[Html, str]]) -> Html:
    title = tag("li", f"{key}:", class_="soft") if key else None
    return tag("ul", title, [tag("li", drawing, name) for drawing, name in entries], class_="legend")


def sample(style: Look, line: bool) -> Html:
    """A piece of a line, with its marker in the middle."""
    colour = _in_page(style.colour)
    stroke = ""
    if line:
        dashes = f' stroke-dasharray="{_dashes(style)}"' if style.line != "-" else ""
        stroke = f'<path d="M1 {HEIGHT / 2}H{WIDTH - 1}" stroke="{colour}" stroke-width="2" fill="none"{dashes}/>'
    return _drawing(stroke + f'<path d="{_outline(style.marker)}" fill="{colour}"/>', WIDTH if line else ALONE)


def _star() -> Html:
    shape = f'<path d="{_outline("*", 7.5)}" fill="{_in_page(PAPER)}" stroke="{_in_page(INK)}" stroke-width="1.4"/>'
    return _drawing(shape, ALONE)


def _drawing(content: str, width: int) -> Html:
    box = f'width="{width}" height="{HEIGHT}" viewBox="{(WIDTH - width) / 2:g} 0 {width} {HEIGHT}"'
    return trusted(f'<svg {box} aria-hidden="true">{content}</svg>')


def _in_page(colour: str) -> str:
    return {INK: "currentColor", PAPER: "var(--paper)"}.get(colour, colour)


def _dashes(style: Look) -> str:
    named = {"--": (7, 3), "-.": (8, 2.5, 2, 2.5), ":": (2, 2.5)}
    lengths = named[style.line] if isinstance(style.line, str) else [2 * part for part in style.line[1]]
    return " ".join(f"{length:g}" for length in lengths)


def _outline(marker: str, radius: float = RADIUS) -> str:
    """Matplotlib's marker as a path, so that the legend shows what the panels show."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(marker)
    outline = style.get_path().transformed(style.get_transform())
    polygons: Any = outline.to_polygons(closed_only=True)
    most = max(float(abs(polygon).max()) for polygon in polygons)
    parts = []
    for polygon in polygons:
        points = [(WIDTH / 2 + radius * x / most, HEIGHT / 2 - radius * y / most) for x, y in polygon]
        parts.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z")
    return "".join(parts)
