"""How panels are drawn: SVG for pages and print, PNG for slides; the same panel gives the same bytes.

In SVG, text stays text: it can be searched, read aloud, and takes the font of the page around it. Means have bars of
their 95 % interval; values that the paper states are large open stars in the colour of the series they belong to.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from roamcast.extras import need
from roamcast.show.league import Front
from roamcast.show.numbers import plain
from roamcast.show.palette import INK, PAPER, look
from roamcast.show.panels import Panel, Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SIZE_IN = (4.8, 3.5)
SMALL_SIZE_IN = (3.7, 3.1)
"""Of what stands three in a row."""
LETTER = 0.035
"""How much of the range of x values a letter below a small panel takes."""
LEGEND_ROW_IN = 0.19
DPI = 200
STATED = "stated in the paper"
LEGEND = "legend-"
"""In a file, what the group of a legend is called, before its height in points."""
STYLE: dict[str, Any] = {
    "svg.hashsalt": "roamcast",  # ids in the file depend on what is drawn, not on when
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#8a929c",
    "grid.alpha": 0.28,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.4,
    "lines.markersize": 5.0,
    "lines.linewidth": 1.5,
    "text.parse_math": False,  # a label is a label, whatever signs it has
    "text.usetex": False,
}


class Drawn(msgspec.Struct, frozen=True):
    svg: bytes
    png: bytes


def draw(panel: Panel) -> Drawn:
    labels = [*(series.name for series in panel.series), *([STATED] if panel.marks else [])]
    return _drawn(lambda figure: _draw_panel(figure, panel), _size_in(panel), labels, panel.key)


def draw_front(front: Front) -> Drawn:
    labels = list(dict.fromkeys(entrant.name for entrant in front.entrants))
    return _drawn(lambda figure: _draw_front(figure, front), SMALL_SIZE_IN, labels)


def plotted(panel: Panel) -> Axes:
    """As a figure of pyplot, which a notebook shows and a script can go on with."""
    need("a figure", "matplotlib")
    import matplotlib.pyplot as plt

    # Outside the context: the first figure loads the backend of a notebook, which changes settings for good.
    figure = plt.figure(figsize=SIZE_IN, layout="constrained")
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        _draw_panel(figure, panel)
    return figure.axes[0]


# ---- a panel


def _size_in(panel: Panel) -> tuple[float, float]:
    return SMALL_SIZE_IN if panel.small else SIZE_IN


def _draw_panel(figure: Figure, panel: Panel) -> None:
    axes = figure.subplots()
    places = {name: float(k) for k, name in enumerate(panel.categories)}
    for k, series in enumerate(panel.series):
        _draw_series(axes, series, k, places, panel)
    for mark in panel.marks:
        colour = INK if mark.series is None else look(panel.place(panel.series[mark.series].name)).colour
        x = places[str(mark.x)] if places else float(mark.x)
        axes.plot([x], [mark.y], ls="none", marker="*", ms=13, mfc=PAPER, mec=colour, mew=1.4, zorder=5, clip_on=False)
        if mark.series is None and mark.label:
            axes.annotate(mark.label, (x, mark.y), (7, 5), textcoords="offset points", fontsize=8)
    if places:
        crowded = max(map(len, places)) * len(places) > 44
        turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axes.set_xticks(list(places.values()), list(places), **turned)
        axes.set_xlim(-0.5, len(places) - 0.5)
    else:
        _mark_values(axes, panel)
    _label(axes, panel)
    _legend(figure, axes, panel)


def _draw_series(axes: Axes, series: Series, k: int, places: dict[str, float], panel: Panel) -> None:
    style = look(panel.place(series.name))
    if series.level:
        at = series.points[0]
        axes.axhline(at.mean, color=style.colour, ls=style.line, label=series.name, zorder=2)
        if at.half:
            axes.axhspan(at.mean - at.half, at.mean + at.half, color=style.colour, alpha=0.12, lw=0, zorder=1)
        return
    xs = [places[str(p.x)] if places else float(p.x or 0.0) for p in series.points]
    ys = [p.mean for p in series.points]
    line = "none" if places else style.line
    if panel.smooth:
        every = max(1, len(xs) // 12)
        axes.plot(xs, ys, color=style.colour, ls=line, marker=style.marker, markevery=every, label=series.name)
        return
    if len(panel.series) > 1:  # side by side, so that bars do not hide each other
        room = 0.5 if places else _room(panel)
        xs = [x + room * ((k + 0.5) / len(panel.series) - 0.5) for x in xs]
    bars = [_bar(p) for p in series.points]
    axes.errorbar(
        xs,
        ys,
        yerr=bars,
        color=style.colour,
        ls=line,
        marker=style.marker,
        mfc=style.colour,
        mec=style.colour,
        capsize=2.5,
        elinewidth=1.0,
        capthick=1.0,
        label=series.name,
        zorder=3,
    )


def _numbers(panel: Panel) -> list[float]:
    """The values on the x axis."""
    return sorted({p.x for series in panel.series for p in series.points if isinstance(p.x, float)})


def _room(panel: Panel) -> float:
    """For the series at one value of x. Of small panels only: those of the papers are drawn as the papers have them."""
    xs = _numbers(panel)
    return 0.08 * (xs[-1] - xs[0]) if panel.small and not panel.log_x else 0.0


def _mark_values(axes: Axes, panel: Panel) -> None:
    """Ticks where the values are, if they are few and not crowded."""
    xs = _numbers(panel)
    if not panel.small or panel.log_x or not 1 < len(xs) <= 6:
        return
    labels = [plain(x if abs(x) >= 1.0 else float(f"{x:.3g}")) for x in xs]
    letters = max(len(a) + len(b) for a, b in pairwise(labels)) / 2
    if min(b - a for a, b in pairwise(xs)) >= max(0.1, LETTER * letters) * (xs[-1] - xs[0]):
        axes.set_xticks(xs, labels)


def _bar(point: Point) -> float:
    return point.half if point.half is not None else 0.0


def _label(axes: Axes, panel: Panel) -> None:
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title)
    values = [p.mean for series in panel.series for p in series.points] + [mark.y for mark in panel.marks]
    if panel.log_x:
        logarithmic(axes, "x", _numbers(panel))
    elif not panel.categories:
        xs = _numbers(panel)
        _linear(axes.xaxis, whole=bool(xs) and all(x.is_integer() for x in xs) and xs[-1] - xs[0] > 1)
    if not panel.log_y:
        _linear(axes.yaxis, whole=panel.counted)
    if panel.log_y:
        logarithmic(axes, "y", values)
        return
    if panel.top:
        axes.set_ylim(0, panel.top)
        return
    if min(values) >= 0:
        axes.set_ylim(bottom=0)
    if all(0 <= v <= 1 for v in values) and max(values) > 0.5:
        axes.set_ylim(0, 1.04)  # a share: the whole of it is what it is seen against


def _linear(axis: Axis, whole: bool) -> None:
    """Ticks with commas between thousands, and only whole numbers where there are no others."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, ScalarFormatter

    if isinstance(axis.get_major_locator(), FixedLocator):
        return
    if whole:
        axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    texts = ScalarFormatter(useOffset=False)
    texts.set_scientific(False)
    texts.set_axis(axis)

    def written(value: float, place: int | None) -> str:
        texts.set_locs(list(axis.get_majorticklocs()))  # all ticks have as many decimals as one of them needs
        return plain(value) if abs(value) >= 1000 else texts(value, place)

    axis.set_major_formatter(FuncFormatter(written))


