"""From rows to series: means, intervals, levels, categories, published values."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest
from scipy.stats import t

from roamcast.errors import NoData
from roamcast.papers.experiments import Plot, Stated
from roamcast.show.panels import Panel, panel
from tests.show.made_up import row


def plotted(rows: list[dict[str, Any]], **changes: Any) -> Panel:
    known: dict[str, Any] = {"x": "p", "y": "delivery", "x_label": "probability", "y_label": "share"}
    return panel(Plot(**(known | changes)), rows)


def runs(label: str, cell: int, values: list[float], **params: str) -> list[dict[str, Any]]:
    return [row(label, cell, seed, delivery=v, params=params) for seed, v in enumerate(values, 1)]


def test_a_point_is_the_mean_with_students_interval() -> None:
    plot = plotted(runs("gossip", 0, [0.2, 0.4, 0.9], p="0.5"))
    (point,) = plot.series[0].points
    assert point.mean == pytest.approx(0.5)
    sd = sqrt((0.09 + 0.01 + 0.16) / 2)
    assert point.half == pytest.approx(t.ppf(0.975, 2) * sd / sqrt(3))
    assert (point.x, point.runs) == (0.5, 3)


def test_one_run_has_no_interval() -> None:
    assert plotted(runs("gossip", 0, [0.2], p="0.5")).series[0].points[0].half is None


def test_points_are_in_the_order_of_x_and_series_in_that_of_the_file() -> None:
    rows = runs("b", 0, [0.1], p="10") + runs("b", 1, [0.2], p="9") + runs("a", 2, [0.3], p="9")
    plot = plotted(rows)
    assert [series.name for series in plot.series] == ["b", "a"]
    assert [point.x for point in plot.series[0].points] == [9.0, 10.0]


def test_a_series_without_the_parameter_is_a_level() -> None:
    plot = plotted(runs("gossip", 0, [0.1, 0.2], p="0.5") + runs("flooding", 1, [0.9, 0.9]))
    assert [series.level for series in plot.series] == [False, True]
    assert plot.series[1].points[0].mean == pytest.approx(0.9)


def test_where_keeps_only_some_cells_and_nothing_left_is_an_error() -> None:
    rows = runs("a", 0, [0.1], p="1", credits="0") + runs("a", 1, [0.7], p="1", credits="2")
    assert plotted(rows, where={"credits": "2"}).series[0].points[0].mean == pytest.approx(0.7)
    with pytest.raises(NoData, match="credits"):
        plotted(rows, where={"credits": "9"})


def test_cells_that_the_plot_does_not_tell_apart_are_averaged_by_seed_and_counted() -> None:
    rows = runs("a", 0, [0.1, 0.2], p="1", credits="0") + runs("a", 1, [0.3, 0.4], p="1", credits="2")
    plot = plotted(rows)
    (point,) = plot.series[0].points
    assert (plot.merged, point.runs) == (2, 2)
    assert point.mean == pytest.approx(0.25)
    assert plotted(rows, series="credits").merged == 1


def test_series_may_be_distinguished_by_a_parameter_with_its_unit() -> None:
    rows = runs("a", 0, [0.1], p="1", beacon_s="2.0") + runs("a", 1, [0.3], p="1", beacon_s="4.0")
    plot = plotted(rows, series="beacon_s", published=[Stated(x=1.0, y=0.5, label="4")])
    assert [series.name for series in plot.series] == ["beacon = 2 s", "beacon = 4 s"]
    assert plot.marks[0].series == 1


def test_rates_are_shown_in_millions() -> None:
    rows = runs("a", 0, [0.1], p="1", rate_bps="1000000") + runs("a", 1, [0.3], p="1", rate_bps="5.5e6")
    assert [series.name for series in plotted(rows, series="rate_bps").series] == [
        "rate = 1 Mbit/s",
        "rate = 5.5 Mbit/s",
    ]


def test_published_values_know_their_series_or_stand_alone() -> None:
    stated = [Stated(x=0.5, y=0.7, label="b"), Stated(x=0.5, y=0.1, label="elsewhere")]
    plot = plotted(runs("a", 0, [0.1], p="1") + runs("b", 1, [0.1], p="1"), published=stated)
    assert [(mark.series, mark.y) for mark in plot.marks] == [(1, 0.7), (None, 0.1)]


def test_an_axis_without_numbers_has_categories_in_the_order_of_the_file() -> None:
    rows = runs("z", 0, [0.1], p="1") + runs("a", 1, [0.2], p="1")
    plot = plotted(rows, x="label", published=[Stated(x="m", y=0.3)])
    assert plot.categories == ["z", "a", "m"]
    assert plot.series[1].points[0].x == "a"


def test_a_point_that_does_not_have_the_metric_is_left_out() -> None:
    rows = [row("a", 0, 1, params={"p": "1"}, overhead=None), row("a", 1, 1, params={"p": "2"}, overhead=3.0)]
    assert [p.x for p in plotted(rows, y="overhead").series[0].points] == [2.0]
    with pytest.raises(NoData, match="overhead"):
        plotted(rows[:1], y="overhead")


def test_quantities_can_be_drawn() -> None:
    rows = [row("a", 0, 1, params={"p": "1"}, frames_by_kind={"event": 300})]
    assert plotted(rows, y="events_sent_per_node").series[0].points[0].mean == 3.0
