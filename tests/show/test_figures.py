"""Drawings: what is in them, how their series are distinguished, and that they are always the same."""

from __future__ import annotations

import io
import itertools
import re
import xml.etree.ElementTree as ET

import matplotlib
import msgspec
import pytest
from PIL import Image

from roamcast.papers.experiments import Plot, Stated
from roamcast.show import cells, distance, figures, legend
from roamcast.show.league import entrants, fronts
from roamcast.show.palette import INK, look
from roamcast.show.panels import Panel, panel, together
from tests.show.made_up import campaign, row

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '"><script>alert(1)</script> $x_1$ <b>&'


@pytest.fixture(scope="module")
def shown() -> Panel:
    rows = campaign("c", ["gossip", "proximity"], [0.1, 0.5, 1.0])
    rows += [row(EVIL, 99, seed, "c", delivery=0.8) for seed in (1, 2)]
    stated = [Stated(x=0.5, y=0.7, label="gossip"), Stated(x=1.0, y=0.2, label="a stranger")]
    plot = Plot(x="p", y="delivery", x_label="probability p", y_label="share", title="100 nodes", published=stated)
    return panel(plot, rows)


@pytest.fixture(scope="module")
def drawn(shown: Panel) -> figures.Drawn:
    return figures.draw(shown)


def texts(svg: bytes) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]


def test_text_is_text_and_as_the_plot_says(drawn: figures.Drawn) -> None:
    labels = texts(drawn.svg)
    for wanted in ("probability p", "share", "100 nodes", "gossip", "proximity", "stated in the paper", "a stranger"):
        assert wanted in labels


def test_labels_are_labels_whatever_signs_they_have(drawn: figures.Drawn) -> None:
    assert EVIL in texts(drawn.svg)
    assert b"<script" not in drawn.svg


def test_the_same_panel_gives_the_same_bytes_and_no_date(shown: Panel, drawn: figures.Drawn) -> None:
    again = figures.draw(shown)
    assert (again.svg, again.png) == (drawn.svg, drawn.png)
    assert b"<dc:date" not in drawn.svg and b"Matplotlib v" not in drawn.svg


def test_drawing_leaves_no_settings_behind(drawn: figures.Drawn) -> None:
    assert matplotlib.rcParams["svg.fonttype"] == matplotlib.rcParamsDefault["svg.fonttype"]


def test_pixels_suffice_for_print(drawn: figures.Drawn) -> None:
    with Image.open(io.BytesIO(drawn.png)) as picture:
        assert picture.width >= 900
        corner = picture.convert("RGB").getpixel((0, 0))
    assert corner == (255, 255, 255)


def test_a_bar_is_as_long_as_the_interval() -> None:
    """Read from the drawing: the ends of the bar against the ticks of the axis."""
    plot = Plot(x="p", y="delivery", x_label="x", y_label="y")
    rows = [row("a", 0, seed, params={"p": "1"}, delivery=v) for seed, v in enumerate([0.55, 0.6, 0.65], 1)]
    made = panel(plot, rows)
    root = ET.fromstring(figures.draw(made).svg)
    ticks = {
        "".join(g.itertext()).strip(): float(next(g.iter(f"{SVG}use")).get("y", "nan"))
        for g in root.iter(f"{SVG}g")
        if g.get("id", "").startswith("ytick")
    }
    bar = next(g for g in root.iter(f"{SVG}g") if g.get("id", "").startswith("LineCollection"))
    words = next(bar.iter(f"{SVG}path")).get("d", "").split()
    low, high = float(words[2]), float(words[5])
    unit = ticks["0.0"] - ticks["1.0"]
    half = made.series[0].points[0].half
    assert half is not None
    assert abs(low - high) / unit == pytest.approx(2 * half, rel=0.01)


def test_series_are_distinguished_without_colour() -> None:
    looks = [look(k) for k in range(13)]
    assert len({(one.colour, one.marker) for one in looks}) == 13
    assert len({one.marker for one in looks}) == 13
    for a, b in itertools.pairwise(looks[:7]):
        assert a.colour != b.colour and a.line != b.line


def test_logarithmic_axes_have_plain_numbers() -> None:
    rows = [row("a", k, 1, params={"p": str(k)}, delivery=10.0**k) for k in range(4)]
    labels = texts(figures.draw(panel(Plot(x="p", y="delivery", x_label="x", y_label="y", log_y=True), rows)).svg)
    assert "100" in labels and not any("$" in text for text in labels)


