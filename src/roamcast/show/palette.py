"""Markers that people can distinguish in colour, without seeing colours, and on a grey printer.

The colours are Okabe and Ito's, those first that stand out best from white and from black; each comes with a marker
and a line style of its own, and two series that share a colour never share a marker.
"""

from __future__ import annotations

import msgspec

INK = "#1b1f24"
"""Text, axes and the first series. The page replaces it by its own colour of text, which is light in the dark."""
PAPER = "#ffffff"
COLOURS = (INK, "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX<>ph8d"
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


class Look(msgspec.Struct, frozen=True):
    colour: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]


def look(k: int) -> Look:
    """Of the k-th series."""
    return Look(COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)], LINES[k % len(LINES)])