def _legend(figure: Figure, axes: Axes, panel: Panel) -> None:
    by_label = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    labels = [name for name in dict.fromkeys(series.name for series in panel.series) if name in by_label]
    handles = [by_label[name] for name in labels]  # in the order of the file: matplotlib has lines before bars
    if panel.marks:
        (published,) = axes.plot([], [], ls="none", marker="*", ms=11, mfc=PAPER, mec=INK, mew=1.2)
        handles, labels = [*handles, published], [*labels, STATED]
    if len(handles) > 1:
        columns = _columns(labels, _size_in(panel)[0])
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=panel.key or None)
        legend.get_title().set_fontsize(STYLE["legend.fontsize"])


def _columns(labels: list[str], width_in: float) -> int:
    """As many as fit, at about a fourteenth of an inch a letter."""
    widest = max(map(len, labels))
    return max(1, min(len(labels), 3, int(width_in / (0.072 * widest + 0.42))))


# ---- a front


def _draw_front(figure: Figure, front: Front) -> None:
    axes = figure.subplots()
    names = list(dict.fromkeys(entrant.name for entrant in front.entrants))
    leaders = {front.entrants[k].name for k in front.best}
    for k, name in enumerate(names):
        style = look(k)
        face = style.colour if name in leaders else "none"
        axes.plot([], [], ls="none", marker=style.marker, ms=6, color=style.colour, mfc=face, label=name)
    for k, entrant in enumerate(front.entrants):
        style = look(names.index(entrant.name))
        cost, benefit = entrant.of(front.cost), entrant.of("delivery")
        if cost is None or benefit is None:
            continue
        best = k in front.best
        axes.errorbar(
            [cost.mean * front.factor],
            [benefit.mean],
            xerr=[(cost.half or 0.0) * front.factor],
            yerr=[benefit.half or 0.0],
            ls="none",
            marker=style.marker,
            ms=7 if best else 5.5,
            color=style.colour,
            mfc=style.colour if best else "none",
            elinewidth=0.8,
            zorder=4 if best else 3,
        )
    _draw_staircase(axes, front)
    axes.set_xlabel(front.label)
    axes.set_ylabel("delivery [share]")
    axes.set_ylim(0, 1.04)
    _frame(axes, front)
    handles, labels = axes.get_legend_handles_labels()
    columns = _columns(labels, SMALL_SIZE_IN[0])
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, columnspacing=1.0, handlelength=1.4)


