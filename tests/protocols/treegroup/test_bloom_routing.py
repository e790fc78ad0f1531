"""Bloom routing never keeps an event from a subscriber, and needs no more keys than the paper."""

from __future__ import annotations

from itertools import chain
from itertools import combinations as subsets
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roamcast.protocols.treegroup.bloom_routing import (
    ANY,
    MAX_TERMS,
    Masks,
    attribute_part,
    combinations,
    event_keys,
    event_masks,
    filter_bitmap,
    filter_keys,
    passes,
    topic_part,
    topics_above,
    value_part,
)
from roamcast.pubsub.bloom import positions
from roamcast.pubsub.event import Event, Value
from roamcast.pubsub.filters import EVERYTHING, NOTHING, And, Filter, Or, attr, topic
from tests.support.bloom import BloomFilter, false_positive_rate

NAMES = st.sampled_from(["a", "b", "c", "ab"])
VALUES = st.sampled_from([0, 1, 1.0, 2.5, True, False, "", "x", "1", -0.0, float("inf"), 1 << 60])
TOPICS = st.sampled_from(["", "a", "a.b", "a.b.c", "ab", "a.", ".a"])
LEAVES = st.one_of(
    st.just(EVERYTHING),
    st.just(NOTHING),
    TOPICS.map(topic),
    st.builds(lambda n, v: attr(n) == v, NAMES, VALUES),
    st.builds(lambda n, v: attr(n) != v, NAMES, VALUES),
    st.builds(lambda n, v: attr(n) >= v, NAMES, VALUES),
    st.builds(lambda n, v: attr(n).isin(*v), NAMES, st.lists(VALUES, max_size=4)),
    st.builds(lambda n: attr(n).startswith("x"), NAMES),
    st.builds(lambda n: attr(n).between(0, 2), NAMES),
    st.builds(lambda n: attr(n).exists(), NAMES),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3).map(And) | st.lists(inner, max_size=3).map(Or),
    max_leaves=8,
)
EVENTS = st.builds(Event, st.just(1), TOPICS, st.dictionaries(NAMES, VALUES | st.just(float("nan")), max_size=4))


class Foreign(Filter):
    """A filter of another package: nothing is known about it."""

    def matches(self, event: Event) -> bool:
        return True

    def fields(self) -> list[Any]:
        return []


# ------------------------------------------------------------------------------------------------- what must never fail


@settings(max_examples=400)
@given(FILTERS, EVENTS)
def test_an_event_passes_the_bitmap_of_every_filter_it_matches(filter: Filter, event: Event) -> None:
    if not filter.matches(event):
        return
    assert set(filter_keys(filter)) & set(event_keys(event) or [])
    assert passes(filter_bitmap(filter, 1024, 4), event_masks(event, 1024, 4))


@given(st.lists(FILTERS, max_size=4), EVENTS, st.integers(1, 64), st.integers(1, 5))
def test_an_event_passes_the_union_of_bitmaps_whatever_their_shape(
    filters: list[Filter], event: Event, bits: int, hashes: int
) -> None:
    union = 0
    for filter in filters:
        union |= filter_bitmap(filter, bits, hashes)
    if any(filter.matches(event) for filter in filters):
        assert passes(union, event_masks(event, bits, hashes))


@given(st.lists(st.builds(lambda n, v: attr(n) == v, NAMES, VALUES), min_size=1, max_size=3), EVENTS)
def test_a_simple_model_agrees_on_conjunctions_of_equalities(equal: list[Any], event: Event) -> None:
    """The model checks each part of the event by itself; a key is their concatenation."""
    wanted = {value_part(leaf.name, leaf.value) for leaf in equal}
    has = {value_part(name, value) for name, value in event.attrs.items() if value == value}
    one_value_each = len({leaf.name for leaf in equal}) == len(wanted)
    assert bool(set(filter_keys(And(equal))) & set(event_keys(event) or [])) == (wanted <= has and one_value_each)


def test_an_event_with_too_many_combinations_goes_to_every_branch_with_a_subscription() -> None:
    event = Event(1, attrs={f"a{n}": n for n in range(11)})
    assert event_keys(event) is None
    assert passes(filter_bitmap(attr("zzz") == 1, 1024, 4), event_masks(event, 1024, 4))
    assert not passes(0, event_masks(event, 1024, 4))
    assert event_keys(Event(1, ".".join("abcdefgh") * 200)) is None
    assert len(event_keys(Event(1, attrs={f"a{n}": n for n in range(8)})) or []) == 255 + 8 + 1


def test_a_filter_with_too_many_keys_drops_conditions_not_subscribers() -> None:
    wide = [attr(name).isin(*range(MAX_TERMS)) for name in "abc"]
    keys = filter_keys(And(wide))
    assert len(keys) == MAX_TERMS
    assert set(keys) & set(event_keys(Event(1, attrs={"a": 1, "b": 2, "c": 3})) or [])
    assert filter_keys(And([attr("a").isin(*range(MAX_TERMS + 1)), attr("b") == 1])) == [value_part("b", 1)]


