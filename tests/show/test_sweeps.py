"""Figures of settings: every metric, no silent averages, and the same axes beside each other."""

from __future__ import annotations

from itertools import product
from typing import Any

from roamcast.show import cells
from roamcast.show.sweeps import MOST_LINES, MOST_TOGETHER, Sweep, metrics, sweeps
from tests.show.made_up import row

Row = dict[str, Any]


def grid(
    label: str, params: dict[str, list[str]], world: dict[str, list[str]] | None = None, first: int = 0
) -> list[Row]:
    """Two runs in each cell; delivery is a function of the cell, so that a mean of two cells would show."""
    rows: list[Row] = []
    worlds = [dict(zip(world or {}, values, strict=True)) for values in product(*(world or {}).values())]
    chosen = [dict(zip(params, values, strict=True)) for values in product(*params.values())]
    for k, (there, given) in enumerate(product(worlds, chosen), first):
        for seed in (1, 2):
            known = {"delivery": 0.01 * k, "overhead": 2.0 + k, "latency_p50_s": 0.05}
            rows.append(row(label, k, seed, params=given, world=there, **known))
    return rows


def drawn(rows: list[Row]) -> dict[str, Sweep]:
    return {sweep.setting: sweep for sweep in sweeps(rows, cells.compare(cells.distinct(rows)))}


def test_each_setting_with_several_values_has_a_figure_of_each_metric() -> None:
    figures = drawn(grid("gossip", {"p": ["0.3", "1.0"]}, {"nodes": ["50", "100"], "duration_s": ["30"]}))
    assert list(figures) == ["nodes", "p"]
    assert list(figures["p"].panels) == ["delivery", "overhead", "latency_p50_s"]  # the others are unknown or 0
    (latency,) = figures["p"].panels["latency_p50_s"]
    assert latency.y_label == "latency [ms]" and latency.series[0].points[0].mean == 50.0


def test_a_line_is_a_combination_of_the_others_and_a_point_one_cell() -> None:
    figures = drawn(grid("a", {"p": ["0.3", "1.0"], "q": ["x", "y"]}, {"nodes": ["50", "100"]}))
    (panel,) = figures["p"].panels["delivery"]
    assert (panel.key, panel.title) == ("nodes, q", "")
    assert [series.name for series in panel.series] == ["50, x", "50, y", "100, x", "100, y"]
    assert all(p.runs == 2 and p.half == 0.0 for series in panel.series for p in series.points)
    assert [p.x for p in panel.series[0].points] == [0.3, 1.0]


def test_protocols_with_lines_of_their_own_stand_beside_each_other_with_one_axis() -> None:
    world = {"nodes": ["50", "100"]}
    rows = grid("gossip", {"p": ["0.3", "1.0"]}, world)
    rows += grid("proximity", {"credits": ["0", "1", "2"]}, world, first=20)
    figures = drawn(rows)
    panels = figures["nodes"].panels["overhead"]
    assert [(panel.title, panel.key, len(panel.series)) for panel in panels] == [
        ("gossip", "p", 2),
        ("proximity", "credits", 3),
    ]
    assert panels[0].top == panels[1].top > 27.0
    assert [panel.title for panel in figures["credits"].panels["delivery"]] == ["proximity"]


def test_protocols_with_one_line_each_share_a_panel_up_to_a_number() -> None:
    world = {"nodes": ["50", "100"]}
    few = [each for k in range(3) for each in grid(f"p{k}", {}, world, first=10 * k)]
    (panel,) = drawn(few)["nodes"].panels["overhead"]
    assert [series.name for series in panel.series] == ["p0", "p1", "p2"]
    many = [each for k in range(MOST_TOGETHER + 1) for each in grid(f"p{k}", {}, world, first=10 * k)]
    assert [len(panel.series) for panel in drawn(many)["nodes"].panels["overhead"]] == [MOST_TOGETHER, 1]


def test_too_many_combinations_are_held_at_a_middle_value_and_the_page_says_so() -> None:
    figures = drawn(grid("a", {"p": ["1", "2"], "q": ["1", "2", "3"], "r": ["4", "5", "6"]}))
    (panel,) = figures["p"].panels["overhead"]
    assert figures["p"].held == {"a": "r = 5"}
    assert panel.key == "q" and [series.name for series in panel.series] == ["1", "2", "3"]
    assert {p.runs for series in panel.series for p in series.points} == {2}
    assert figures["r"].held == {} and figures["r"].panels["overhead"][0].key == "p, q"


def test_of_too_many_values_some_are_shown_first_and_last_among_them() -> None:
    figures = drawn(grid("a", {"p": ["1", "2"], "q": [str(k) for k in range(20)]}))
    (panel,) = figures["p"].panels["overhead"]
    names = [series.name for series in panel.series]
    assert len(names) == MOST_LINES and (names[0], names[-1]) == ("0", "19")
    assert figures["p"].held == {"a": f"{MOST_LINES} of 20 values of q"}


def test_settings_that_change_together_have_one_figure() -> None:
    rows = grid("a", {"p": ["1", "2"]}, {"nodes": ["50"], "width_m": ["100.0"]})
    rows += grid("a", {"p": ["1", "2"]}, {"nodes": ["200"], "width_m": ["200.0"]}, first=10)
    figures = drawn(rows)
    assert list(figures) == ["nodes", "p"]
    assert figures["nodes"].tied == ["width_m"]
    (panel,) = figures["nodes"].panels["overhead"]
    assert panel.key == "p" and [len(series.points) for series in panel.series] == [2, 2]


def test_texts_and_truth_values_are_categories() -> None:
    rows = grid("a", {"own": ["true", "false"]}, {"mobility": ["static", "waypoint"]})
    figures = drawn(rows)
    assert figures["own"].panels["delivery"][0].categories == ["true", "false"]
    assert figures["mobility"].panels["delivery"][0].categories == ["static", "waypoint"]


def test_values_of_several_magnitudes_have_a_logarithmic_axis() -> None:
    panels = drawn(grid("a", {}, {"nodes": ["10", "100", "1000"]}))["nodes"].panels
    assert panels["delivery"][0].log_x
    assert not drawn(grid("a", {}, {"nodes": ["10", "20", "30"]}))["nodes"].panels["delivery"][0].log_x


def test_shares_are_seen_against_the_whole() -> None:
    rows = grid("a", {"p": ["1", "2"]})
    for each in rows:
        each["delivery"] = 0.9
    (panel,) = drawn(rows)["p"].panels["delivery"]
    assert panel.top == 1.04


def test_nothing_varies_and_nothing_is_drawn() -> None:
    assert drawn(grid("a", {"p": ["1"]}) + grid("b", {"p": ["2"]}, first=1)) == {}


def test_of_many_figures_only_delivery_and_costs_are_drawn() -> None:
    rows = grid("a", {f"p{k}": ["1", "2"] for k in range(2)})
    assert len(metrics(cells.compare(rows))) == 7
    labels = [each for k in range(7) for each in grid(f"l{k}", {"p": ["1", "2"], "q": ["1", "2"]}, first=10 * k)]
    assert [m.name for m in metrics(cells.compare(labels))] == ["delivery", "overhead", "latency_p50_s", "energy_j"]
