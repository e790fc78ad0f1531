"""Covering and summaries: never wrong on sampled events, and as complete as in these examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.pubsub import values as sets
from roamcast.pubsub.boxes import box_difference, box_filter, boxes_of, conjunction, expressible, hull, leaf_count
from roamcast.pubsub.covering import MAX_CACHED, _cache, _Merging, common_topic, covers, summarise
from roamcast.pubsub.event import Event, Value
from roamcast.pubsub.filters import (
    EVERYTHING,
    MAX_LEAVES,
    NOTHING,
    And,
    Compare,
    Expression,
    Filter,
    Leaf,
    OneOf,
    Or,
    Topic,
    attr,
    filter_from_fields,
    topic,
)
from roamcast.pubsub.text import parse
from tests.pubsub.strategies import conditions, conjunctions, events, filters, topics

a, b = attr("a"), attr("b")
many_events = st.lists(events, min_size=1, max_size=8)


def wide(names: str = "abcdefghi") -> Filter:
    """A filter with too many boxes to be split."""
    return And([attr(name).between(0, 1) | attr(name).between(5, 6) for name in names])


# ---------------------------------------------------------------------------------------------------------------- boxes


@settings(max_examples=150)
@given(filters, many_events)
def test_a_filter_is_the_union_of_its_boxes(filter: Filter, sampled: list[Event]) -> None:
    boxes = boxes_of(filter)
    assert boxes is not None
    union = Or([box_filter(box) for box in boxes])
    for event in sampled:
        assert union.matches(event) == filter.matches(event)


def test_too_many_boxes_are_none() -> None:
    assert boxes_of(wide()) is None
    assert len(boxes_of(wide("abcdefgh")) or []) == 256
    contradictory = Or([a == i for i in range(40)]) & Or([a == i for i in range(39, 79)])
    assert boxes_of(contradictory) == boxes_of(a == 39)
    assert boxes_of(Or([a == i for i in range(128)] + [wide()])) is None


@given(conditions, conditions)
def test_an_expressible_set_is_expressed_exactly(x: Leaf, y: Leaf) -> None:
    for accepted in (sets.union(x.accepted(), y.accepted()), sets.intersection(x.accepted(), y.accepted())):
        if not accepted:
            continue
        assert sets.includes(hull(accepted), accepted) and expressible(hull(accepted))
        if expressible(accepted):
            assert leaf_count(accepted) == sum(leaf.leaves for leaf in conjunction("a", accepted))
            expressed = sets.anything()
            for leaf in conjunction("a", accepted):
                assert isinstance(leaf, Leaf)
                expressed = sets.intersection(expressed, leaf.accepted())
            assert expressed == accepted
    assert expressible(sets.intersection(x.accepted(), y.accepted()) or sets.present())


@pytest.mark.parametrize(
    "text",
    [
        "exists a",
        "a = 3",
        "a in (1, 2)",
        "a != 3",
        "a != 3 and a != 5",
        "a > 1 and a != 3",
        "a between 1 and 3",
        "a >= 1 and a < 3",
        "a > 1 and a <= 3",
        "a > 1",
        "a <= 1",
        'a prefix "ab"',
        'a prefix ""',
        "a in (false, true)",
        "a between -1e999 and 1e999",
        'topic x and a between "a" and "b" and b = true',
    ],
)
def test_boxes_are_written_in_the_shortest_way(text: str) -> None:
    boxes = boxes_of(parse(text))
    assert boxes is not None
    assert [str(box_filter(box)) for box in boxes] == [text]


@given(filters, filters, many_events)
def test_a_difference_matches_what_only_the_first_box_matches(f: Filter, g: Filter, sampled: list[Event]) -> None:
    for x in boxes_of(f) or []:
        for y in boxes_of(g) or []:
            pieces = box_difference(x, y)
            for event in sampled:
                inside = [_in_box(piece, event) for piece in pieces]
                assert sum(inside) == (_in_box(x, event) and not _in_box(y, event))


def _in_box(box: Any, event: Event) -> bool:
    for name, accepted in box.items():
        value: Any = event.attrs.get(name) if name else event.topic
        kind = sets.kind_of(value)
        place = (kind, value, 0) if kind != sets.ABSENT else sets.start(sets.ABSENT)
        if sum(cut <= place for cut in accepted) % 2 == 0:
            return False
    return True


# ------------------------------------------------------------------------------------------------------------- covering


@settings(max_examples=200)
@given(filters, filters, many_events)
def test_a_covering_filter_matches_every_event_that_the_other_matches(
    general: Filter, special: Filter, sampled: list[Event]
) -> None:
    if covers(general, special):
        for event in sampled:
            assert general.matches(event) or not special.matches(event)


@given(filters, filters)
def test_or_covers_each_operand_and_each_operand_covers_and(f: Filter, g: Filter) -> None:
    assert covers(f | g, f) and covers(f | g, g)
    assert covers(f, f & g) and covers(g, f & g)
    assert covers(EVERYTHING, f) and covers(f, NOTHING)


def covers_plainly(general: Filter, special: Filter) -> bool:
    """A simple model: every box of one filter is subtracted from every box of the other, without cached boxes."""
    pieces, wide = boxes_of(special), boxes_of(general)
    assert pieces is not None and wide is not None
    for other in wide:
        pieces = [left for piece in pieces for left in box_difference(piece, other)]
    return not pieces


@settings(max_examples=300)
@given(st.one_of(conditions, conjunctions, filters), st.one_of(conditions, conjunctions, filters))
def test_covering_agrees_with_subtracting_box_by_box(general: Filter, special: Filter) -> None:
    expected = covers_plainly(general, special)
    for _ in range(2):  # the second time the boxes are cached
        assert covers(general, special) == expected


def test_a_limited_number_of_filters_is_cached() -> None:
    assert covers(topic("t"), topic("t.0"))
    for i in range(MAX_CACHED + 10):
        assert covers(topic(f"u{i}"), topic(f"u{i}.v"))
        assert 0 < len(_cache) <= MAX_CACHED
    covers(chained(3)[0], chained(3)[1])
    assert all(len(boxes) <= 1 for boxes in _cache.values())


@given(filters, filters, filters)
def test_covering_is_transitive(f: Filter, g: Filter, h: Filter) -> None:
    if covers(f, g) and covers(g, h):
        assert covers(f, h)


YES = [
    ("a > 3", "a > 4"),
    ("a >= 3", "a > 3"),
    ("a >= 3", "a = 3.0"),
    ("a != 3", "a > 3"),
    ("a between 0 and 9", "a in (0, 4, 9)"),
    ("a between 0 and 9", "a >= 0 and a < 9"),
    ("a between 0 and 5 or a between 5 and 9", "a between 2 and 8"),
    ("a < 5 or a >= 5", "a != 2"),
    ("exists a", "a != 2"),
    ("a = true or a = false", "a <= true"),
    ('a prefix "ab"', 'a prefix "abc"'),
    ('a prefix "ab"', 'a between "ab" and "abz"'),
    ('a >= "ab"', 'a prefix "ab"'),
    ('a in ("x", "y")', 'a = "x"'),
    ("topic a", "topic a.b"),
    ('topic ""', "a = 1"),
    ("topic a or topic b", "topic a.b and a > 3"),
    ("a > 3", "a > 4 and b > 5"),
    ("a > 3 or b > 3", "a > 2 and b > 4"),
    ("a > 3 and b > 3", "b > 4 and a > 3"),
    ("a <= 5 and b > 1 or a > 5 and b > 1", "b > 2 and a between 4 and 6"),
    ("a = 1 and b = 1 or a = 1 and b = 2 or a = 2 and b in (1, 2)", "a in (1, 2) and b in (1, 2)"),
    ("a > 3", "a > 5 and a < 4"),
    ("true", "a = 1"),
    ("a = 1", "false"),
]
NO = [
    ("a > 4", "a > 3"),
    ("a > 3", "a >= 3"),
    ("a > 3", "b > 4"),
    ("a > 3 and b > 3", "a > 4"),
    ("a < 5 or a > 5", "exists a"),
    ("a < 5 or a >= 5", "exists a"),
    ("a < 5 or a >= 5", "true"),
    ("a = 1", "a = true"),
    ("a between 0 and 5 or a between 6 and 9", "a between 2 and 8"),
    ('a prefix "ab"', 'a prefix "a"'),
    ("topic a.b", "topic a"),
    ("topic a.b", "topic a.bc"),
    ("topic a", "a = 1"),
    ("a = 1 and b = 1 or a = 2 and b = 2", "a in (1, 2) and b in (1, 2)"),
    ("false", "a = 1"),
]


@pytest.mark.parametrize(("general", "special"), YES)
def test_covers(general: str, special: str) -> None:
    assert covers(parse(general), parse(special))


@pytest.mark.parametrize(("general", "special"), NO)
def test_does_not_cover(general: str, special: str) -> None:
    assert not covers(parse(general), parse(special))


def test_filters_too_large_to_be_split_are_compared_by_operand_and_by_necessary_conditions() -> None:
    large = wide()
    assert covers(large, large & topic("x"))
    assert covers(a.between(0, 6), large)
    assert not covers(a.between(0, 5), large)
    assert covers(large | topic("x"), topic("x.y"))
    assert covers(large, And([attr(name) == 5 for name in "abcdefghi"]))
    assert not covers(large, And([attr(name) == 5 for name in "abcdefgh"]))
    assert covers(topic("x") | a.exists(), large)
    assert covers(b.exists() & a.exists(), large | (large & topic("x")))


def test_a_filter_of_an_unknown_class_is_covered_only_by_itself_and_everything() -> None:
    class Even(Filter):
        def matches(self, event: Event) -> bool:
            return event.id % 2 == 0

    own = Even()
    assert covers(own, own) and covers(EVERYTHING, own) and covers(own | topic("a"), topic("a.b"))
    assert covers(topic("a"), own & topic("a.b"))
    assert not covers(own, EVERYTHING) and not covers(topic("a"), own) and not covers(own, topic("a"))
    assert summarise([own, topic("a")]) == EVERYTHING


def chained(n: int) -> tuple[Filter, Filter]:
    """Intervals, and other intervals that each overlap two of the first."""
    return Or([a.between(i, i + 1) for i in range(n)]), Or([a.between(i + 0.2, i + 1.2) for i in range(n - 1)])


def alternatives(n: int) -> Filter:
    return Or([And([wide(), topic(f"t{i:02}")]) for i in range(n)])


def test_comparisons_that_take_too_long_are_given_up() -> None:
    """The correct answers are yes; where finding them would take too long, the answer is no."""
    assert covers(*chained(20)) and not covers(*chained(250))
    special = And([attr(name) == 5 for name in "abcdefghi"])
    assert covers(alternatives(12), special & topic("t01"))
    assert not covers(alternatives(12), special & topic("t11"))


# ------------------------------------------------------------------------------------------------------------ summaries


@settings(max_examples=150)
@given(st.lists(st.one_of(filters, conjunctions), max_size=8), st.integers(1, 5), many_events)
def test_a_summary_is_never_narrower_and_never_longer(fs: list[Filter], limit: int, sampled: list[Event]) -> None:
    summary = summarise(fs, limit)
    for event in sampled:
        assert summary.matches(event) or not Or(fs).matches(event)
    assert len(summary.filters) <= limit if isinstance(summary, Or) else True
    assert filter_from_fields(summary.fields()) == summary
    assert all(covers(summary, f) for f in fs)


@given(st.lists(st.one_of(filters, conjunctions), max_size=4), many_events)
def test_a_summary_with_room_enough_is_exact(fs: list[Filter], sampled: list[Event]) -> None:
    summary = summarise(fs, 64)
    for event in sampled:
        assert summary.matches(event) == Or(fs).matches(event)


@given(st.lists(filters, max_size=6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_summary_does_not_depend_on_the_order(fs: list[Filter], limit: int, random: Any) -> None:
    shuffled = list(fs)
    random.shuffle(shuffled)
    assert summarise(shuffled, limit) == summarise(fs, limit)


@pytest.mark.parametrize(
    ("texts", "limit", "summary"),
    [
        ([], 8, "false"),
        (["a > 5 and a < 3"], 8, "false"),
        (["a > 3", "a > 4", "topic x"], 8, "topic x or a > 3"),
        (["a between 0 and 5", "a between 3 and 9"], 8, "a between 0 and 9"),
        (["a between 0 and 5", "a between 6 and 9"], 8, "a between 0 and 5 or a between 6 and 9"),
        (["a = 1", "a = 2", "a in (3, 4)"], 8, "a in (1, 2, 3, 4)"),
        (["a < 3", "a > 3"], 8, "a != 3"),
        (["topic a.b", "topic a", "topic a.b.c"], 8, "topic a"),
        (["a > 1", "true"], 8, "true"),
        (["a = 1 and b = 2", "b = 2 and a = 3"], 8, "a in (1, 3) and b = 2"),
        (["a = 1 and b = 1", "a = 2 and b = 2"], 8, "a = 1 and b = 1 or a = 2 and b = 2"),
        (["a > 3", "a = 1 and b = 0", "a > 4 and b = 1"], 8, "a > 3 or a = 1 and b = 0"),
        # too many: the smallest gap is filled first
        (
            ["a between 0 and 1", "a between 2 and 3", "a between 50 and 60"],
            2,
            "a between 0 and 3 or a between 50 and 60",
        ),
        (
            ["a between 0 and 1", "a between 40 and 48", "a between 50 and 60"],
            2,
            "a between 0 and 1 or a between 40 and 60",
        ),
        (["a between 0 and 1", "a between 2 and 3", "a between 50 and 60"], 1, "a between 0 and 60"),
        (["a < 3", "a between 5 and 6"], 1, "a <= 6"),
        (["a > 3 and a < 4", "a = 7"], 1, "a > 3 and a <= 7"),
        (['a prefix "ab"', 'a prefix "ax"', 'a prefix "z"'], 2, 'a >= "ab" and a < "ay" or a prefix "z"'),
        (["topic a.b.c", "topic a.b.d", "topic x.y"], 2, "topic a.b or topic x.y"),
        (["topic a.b", "topic a.c", "topic a.d.e"], 1, "topic a"),
        (["topic a", "topic b"], 1, "true"),
        (["topic a and a > 3", "topic a and b > 3"], 1, "topic a"),
        (["topic a.x and a = 3", "topic a.y and a = 4"], 1, "topic a and a in (3, 4)"),
        (["a > 3", 'a = "x"'], 1, "exists a"),
        (["a > 3", "b > 3"], 1, "true"),
        (["a > 3", 'a prefix "z"', "b = 2", "b = 1 and c = 1"], 3, 'a > 3 or a prefix "z" or b in (1, 2)'),
        # no condition is dropped while a gap can be filled
        (["a > 3 and b = 1", "a < 1 and b = 1", "topic x"], 2, "topic x or a between -1e999 and 1e999 and b = 1"),
    ],
)
def test_summaries(texts: list[str], limit: int, summary: str) -> None:
    assert str(summarise([parse(text) for text in texts], limit)) == summary


def test_a_single_filter_that_is_not_a_box_stays_unchanged() -> None:
    large = wide()
    assert summarise([large, large & topic("x")], 1) == large
    assert summarise([wide("abc")], 2) == wide("abc")
    assert str(summarise([Or([large, large & topic("x"), a.exists() & topic("y")])], 1)) == "exists a"


@settings(max_examples=40)
@given(st.lists(conjunctions, min_size=4, max_size=7))
def test_costs_of_merging_are_kept_up_to_date(fs: list[Filter]) -> None:
    merging = _Merging([box for f in fs for box in boxes_of(f) or []])
    while len(merging.boxes) > 1:
        merging.merge_cheapest()
        assert merging.costs == [merging.cost(i, i + 1) for i in range(len(merging.boxes) - 1)]


def test_large_sets_with_the_same_ends_become_one_interval() -> None:
    even, odd = OneOf("a", range(0, 400, 2)), OneOf("a", [0, *range(1, 398, 2), 398])
    assert str(summarise([even, odd])) == "a between 0 and 398"


def test_a_summary_of_very_many_filters_can_be_sent() -> None:
    numbers: list[Filter] = [Compare("a", "=", 2 * i) & (attr(f"b{i % 7}") > i) for i in range(150)]
    sets_of_texts: list[Filter] = [OneOf(f"c{i % 9}", [f"{i}/{j}" for j in range(30)]) for i in range(40)]
    for fs in (numbers, sets_of_texts, numbers + sets_of_texts):
        for limit in (8, 200):
            summary = summarise(fs, limit)
            assert isinstance(summary, Expression) and summary.leaves <= MAX_LEAVES
            assert all(covers(summary, f) for f in fs[::7])


def test_a_summary_of_wide_conjunctions_can_be_sent() -> None:
    names = [f"x{i:03}" for i in range(200)]
    closed: list[Filter] = [And([attr(n).between(k, k + 1.5) for n in names]) for k in (0, 10)]
    half_open: list[Filter] = [And([attr(n) < 20 for n in names]), And([attr(n).isin(1, 30) for n in names[:100]])]
    for fs in (closed, half_open, closed + half_open):
        summary = summarise(fs, 1)
        assert isinstance(summary, Expression) and summary.leaves <= MAX_LEAVES
        assert all(covers(summary, f) for f in fs)


# --------------------------------------------------------------------------------------------------------------- topics


@given(topics, topics, topics)
def test_the_common_topic_covers_both_and_is_the_deepest(x: str, y: str, other: str) -> None:
    common = Topic(common_topic(x, y))
    assert covers(common, Topic(x)) and covers(common, Topic(y))
    if covers(Topic(other), Topic(x)) and covers(Topic(other), Topic(y)):
        assert covers(Topic(other), common)


@given(st.lists(topics, min_size=1, max_size=6))
def test_filters_too_large_to_be_split_are_summarised_by_their_common_topic(names: list[str]) -> None:
    """Also where topics are neighbours on the line of values: those below "a" end just where "a/" begins."""
    summary = summarise([Or([wide() & Topic(name) for name in names])], 1)
    values: dict[str, Value] = dict.fromkeys("abcdefghi", 0)
    for name in names:
        assert summary.matches(Event(1, name, values)) and summary.matches(Event(1, name + ".x", values))
    if len(set(names)) == 1 and not names[0].endswith("."):
        assert not summary.matches(Event(1, "elsewhere", values))