def test_nothing_has_a_place_on_a_logarithmic_axis() -> None:
    values = [0.0, 3.0, 500.0]
    rows = [row("a", k, 1, params={"p": str(k)}, delivery=value) for k, value in enumerate(values)]
    labels = texts(figures.draw(panel(Plot(x="p", y="delivery", x_label="x", y_label="y", log_y=True), rows)).svg)
    assert {"0", "1", "10", "100"} <= set(labels)


def test_a_front_shows_everybody_and_the_cost() -> None:
    rows = campaign("c", ["a", "b", "c"])
    rows += [row("silent", 9, 1, "c", delivery=0.0, energy_j=1.0)]
    for front in fronts(entrants(rows)):
        words = texts(figures.draw_front(front).svg)
        assert {"a", "b", "c", "silent", front.label, "delivery [share]"} <= set(words)


def test_cells_of_one_name_share_a_marker_and_a_line_of_the_legend() -> None:
    rows = campaign("c", ["a", "b"], [0.1, 0.5, 0.9])
    for front in fronts(entrants(rows)):
        labels = texts(figures.draw_front(front).svg)
        assert (labels.count("a"), labels.count("b")) == (1, 1)


def swept() -> Panel:
    rows = campaign("c", ["gossip", "proximity"], [0.3, 0.6, 1.0])
    made = panel(Plot(x="p", y="delivery", x_label="p", y_label="share"), rows)
    return msgspec.structs.replace(made, small=True, key="what varies", top=1.04)


def test_a_small_panel_has_ticks_where_the_values_are_and_a_title_of_its_legend() -> None:
    labels = texts(figures.draw(swept()).svg)
    assert {"0.3", "0.6", "1", "what varies"} <= set(labels) and "0.4" in labels and "0.5" not in labels


def test_ticks_whose_labels_would_overlap_are_not_where_the_values_are() -> None:
    rows = campaign("c", ["gossip"], [0.000277778, 0.001388889, 0.005555556])
    made = panel(Plot(x="p", y="delivery", x_label="p", y_label="share"), rows)
    shown = ticks(figures.draw(msgspec.structs.replace(made, small=True, top=1.04)).svg, "x")
    assert "0.000278" not in shown and "0.002" in shown


def test_bars_at_one_value_stand_beside_each_other_in_a_small_panel() -> None:
    def places(shown: Panel) -> set[str]:
        root = ET.fromstring(figures.draw(shown).svg)
        (axes,) = [g for g in root.iter(f"{SVG}g") if g.get("id") == "axes_1"]
        bars = [g for g in axes.iter(f"{SVG}g") if g.get("id", "").startswith("LineCollection")]
        return {path.get("d", "").split()[1] for bar in bars for path in bar.iter(f"{SVG}path")}

    assert len(places(swept())) == 6
    assert len(places(msgspec.structs.replace(swept(), small=False))) == 3


def test_panels_beside_each_other_have_the_same_axis() -> None:
    low, high = ([row("a", k, 1, params={"p": str(k)}, delivery=0.1 * v) for k in range(2)] for v in (1, 8))
    axes = []
    for rows in (low, high):
        made = panel(Plot(x="p", y="delivery", x_label="p", y_label="share"), rows)
        ticks = texts(figures.draw(msgspec.structs.replace(made, top=1.04)).svg)
        axes.append([text for text in ticks if re.fullmatch(r"0\.\d|1\.0", text)])
    assert "0.8" in axes[0] and axes[0][-6:] == axes[1][-6:]


def ticks(svg: bytes, axis: str) -> list[str]:
    groups = [g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("id", "").startswith(f"{axis}tick")]
    return ["".join(g.itertext()).strip() for g in groups]


def test_an_axis_of_whole_numbers_has_ticks_at_whole_numbers_only() -> None:
    plot = Plot(x="nodes", y="collisions", x_label="nodes", y_label="collisions [frames]")
    rows = [row("a", k, 1, world={"nodes": str(k)}, collisions=k) for k in (1, 2, 3)]
    drawn = figures.draw(panel(plot, rows)).svg
    for axis in "xy":
        words = ticks(drawn, axis)
        assert words and all(re.fullmatch(r"\d+", text) for text in words)
    parts = [row("a", k, 1, params={"p": str(k / 2)}, delivery=0.5) for k in (1, 2, 3)]
    assert "0.6" in ticks(figures.draw(panel(Plot(x="p", y="delivery", x_label="p", y_label="d"), parts)).svg, "x")


