"""Each kind of check, on invented runs for which the answer is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from roamcast.errors import InputError
from roamcast.judging import settings
from roamcast.judging.answers import jackknife
from roamcast.judging.checks import answers, counted_as
from roamcast.judging.quantities import value
from roamcast.judging.runs import selected
from roamcast.judging.student import interval

SEEDS = range(1, 11)


def runs(label: str, of: Callable[[int], float], metric: str = "delivery", **where: Any) -> list[dict[str, Any]]:
    """One run for each seed, with the metric `of(seed)`."""
    return [
        {
            "campaign": "x",
            "preset": "p",
            "protocol": label,
            "label": label,
            **settings.columns(where, {}),
            "seed": seed,
            "nodes": 100,
            "frames_by_kind": {"event": 30, "beacon": 10},
            "frames_sent": 40,
            "delivery": None,
            "overhead": None,
            metric: of(seed),
        }
        for seed in SEEDS
    ]


def noise(seed: int, scale: float = 0.01) -> float:
    return float(np.random.default_rng(seed).normal(0.0, scale))


def world(seed: int) -> float:
    """The part that all runs of a seed have in common: much larger than the differences in question."""
    return float(np.random.default_rng(1000 + seed).normal(0.0, 0.2))


def holds(rows: list[dict[str, Any]], **spec: Any) -> list[bool | None]:
    return [answer.holds for answer in answers({"metric": "delivery", **spec}, rows)]


def test_a_value_holds_inside_its_tolerance_fails_outside_and_is_undecided_across_its_limit() -> None:
    rows = runs("a", lambda s: 0.70 + noise(s))
    assert holds(rows, kind="value", where={"label": "a"}, value=0.72, abs=0.05) == [True]
    assert holds(rows, kind="value", where={"label": "a"}, value=0.80, abs=0.05) == [False]
    assert holds(rows, kind="value", where={"label": "a"}, value=0.75, abs=0.05) == [None]
    assert holds(rows, kind="value", where={"label": "a"}, value=0.5, rel=0.5) == [True]
    assert holds(rows, kind="value", where={"label": "a"}, value=0.5, rel=0.3) == [False]


def test_at_least_and_at_most_allow_their_tolerance() -> None:
    rows = runs("a", lambda s: 0.70 + noise(s))
    for kind, sign in (("at_least", 1), ("at_most", -1)):
        assert holds(rows, kind=kind, where={}, value=0.7 - sign * 0.1) == [True]
        assert holds(rows, kind=kind, where={}, value=0.7 + sign * 0.1) == [False]
        assert holds(rows, kind=kind, where={}, value=0.7 + sign * 0.1, abs=0.15) == [True]


def test_orders_are_checked_seed_by_seed() -> None:
    """The two differ by far less than worlds do: without pairing, the order could not be decided."""
    rows = runs("a", lambda s: 0.50 + world(s)) + runs("b", lambda s: 0.52 + world(s) + noise(s))
    assert holds(rows, kind="order", above={"label": "b"}, below={"label": "a"}) == [True]
    assert holds(rows, kind="order", above={"label": "a"}, below={"label": "b"}) == [False]
    assert holds(rows, kind="equal", of={"label": "a"}, to={"label": "b"}, abs=0.05) == [True]
    assert holds(rows, kind="equal", of={"label": "a"}, to={"label": "b"}, abs=0.005) == [False]


def test_an_order_across_an_axis_is_checked_at_every_point() -> None:
    rows = []
    for x in (1, 2):
        rows += runs("a", lambda s: 0.5 + noise(s, 0.001), speed=x)
        rows += runs("b", lambda s, x=x: 0.5 + (0.1 if x == 1 else -0.1) + noise(s + 50, 0.001), speed=x)
    assert holds(rows, kind="order", above={"label": "b"}, below={"label": "a"}, across="speed") == [True, False]


def test_an_order_by_a_factor() -> None:
    rows = runs("a", lambda s: 1.0 + noise(s)) + runs("b", lambda s: 2.5 + noise(s))
    assert holds(rows, kind="order", above={"label": "b"}, below={"label": "a"}, factor=2) == [True]
    assert holds(rows, kind="order", above={"label": "b"}, below={"label": "a"}, factor=3) == [False]


def test_ratios_are_of_means() -> None:
    rows = runs("a", lambda s: 3.0 + noise(s)) + runs("b", lambda s: 1.0 + noise(s + 99))
    assert holds(rows, kind="ratio", of={"label": "a"}, to={"label": "b"}, low=2.8, high=3.2) == [True]
    assert holds(rows, kind="ratio", of={"label": "a"}, to={"label": "b"}, low=3.3, high=4) == [False]
    nothing = runs("a", lambda _: 3.0) + runs("b", lambda _: 0.0)
    assert holds(nothing, kind="ratio", of={"label": "a"}, to={"label": "b"}, low=1) == [None]


def test_a_ratio_across_an_axis_is_checked_at_every_point() -> None:
    rows = []
    for x, times in ((1, 3.0), (2, 5.0)):
        rows += runs("a", lambda s, x=x, times=times: x * times * (1 + noise(s)), speed=x)
        rows += runs("b", lambda _, x=x: x, speed=x)
    rows += runs("a", lambda _: 99.0, speed=7)
    all_answers = answers(
        {"kind": "ratio", "of": {"label": "a"}, "to": {"label": "b"}, "metric": "delivery", "low": 2.5, "high": 3.5}
        | {"across": "speed"},
        rows,
    )
    assert [(answer.holds, answer.asks) for answer in all_answers] == [
        (True, "delivery of a over that of b at speed=1"),
        (False, "delivery of a over that of b at speed=2"),
    ]


def test_more_questions_widen_the_interval_of_each() -> None:
    rows = []
    for x in (1, 2, 3):
        rows += runs("a", lambda s, x=x: 2.0 + noise(s * x), speed=x) + runs("b", lambda _: 1.0, speed=x)
    spec = {"kind": "ratio", "of": {"label": "a"}, "to": {"label": "b"}, "metric": "delivery", "low": 1, "high": 3}
    alone = answers(spec | {"of": {"label": "a", "speed": 1}, "to": {"label": "b", "speed": 1}}, rows)[0]
    among = answers(spec | {"across": "speed"}, rows)[0]
    assert among.measured == alone.measured
    assert among.high > alone.high


def test_a_spread_is_of_blocks_of_seeds() -> None:
    """Ten seeds: 1 to 5 differ by 0.4, and so do 6 to 10; all of them together differ by 0.9."""
    rows = runs("a", lambda s: 0.1 * ((s - 1) % 5) + (0.5 if s > 5 else 0.0) + noise(s, 1e-4))
    spread = {"kind": "spread", "where": {"label": "a"}, "block": 5}
    assert holds(rows, **spread, value=0.4, abs=0.05) == [True]
    assert holds(rows, **spread, value=0.9, abs=0.05) == [False]
    assert holds(rows, **{**spread, "block": 10}, value=0.9, abs=0.05) == [None]  # one block has no interval
    assert holds(rows, **{**spread, "block": 11}, value=0.9, abs=0.05) == [None]
    first = rows[:9]  # an incomplete block does not count
    answer = answers({**spread, "metric": "delivery", "value": 0.4, "abs": 0.05}, first)[0]
    assert (answer.holds, answer.measured) == (None, pytest.approx(0.4, abs=0.001))


def test_a_spread_may_be_of_the_seeds_that_share_a_coordinate() -> None:
    rows = [
        run
        for traffic, width in ((1, 0.3), (2, 0.5))
        for run in runs("a", lambda s, width=width: 0.2 + width * (s - 1) / 9, traffic_seed=traffic)
    ]
    spread = {"kind": "spread", "where": {"label": "a"}, "by": "traffic_seed", "metric": "delivery"}
    (answer,) = answers({**spread, "value": 0.4, "abs": 2.0}, rows)
    assert (answer.holds, answer.measured, answer.seeds) == (True, pytest.approx(0.4), 2)
    assert (
        answers({**spread, "value": 0.9, "abs": 0.1}, [row for row in rows if row["p_traffic_seed"] == 1])[0].holds
        is None
    )  # one traffic has no interval


def test_a_spread_may_be_of_the_means_of_those_that_share_another_coordinate() -> None:
    """Seeds differ by 1, the two groups of each traffic by 0.3 and 0.5."""
    rows = [
        run
        for traffic, width in ((1, 0.3), (2, 0.5))
        for route, extra in ((1, 0.0), (2, width))
        for run in runs("a", lambda s, extra=extra: s % 2 + extra, traffic_seed=traffic, route=route)
    ]
    spread = {"kind": "spread", "where": {"label": "a"}, "by": "traffic_seed", "metric": "delivery"}
    (answer,) = answers({**spread, "each": "route", "value": 0.4, "abs": 2.0}, rows)
    assert (answer.measured, answer.seeds) == (pytest.approx(0.4), 2)
    assert answer.asks.endswith("best less worst of each route with one traffic_seed")


def test_an_undecided_answer_estimates_how_many_seeds_would_decide() -> None:
    """Four times as many seeds halve the interval."""
    rows = runs("a", lambda s: 0.7 + (0.02 if s % 2 else -0.02))
    spec = {"kind": "at_least", "where": {}, "metric": "delivery"}
    wide = answers({**spec, "value": 0.0}, rows)[0]
    assert wide.low is not None and wide.high is not None and wide.needs is None
    half = (wide.high - wide.low) / 2
    (answer,) = answers({**spec, "value": 0.7 - half / 2}, rows)
    assert (answer.holds, answer.seeds) == (None, 10)
    assert answer.needs in (40, 41)
    (on_it,) = answers({**spec, "value": 0.7}, rows)
    assert on_it.holds is None and on_it.needs is None and "more seeds would hardly help" in on_it.why


def test_equal_values_are_not_in_order() -> None:
    rows = runs("a", lambda _: 0.5) + runs("b", lambda _: 0.5)
    assert holds(rows, kind="order", above={"label": "a"}, below={"label": "b"}) == [False]


def test_a_check_may_use_another_metric() -> None:
    reach = {"metric": "reception", "value": 0.5}
    spec = {"kind": "crossing", "metric": "overhead", "at": "reception", "reach": reach, "where": {}}
    changed = counted_as(spec, {"reception": "delivery"})
    assert changed == {**spec, "at": "delivery", "reach": {**reach, "metric": "delivery"}}
    assert counted_as({"kind": "model", "function": "f"}, {"reception": "delivery"}) == {
        "kind": "model",
        "function": "f",
    }


def slope(label: str, by: float) -> list[dict[str, Any]]:
    rows = []
    for x in (1, 2, 4, 8):
        rows += runs(label, lambda s, x=x: 0.5 + world(s) + by * np.log2(x) / 3 + noise(s * 10 + x), speed=x)
    return rows


def test_trends_are_slopes_seed_by_seed() -> None:
    rising, flat = slope("up", 0.1), slope("level", 0.0)
    trend = {"kind": "trend", "where": {}, "x": "speed"}
    assert holds(rising, **trend, direction="rises") == [True]
    assert holds(rising, **trend, direction="falls") == [False]
    assert holds(rising, **trend, direction="flat", abs=0.05)[0] is False
    assert (
        holds(flat, **trend, direction="flat", abs=0.05) == [True] * 5
    )  # once for the whole, and once at each of four points
    assert holds(flat, **trend, direction="rises") == [None]
    steeper = {"kind": "steeper", "x": "speed", "direction": "rises"}
    assert holds(rising + flat, **steeper, of={"label": "up"}, to={"label": "level"}) == [True]
    assert holds(rising + flat, **steeper, of={"label": "level"}, to={"label": "up"}) == [False]


def test_a_crossing_is_read_off_the_line_between_points() -> None:
    rows = []
    for p in (0.2, 0.4, 0.6):
        for run in runs("g", lambda s, p=p: p + noise(s, 0.001), p=p):
            rows.append({**run, "overhead": 10 * run["delivery"]})
    reach = {"metric": "delivery", "value": 0.5}
    all_answers = answers(
        {"kind": "crossing", "where": {}, "x": "p", "reach": reach, "metric": "overhead", "value": 5.0, "abs": 0.1},
        rows,
    )
    assert all_answers[0].holds is True
    assert all_answers[0].measured == pytest.approx(5.0, abs=1e-6)
    never = {**reach, "value": 0.9}
    assert holds(rows, kind="crossing", where={}, x="p", reach=never, metric="overhead", value=5, abs=1) == [None]


def test_a_flat_trend_may_be_checked_relative_to_the_mean() -> None:
    rows = slope("a", 0.1)  # a change of 0.1 at a mean of 0.5
    trend = {"kind": "trend", "where": {}, "x": "speed", "direction": "flat"}
    assert holds(rows, **trend, rel=0.4) == [True] * 5
    assert holds(rows, **trend, rel=0.1)[0] is False
    assert holds(rows, **{**trend, "direction": "rises"}, rel=0.4) == [False]


def test_a_curve_that_rises_and_falls_is_not_flat() -> None:
    rows = []
    for x, height in ((1, 0.3), (2, 0.9), (3, 0.9), (4, 0.3)):
        rows += runs("hump", lambda s, height=height, x=x: height + noise(s * 10 + x), speed=x)
    held = holds(rows, kind="trend", where={}, x="speed", direction="flat", abs=0.1)
    assert held == [True, False, False, False, False]


def costs(label: str, x: str, price: float, reached: dict[int, float]) -> list[dict[str, Any]]:
    """Runs with a given delivery at each x, and a cost in proportion to it."""
    rows = []
    for at, delivery in reached.items():
        for run in runs(label, lambda s, y=delivery: y + noise(s, 0.002), **{x: at}):
            rows.append({**run, "overhead": price * run["delivery"] + noise(run["seed"] + 30, 0.01)})
    return rows


def test_a_crossing_may_have_one_side_only() -> None:
    rows = costs("g", "p", 10.0, {1: 0.2, 2: 0.4, 3: 0.6})
    spec = {"kind": "crossing", "where": {}, "x": "p", "reach": {"metric": "delivery", "value": 0.5}, "rel": 0.1}
    assert holds(rows, **{**spec, "metric": "overhead"}, value=4.0) == [False]
    assert holds(rows, **{**spec, "metric": "overhead"}, value=4.0, side="at_least") == [True]
    assert holds(rows, **{**spec, "metric": "overhead"}, value=6.0, side="at_least") == [False]
    assert holds(rows, **{**spec, "metric": "overhead"}, value=5.5, side="at_least") == [True]


def test_cheaper_means_less_cost_at_equal_delivery() -> None:
    """At equal x the first is more expensive; at equal delivery it is cheaper."""
    mine = costs("mine", "credits", 8.0, {0: 0.5, 1: 0.7})
    other = costs("other", "p", 10.0, {0: 0.1, 1: 0.4, 2: 0.8})
    spec = {"kind": "cheaper", "x": "credits", "to_x": "p", "at": "delivery", "metric": "overhead"}
    assert holds(mine + other, **spec, of={"label": "mine"}, to={"label": "other"}) == [True, True]
    dear = costs("mine", "credits", 12.0, {0: 0.5, 1: 0.7})
    assert holds(dear + other, **spec, of={"label": "mine"}, to={"label": "other"}) == [False, False]
    beyond = costs("mine", "credits", 8.0, {0: 0.5, 1: 0.9})
    all_answers = answers({**spec, "of": {"label": "mine"}, "to": {"label": "other"}}, beyond + other)
    assert [answer.holds for answer in all_answers] == [True, None]
    assert all_answers[1].why == "other never has this delivery"
    assert all_answers[0].measured == pytest.approx(10 * 0.5 - 8 * 0.5, abs=0.05)


def points(by_x: dict[float, float]) -> list[dict[str, Any]]:
    return [
        run for x, y in by_x.items() for run in runs("g", lambda s, y=y: y + world(s) + noise(s, 0.002), nodes_of=x)
    ]


def test_a_peak_is_higher_than_both_ends() -> None:
    peak = {"kind": "peak", "where": {}, "x": "nodes_of"}
    assert holds(points({1: 0.5, 2: 0.7, 3: 0.8, 4: 0.6}), **peak) == [True, True]
    assert holds(points({1: 0.5, 2: 0.3, 3: 0.8, 4: 0.6}), **peak) == [True, True]
    assert holds(points({1: 0.5, 2: 0.6, 3: 0.7, 4: 0.8}), **peak) == [True, False]
    assert holds(points({1: 0.8, 2: 0.7, 3: 0.6, 4: 0.5}), **peak) == [False, True]
    assert answers({**peak, "metric": "delivery"}, points({1: 0.8, 2: 0.7}))[0].why.startswith("nodes_of has no value")


def test_a_curve_is_like_a_line_or_like_a_logarithm() -> None:
    line = points({x: 0.1 * x for x in (1, 2, 4, 9)})
    log = points({x: 0.1 * float(np.log(x)) for x in (1, 2, 4, 9)})
    like = {"kind": "like", "where": {}, "x": "nodes_of"}
    assert holds(line, **like, like="line") == [True]
    assert holds(line, **like, like="log") == [False]
    assert holds(log, **like, like="log") == [True]
    assert holds(log, **like, like="line") == [False]


def test_bounds_hold_at_every_point_and_a_jump_is_steep() -> None:
    step = []
    for x, y in ((0.1, 0.0), (0.3, 0.05), (0.5, 0.85), (0.7, 0.9), (0.9, 0.95)):
        step += runs("g", lambda s, y=y: y + noise(s, 0.002), p=x)
    assert holds(step, kind="bounds", where={}, x="p", high=1.0) == [True] * 5
    assert holds(step, kind="bounds", where={}, x="p", high=0.9)[-1] is False
    assert holds(runs("full", lambda _: 1.0, p=1), kind="bounds", where={}, x="p", high=1.0) == [False]
    assert holds(step, kind="jump", where={}, x="p", share=0.7, within=0.3) == [True]
    line = [run for x in (0.1, 0.3, 0.5, 0.7, 0.9) for run in runs("g", lambda s, x=x: x + noise(s, 0.002), p=x)]
    assert holds(line, kind="jump", where={}, x="p", share=0.7, within=0.3) == [False]


def test_no_best_holds_when_the_lines_cross_and_fails_when_they_do_not() -> None:
    def lines(slow_wins_at_1: float, slow_wins_at_9: float) -> list[dict[str, Any]]:
        rows = []
        for x, gain in ((1, slow_wins_at_1), (9, slow_wins_at_9)):
            rows += runs("g", lambda s, gain=gain: 0.5 + gain + noise(s, 0.002), speed=x, beacon="slow")
            rows += runs("g", lambda s: 0.5 + noise(s + 7, 0.002), speed=x, beacon="fast")
        return rows

    spec = {"kind": "no_best", "where": {}, "x": "speed", "series": "beacon"}
    assert holds(lines(0.1, -0.1), **spec) == [True, True]
    assert False in holds(lines(0.1, 0.1), **spec)


def test_checks_can_use_quantities_that_follow_from_metrics() -> None:
    rows = runs("a", lambda _: 0.7)
    assert answers({"kind": "value", "where": {}, "metric": "maintenance_share", "value": 0.25, "abs": 0.0}, rows)[
        0
    ].holds
    with pytest.raises(InputError, match="unknown quantity 'maintenence_share'; did you mean 'maintenance_share'"):
        answers({"kind": "value", "where": {}, "metric": "maintenence_share", "value": 0.25}, rows)


def test_receptions_per_delivery_count_the_first_one_too() -> None:
    assert value({"deliveries": 10, "duplicates": 25}, "receptions_per_delivery") == 3.5
    assert value({"deliveries": 0, "duplicates": 25}, "receptions_per_delivery") is None


def test_content_bytes_are_bytes_sent_without_headers() -> None:
    """802.11 adds 36 bytes to each frame (world/mac/dcf.py)."""
    row = {"preset": "baehni-city", "bytes_sent": 1360, "frames_sent": 10, "nodes": 10}
    assert value(row, "content_bytes_per_node") == 100.0
    assert value({**row, "w_overhead_bytes": 60}, "content_bytes_per_node") == 40.0
    assert value({**row, "preset": "costa"}, "content_bytes_per_node") == 129.0


def test_bytes_before_the_first_publication_can_be_left_out() -> None:
    sent = {"bytes_sent": 13600, "warmup_bytes": 3600, "frames_sent": 100, "warmup_frames": 50, "deliveries": 20}
    row = {"preset": "baehni-city", "nodes": 10, **sent}
    assert value(row, "overhead_published") == 2.5
    assert value({**row, "deliveries": 0}, "overhead_published") is None
    assert value(row, "bytes_published_per_node") == 1000.0
    assert value(row, "content_bytes_published_per_node") == 1000.0 - 5 * 36


def test_messages_are_frames_without_repetitions_by_the_link_layer() -> None:
    assert value({"frames_sent": 40, "repeats": 15}, "messages") == 25.0


def test_duplicates_can_be_counted_at_interested_nodes_only() -> None:
    assert value({"duplicates_wanted": 30, "nodes": 10}, "duplicates_wanted_per_node") == 3.0


def test_cells_are_chosen_by_their_coordinates_and_numbers_compare_as_numbers() -> None:
    rows = runs("a", lambda _: 1.0, p=0.50) + runs("b", lambda _: 1.0, p=0.7)
    assert len(selected(rows, {"p": 0.5})) == 10
    assert len(selected(rows, {"p": ["0.5", "0.70"]})) == 20
    assert len(selected(rows, {"label": "a", "p": "0.5", "nodes": 100})) == 10


def test_a_check_without_runs_is_undecided() -> None:
    all_answers = answers(
        {"kind": "value", "where": {"label": "z", "p": ["1", "2"]}, "metric": "delivery", "value": 1, "abs": 1},
        runs("a", float),
    )
    assert (all_answers[0].holds, all_answers[0].why) == (None, "no runs with z, p=1 or 2")
    one = runs("a", lambda _: 0.7)[:1]
    assert holds(one, kind="value", where={}, value=0.7, abs=0.1) == [None]


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(InputError, match="unknown kind of check 'vlaue'; did you mean 'value'"):
        answers({"kind": "vlaue"}, [])


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    values = {seed: noise(seed) for seed in SEEDS}
    by_hand = jackknife(lambda seeds: float(np.mean([values[s] for s in seeds])), list(SEEDS), 0.05)
    assert by_hand is not None and by_hand.seeds == len(SEEDS)
    assert by_hand[:3] == pytest.approx(interval(list(values.values()), 0.05))