def test_the_limit_is_for_conjunctions_a_disjunction_has_a_key_for_each_side() -> None:
    """§3.5 adds the keys of a disjunction one by one."""
    names = [f"t{n}" for n in range(MAX_TERMS + 36)]
    assert filter_keys(Or([topic(name) for name in names])) == [topic_part(name) for name in names]
    assert len(filter_keys(attr("a").isin(*range(MAX_TERMS + 1)))) == MAX_TERMS + 1
    pairs = [attr("a").isin(*range(8)), attr("b").isin(*range(8))]
    assert len(filter_keys(And(pairs))) == MAX_TERMS
    assert len(filter_keys(And([*pairs, attr("c").isin(1, 2)]))) == MAX_TERMS, "the third is left out"
    assert len(filter_keys(Or([And(pairs), topic("t")]))) == MAX_TERMS + 1


@given(EVENTS, st.lists(st.tuples(st.integers(1, 64), st.integers(1, 5)), max_size=4))
def test_stored_masks_equal_newly_computed_ones(event: Event, shapes: list[tuple[int, int]]) -> None:
    kept = Masks(event)
    for bits, hashes in [*shapes, *shapes]:
        assert kept.of(bits, hashes) == event_masks(event, bits, hashes)
        assert kept.of(bits, hashes) is kept.of(bits, hashes), "made once"


# ------------------------------------------------------------------------------------------------------------ the keys


def test_conditions_that_a_bitmap_cannot_hold_are_left_to_the_final_check() -> None:
    low = attr("t") < 30
    assert filter_keys(low & (attr("room") == "lab")) == filter_keys(attr("room") == "lab")
    for loose in (low, attr("t") != 3, attr("t").startswith("x"), attr("t").exists(), attr("t").between(1, 2)):
        assert filter_keys(loose) == [attribute_part("t")]
    for everything in (EVERYTHING, topic(""), And([]), Foreign()):
        assert filter_keys(everything) == [ANY]


def test_a_filter_that_no_event_can_match_adds_no_key() -> None:
    assert filter_keys(NOTHING) == filter_keys(Or([])) == filter_keys(attr("a").isin()) == []
    assert filter_keys((attr("a") == 1) & (attr("a") == 2)) == []
    assert filter_keys(topic("a.b") & topic("a.c")) == filter_keys(topic("a") & topic("ab")) == []
    assert filter_bitmap(NOTHING, 1024, 4) == 0


def test_a_topic_stands_for_itself_and_an_event_for_all_topics_above() -> None:
    assert topics_above("a.b.c") == ["a.b.c", "a", "a.b"]
    assert topics_above("") == []
    assert filter_keys(topic("a") & topic("a.b")) == [topic_part("a.b")]
    keys = event_keys(Event(1, "a.b", {"x": 1})) or []
    assert topic_part("a") + value_part("x", 1) in keys and topic_part("a.b") in keys


def test_equal_numbers_have_one_key_and_kinds_do_not_mix() -> None:
    assert value_part("a", 1) == value_part("a", 1.0)
    assert value_part("a", 0) == value_part("a", -0.0)
    assert len({value_part("a", v) for v in (1, "1", True)}) == 3


PARTS = st.lists(st.tuples(NAMES, st.text("absn1", max_size=4)), max_size=3)


@given(PARTS, PARTS)
@example([("a", "bs")], [("a", ""), ("b", "")])
@example([("a", "1:b")], [("a", ""), ("b", "")])
def test_concatenations_are_not_ambiguous(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    def joined(parts: list[tuple[str, str]]) -> str:
        return "".join(value_part(name, value) for name, value in parts)

    assert (joined(one) == joined(other)) == (one == other)


@given(st.lists(st.text("abc", min_size=1, max_size=1), unique=True, max_size=3))
def test_combinations_are_all_subsets_in_order(parts: list[str]) -> None:
    subsets_of_parts = chain.from_iterable(subsets(parts, n) for n in range(1, len(parts) + 1))
    assert sorted(combinations(parts, [""])) == sorted("".join(subset) for subset in subsets_of_parts)


# ---------------------------------------------------------------------------------------------------------- the bitmaps


@given(st.text(max_size=8), st.integers(1, 200), st.integers(1, 8))
def test_the_bitmap_of_a_topic_is_the_bloom_filter_of_its_key(name: str, bits: int, hashes: int) -> None:
    bloom = BloomFilter(bits, hashes)
    bloom.add(topic_part(name) if name else ANY)
    assert filter_bitmap(topic(name), bits, hashes) == bloom.bitmap


@pytest.mark.parametrize("n", [20, 100])
def test_false_positives_are_as_rare_as_estimated(n: int) -> None:
    """Li §3.2: (1 - e^(-kn/m))^k."""
    bitmap = 0
    for i in range(n):
        bitmap |= filter_bitmap(attr("a") == f"interest {i}", 1024, 4)
    others: list[Value] = [f"other {i}" for i in range(4000)]
    wrong = sum(passes(bitmap, [positions(value_part("a", other), 1024, 4)]) for other in others)
    expected = false_positive_rate(n, 1024, 4)
    assert abs(wrong / 4000 - expected) < 0.004 + expected / 2


def test_a_topic_of_dots_only_costs_no_more_than_its_length() -> None:
    assert event_keys(Event(1, "." * 60_000)) is None