def test_large_numbers_on_axes_are_grouped() -> None:
    plot = Plot(x="nodes", y="frames_sent", x_label="nodes", y_label="frames")
    rows = [row("a", k, 1, world={"nodes": str(1000 * k)}, frames_sent=2_000_000 * k) for k in (1, 2, 3)]
    drawn = figures.draw(panel(plot, rows)).svg
    assert "2,000" in ticks(drawn, "x") and "2,000,000" in ticks(drawn, "y")


def test_panels_of_a_figure_show_a_series_alike_and_have_one_legend() -> None:
    both = campaign("c", ["gossip", "proximity"], [0.1, 0.5])
    plot = Plot(x="p", y="delivery", x_label="p", y_label="delivery")
    only = panel(plot, [each for each in both if each["label"] == "proximity"])
    first, second = together([panel(plot, both), only])
    assert (first.place("proximity"), second.place("proximity"), only.place("proximity")) == (1, 1, 0)
    colour = look(1).colour.lower().encode()
    assert colour in figures.draw(second).svg.lower() and colour not in figures.draw(only).svg.lower()
    shown = legend.of_panels([first, second]) or ""
    assert re.findall(r"</svg>(\w+)</li>", shown) == ["gossip", "proximity"]
    assert legend.of_panels([only]) is None


def test_greek_letters_are_greek_in_the_legend_as_on_the_axis() -> None:
    plot = Plot(x="p", y="delivery", x_label="horizon φ", y_label="delivery", series="phi")
    rows = [row("a", k, 1, params={"p": "1", "phi": str(k)}, delivery=0.5) for k in (1, 2)]
    assert [series.name for series in panel(plot, rows).series] == ["φ = 1", "φ = 2"]
    assert cells.heading("tau_s") == "τ [s]" and cells.heading("speed_max_mps") == "speed max [m/s]"


# ---- in a page


def test_in_a_page_a_drawing_may_lose_its_legend_and_the_room_for_it(drawn: figures.Drawn) -> None:
    whole, less = (ET.fromstring(figures.inline(drawn.svg, "f", "x", legend=keep)) for keep in (True, False))
    texts_of = ["".join(each.itertext()) for each in less.iter(f"{SVG}text")]
    assert "proximity" not in texts_of and {"probability p", "a stranger"} <= set(texts_of)
    before, after = (float(root.get("viewBox", "").split()[3]) for root in (whole, less))
    assert 15 < before - after < 60
    lowest = max(float(each.get("y") or 0) for each in less.iter(f"{SVG}text"))
    assert lowest < after


def test_in_a_page_a_drawing_has_a_name_its_own_ids_and_the_pages_ink(drawn: figures.Drawn) -> None:
    text = figures.inline(drawn.svg, "f1", "what it shows")
    root = ET.fromstring(text)
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert ids and all(id is not None and id.startswith("f1-") for id in ids)
    for each in root.iter():
        link = each.get("{http://www.w3.org/1999/xlink}href", "")
        assert not link or link.removeprefix("#") in ids
    assert (root.get("role"), root.get("aria-label")) == ("img", "what it shows")
    assert INK not in text and "currentColor" in text
    assert root.get("width") is None and root.get("viewBox")
    assert "<style" not in text  # it would hold for the whole page


# ---- Baldoni et al. 2005, Fig. 9


def test_the_distance_of_a_node_rises_from_the_range_and_levels_off() -> None:
    solved, measured = distance.panels()
    assert [series.name for series in solved.series] == ["speed s = 0.2", "speed s = 0.5", "speed s = 0.8"]
    for series in solved.series:
        assert series.points[0].mean == pytest.approx(distance.L)
        assert series.points[-1].mean > 1.4 * distance.L
    early = [series.points[5].mean for series in solved.series]
    assert early == sorted(early)
    seen = measured.series[0].points
    assert 150 <= seen[0].mean < 200 and seen[20].mean > 400 and seen[0].runs > 1000