def _frame(axes: Axes, front: Front) -> None:
    """Around the means: an interval of two runs can be longer than all that there is to see."""
    costs = [e.means[front.cost].mean * front.factor for e in front.entrants if e.of(front.cost)]
    low, high = min(costs), max(costs)
    if front.log and low > 0:
        axes.set_xlim(low / 1.6, high * 1.6)
        logarithmic(axes, "x", costs)
        return
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    axes.set_xlim(low - margin, high + margin)
    axes.locator_params(axis="x", nbins=4)
    _linear(axes.xaxis, whole=False)


def logarithmic(axes: Axes, which: Literal["x", "y"], values: list[float]) -> None:
    """With plain numbers: powers would be set as mathematics, which labels are not. Nothing at all has a place too."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if min(values) > 0 or max(values) <= 0:
        axes.set(**{f"{which}scale": "log"})
    else:
        least = min(value for value in values if value > 0)
        getattr(axes, f"set_{which}scale")("symlog", linthresh=10.0 ** floor(log10(least)), linscale=0.5)
        axes.set(**{f"{which}lim": (0, None)})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    few = low > 0 and high / low < 30  # then whole powers of ten alone would say little
    axis.set_minor_formatter(FuncFormatter(_minor) if few else NullFormatter())


def _minor(value: float, _: int | None) -> str:
    return plain(value) if f"{value:g}".strip("0.")[:1] in ("2", "5") else ""


def _draw_staircase(axes: Axes, front: Front) -> None:
    """What is best: more delivery costs at least this."""
    corners = front.corners()
    if corners:
        xs, ys = zip(*corners, strict=True)
        axes.plot(xs, ys, drawstyle="steps-post", color=INK, lw=1.0, ls=(0, (1, 1.5)), alpha=0.8, zorder=2)


# ---- files


def _drawn(
    draw_into: Callable[[Figure], None], size_in: tuple[float, float], labels: list[str], key: str = ""
) -> Drawn:
    need("a figure", "matplotlib")
    import matplotlib
    from matplotlib.figure import Figure

    width, height = size_in
    rows = -(-len(labels) // _columns(labels, width)) + bool(key)
    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(width, height + LEGEND_ROW_IN * rows), layout="constrained")
        draw_into(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # everything has its place now: no need to find it again for each file
        for legend in figure.legends:
            legend.set_gid(f"{LEGEND}{legend.get_window_extent().height * 72 / figure.dpi:.1f}")
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        figure.savefig(png, format="png", dpi=DPI, facecolor=PAPER, metadata={"Software": None})
    return Drawn(svg.getvalue(), png.getvalue())


# ---- in a page

_UNNEEDED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<(metadata|style)\b.*?</\1>|<!--.*?-->", re.DOTALL)
_SIZE = re.compile(r'(<svg\b[^>]*?) width="[^"]*"')
_HEIGHT = re.compile(r'(<svg\b[^>]*?) height="[^"]*"')
_BREAKS = re.compile(r"\n\s*")


def inline(svg: bytes, prefix: str, title: str, legend: bool = True) -> str:
    """As a part of a page: named, its ids its own, as wide as there is room, ink in the page's colour.

    `title` must be escaped already. Without its legend, where several have one in common.
    """
    text = _BREAKS.sub(" ", _UNNEEDED.sub("", svg.decode()))
    text = text if legend else _without_legend(text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", text))
    text = text.replace(INK, "currentColor").replace(PAPER, "var(--paper)").strip()
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


_GROUP = re.compile(r"<g\b[^>]*>|</g>")
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def _without_legend(text: str) -> str:
    """It is the lowest part of the drawing."""
    legend = re.search(rf'<g id="{LEGEND}([\d.]+)">', text)
    if legend is None:
        return text
    depth = 0
    for group in _GROUP.finditer(text, legend.start()):
        depth += -1 if group[0] == "</g>" else not group[0].endswith("/>")
        if depth == 0:
            text = text[: legend.start()] + text[group.end() :]
            break
    return _BOX.sub(lambda box: f'viewBox="0 0 {box[1]} {float(box[2]) - float(legend[1]):g}"', text, count=1)
