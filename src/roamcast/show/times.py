"""How long contacts last and how long pairs are apart, drawn: the share of longer times, with the law that fits best.

There are never empty axes: where nothing was seen, or too little for a distribution, the figure says so in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roamcast.errors import InputError, error_text
from roamcast.extras import need
from roamcast.show.figures import DPI, STYLE, logarithmic
from roamcast.show.fits import Fit, Fitted
from roamcast.show.numbers import number
from roamcast.show.palette import COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE_IN = (9.6, 4.6)
WORDS_IN = (9.6, 1.8)
"""Where nothing is drawn."""
FEW = 10
"""So many times are listed rather than drawn."""
MOST_MARKS = 150
LETTERS = 62
"""In a line below a panel."""


class Times(msgspec.Struct, frozen=True):
    """`title` says what they are times of, `nothing` what it means that there are none."""

    title: str
    x_label: str
    nothing: str
    times: list[tuple[float, int]]
    fitted: Fitted


def write(path: Path, title: str, panels: Sequence[Times]) -> None:
    """As .svg, .png or .pdf; the same times give the same file."""
    need("--figure", "matplotlib")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=WORDS_IN if all(map(_is_few, panels)) else SIZE_IN, layout="constrained")
        _draw(figure, title, panels)
        undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
        try:
            figure.savefig(path, dpi=DPI, metadata=undated)
        except OSError as error:
            raise InputError(f"--figure {path}: cannot be written ({error_text(error)})") from None


def _draw(figure: Figure, title: str, panels: Sequence[Times]) -> None:
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    for axes, shown in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set_title(f"{shown.title} (n = {_count(shown):,})")
        if _is_few(shown):
            _say(axes, shown)
        else:
            _draw_times(axes, shown)


def _is_few(shown: Times) -> bool:
    return _count(shown) <= FEW or len(shown.times) < 2


def _count(shown: Times) -> int:
    return sum(count for _, count in shown.times)


# ---- few


def _say(axes: Axes, shown: Times) -> None:
    """In words, in the middle of where the axes would be."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, in_words(shown), ha="center", va="center", wrap=True, transform=axes.transAxes, fontsize=10)


def in_words(shown: Times) -> str:
    if not shown.times:
        return shown.nothing
    listed = [f"{count} × {number(value)} s" if count > 1 else f"{number(value)} s" for value, count in shown.times]
    return f"Too few for a distribution:\n{', '.join(listed[:FEW])}{', …' if listed[FEW:] else ''}"


# ---- many


def _draw_times(axes: Axes, shown: Times) -> None:
    xs, ys = _longer(shown.times)
    every = max(1, len(xs) // MOST_MARKS)
    axes.plot(xs, ys, ls="none", marker="o", ms=3.5, color=COLOURS[1], label="measured", markevery=every, zorder=3)
    for fit in shown.fitted.fits[:1]:
        axes.plot(*_curve(fit, min(ys)), color=COLOURS[2], lw=1.8, label=f"{fit.law}: best", zorder=4)
    for fit in shown.fitted.fits[1:2]:
        axes.plot(*_curve(fit, min(ys)), color=INK, lw=1.0, ls="--", alpha=0.7, label=f"{fit.law}: next", zorder=2)
    axes.set_ylabel("at least that long [share]")
    axes.set_xlabel(f"{shown.x_label} [s]\n\n{_broken(shown.fitted.words)}")
    logarithmic(axes, "x", list(xs))
    logarithmic(axes, "y", list(ys))
    axes.set_ylim(min(ys) / 1.6, 1.3)
    axes.legend(loc="lower left")


def _longer(times: Sequence[tuple[float, int]]) -> tuple[list[float], list[float]]:
    """The share of times that are at least as long: the longest has a place on a logarithmic axis too."""
    left = total = sum(count for _, count in times)
    xs, ys = [], []
    for value, count in times:
        if value > 0:
            xs.append(value)
            ys.append(left / total)
        left -= count
    return xs, ys


def _curve(fit: Fit, least: float) -> tuple[list[float], list[float]]:
    """As far as there are times to compare it with."""
    shown = [(x, share) for x, share in fit.at_least if share >= least / 1.6]
    return [x for x, _ in shown], [y for _, y in shown]


def _broken(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, LETTERS, break_on_hyphens=False))
