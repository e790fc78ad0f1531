"""Who wants what: keys never lose a match, and Spark finds what comparing everything with everything finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from roamcast.lab.measure import interest
from roamcast.lab.measure.interest import event_keys, filter_keys
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.text import parse
from tests.pubsub.strategies import events, filters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def meet(filter: Filter, event: Event, others: list[Filter]) -> bool:
    shapes = {key[:3] for each in [filter, *others] for key in filter_keys(str(each))}
    return bool(set(filter_keys(str(filter))) & set(event_keys(event.topic, event.attrs, sorted(shapes))))


@given(filters, events, st.lists(filters, max_size=3))
def test_whoever_matches_meets(filter: Filter, event: Event, others: list[Filter]) -> None:
    if filter.matches(event):
        assert meet(filter, event, others)


def test_ranges_meet_the_values_in_them_and_few_others() -> None:
    narrow = parse("v between 1000 and 1003")
    near = [v for v in range(5000) if meet(narrow, Event(1, "", {"v": v}), [])]
    assert set(range(1000, 1004)) <= set(near)
    assert len(near) <= 8
    for low in (-7.5, -0.1, 0.0, 0.3, 1e9, 1e-9):
        for width in (0.0, 1e-9, 0.7, 1.0, 3.0, 1e6):
            filter = parse(f"v between {low!r} and {low + width!r}")
            assert len(filter_keys(str(filter))) <= 2
            for v in (low, low + width / 3, low + width):
                assert meet(filter, Event(1, "", {"v": v}), [])


def test_ranges_and_values_at_the_ends_of_floats_are_found_or_passed_over() -> None:
    whole = parse("v between -1e308 and 1e308")
    narrow = parse("v between 1.0 and 1.0000000000000002")
    for value in (1e300, -1e308, 5e-324, 1.0):
        assert meet(whole, Event(1, "", {"v": value}), [narrow])
    assert meet(narrow, Event(1, "", {"v": 1.0000000000000002}), [whole])
    assert not meet(narrow, Event(1, "", {"v": 1e300}), [])


def test_the_most_telling_condition_is_the_key() -> None:
    def shapes(text: str) -> list[tuple[str, str, int]]:
        return [key[:3] for key in filter_keys(text)]

    assert shapes('topic a.b and v > 3 and room = "lab"') == [("value", "room", 0)]
    assert shapes("topic a.b and v > 3 and w between 1 and 1.5") == [("range", "w", -1)] * 2
    assert shapes("topic a.b and v > 3") == [("topic", "", 2)]
    assert shapes('name prefix "ab" and v > 3') == [("prefix", "name", 2)]
    assert shapes("v > 3") == [("has", "v", 0)]
    assert shapes('room in ("lab", "hall")') == [("value", "room", 0)] * 2
    assert shapes("v = 1 or topic a") == [("value", "v", 0), ("topic", "", 1)]
    assert filter_keys("v = 1 and v = 2") == []  # nobody can match it
    assert len({interest.value_key(v) for v in (1, 1.0)}) == 1
    assert len({interest.value_key(v) for v in (1, True, "1")}) == 3


def test_spark_finds_the_matches_that_comparing_all_with_all_finds(spark: SparkSession) -> None:
    texts = [
        "topic a",
        "topic a.b",
        "v > 30",
        "v between 10 and 20",
        'v between 15.5 and 15.6 or room = "lab"',
        'room in ("lab", "hall") and v <= 12',
        'name prefix "ro"',
        "exists name",
        "v != 11",
        "topic a and (v < 5 or v > 50)",
    ]
    contents: list[tuple[str, dict[str, Any]]] = [
        ("a.b.c", {"v": 11}),
        ("a", {"v": 15.55, "room": "lab"}),
        ("ab", {"v": 51, "name": "rose"}),
        ("", {"room": "hall", "v": 12}),
        ("a.b", {"name": "r"}),
        ("b", {"v": True}),
    ]
    runs = ["one", "two"]
    published = [
        (run, k, 10**9, json.dumps({"topic": topic, "scope": "global", "attrs": attrs}))
        for run in runs
        for k, (topic, attrs) in enumerate(contents)
    ]
    asked = [("one", text) for text in texts] + [("two", text) for text in texts[:3]]
    matches = interest.matches(
        spark.createDataFrame(published, "run string, event bigint, validity bigint, content string"),
        spark.createDataFrame(asked * 2, "run string, filter string"),
    )
    expected = {
        (run, k, text)
        for run, text in asked
        for k, (topic, attrs) in enumerate(contents)
        if parse(text).matches(Event(1, topic, attrs))
    }
    rows = [tuple(row) for row in matches.collect()]
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    assert len(expected) > 20
    plan = matches._jdf.queryExecution().toString()
    assert "CartesianProduct" not in plan
    assert "BroadcastNestedLoopJoin" not in plan


def log(spark: SparkSession, rows: list[tuple[int, int, str, int, str]]) -> Any:
    """t, node, kind, event, reason of one run."""
    columns = "run string, seq bigint, t bigint, node int, kind string, event bigint, value bigint, reason string"
    return spark.createDataFrame(
        [("r", k, t, node, kind, event, 0, reason) for k, (t, node, kind, event, reason) in enumerate(rows)], columns
    )


def test_order_within_one_instant_decides_who_counts(spark: SparkSession) -> None:
    news = json.dumps({"topic": "a", "scope": "global", "attrs": {}})
    local = json.dumps({"topic": "a", "scope": "local", "attrs": {}, "near": [1, 3]})
    rows = log(
        spark,
        [
            (0, 0, "subscribe", 0, "topic a"),
            (0, 1, "subscribe", 1, "topic a"),
            (0, 2, "subscribe", 2, "topic b"),
            (5, 0, "publish", 10, news),  # 0 has it itself; 1 counts
            (5, 2, "subscribe", 2, "topic a"),  # replaces: too late for 10
            (5, 3, "subscribe", 3, "topic a"),
            (5, 0, "publish", 11, news),  # 1, 2, 3
            (6, 1, "sleep", 0, ""),
            (6, 1, "sleep", 0, ""),
            (6, 2, "crash", 0, ""),
            (6, 0, "publish", 12, news),  # 3
            (6, 1, "wake", 0, ""),
            (6, 3, "unsubscribe", 3, "topic a"),
            (7, 0, "publish", 13, news),  # 1
            (7, 2, "recover", 0, ""),
            (8, 0, "publish", 14, local),  # 1: 3 has unsubscribed, 2 is far away
            (9, 2, "recover", 0, "anew"),
            (9, 2, "subscribe", 1, "topic b"),
            (9, 0, "publish", 15, news),  # 1: the subscription of 2 in an earlier boot is over, without a row about it
            (9, 0, "recover", 0, "anew"),
            (9, 2, "subscribe", 2, "topic a"),
            (9, 1, "publish", 16, news),  # 2: 0 began anew as well, and its subscription has the number 0
            (9, 3, "publish", 17, news),  # 1 and 2; 3 has unsubscribed
            (9, 1, "sleep", 0, ""),
            (9, 1, "publish", 18, news),  # 2
        ],
    )
    published = interest.publications(rows)
    wanted = interest.wanting(published, interest.subscriptions(rows))
    pairs = interest.interested(wanted, published, interest.absences(rows))
    matches = sorted((row.event, row.node) for row in pairs.collect())
    assert matches[:9] == [(10, 1), (11, 1), (11, 2), (11, 3), (12, 3), (13, 1), (14, 1), (15, 1), (16, 2)]
    assert matches[9:] == [(17, 1), (17, 2), (18, 2)]
    own = interest.own(wanted, published, interest.absences(rows))
    assert sorted(row.event for row in own.collect()) == [10, 11, 12, 13, 14, 15, 16]
    assert (10, 0) in [(row.event, row.node) for row in wanted.collect()]
