"""Sets of values, compared with the membership of sampled values, one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roamcast.pubsub import values as sets
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Leaf
from roamcast.pubsub.values import Cut
from tests.pubsub.strategies import any_value, conditions, texts


def contains(accepted: list[Cut], value: Any) -> bool:
    place = (sets.kind_of(value), value, 0) if sets.kind_of(value) != sets.ABSENT else sets.start(sets.ABSENT)
    return sum(cut <= place for cut in accepted) % 2 == 1


@given(conditions, any_value)
def test_the_accepted_set_has_exactly_the_values_that_match(leaf: Leaf, value: Any) -> None:
    assert contains(leaf.accepted(), value) == leaf.matches(Event(1, "", {leaf.name: value}))


@given(conditions, conditions, any_value)
def test_union_intersection_and_complement_are_or_and_not(a: Leaf, b: Leaf, value: Any) -> None:
    x, y = a.accepted(), b.accepted()
    assert contains(sets.union(x, y), value) == (contains(x, value) or contains(y, value))
    assert contains(sets.intersection(x, y), value) == (contains(x, value) and contains(y, value))
    assert contains(sets.complement(x), value) != contains(x, value)


@given(conditions, conditions)
def test_a_set_has_one_list_only(a: Leaf, b: Leaf) -> None:
    x, y = a.accepted(), b.accepted()
    for accepted in (sets.union(x, y), sets.intersection(x, y), sets.complement(x)):
        assert accepted == sorted(accepted)
        assert len(accepted) % 2 == 0
        assert all(low < high for low, high in pairwise(accepted))
    assert sets.complement(sets.complement(x)) == x
    assert sets.union(x, sets.complement(x)) == sets.anything()
    assert sets.intersection(x, sets.complement(x)) == []


@given(conditions, conditions)
def test_inclusion_is_an_empty_difference(a: Leaf, b: Leaf) -> None:
    x, y = a.accepted(), b.accepted()
    assert sets.includes(x, y) == (sets.intersection(y, sets.complement(x)) == [])


@given(texts, texts, st.sampled_from(["", "a", "\0", "\U0010ffff"]))
def test_a_prefix_is_the_interval_of_the_texts_that_begin_with_it(prefix: str, other: str, tail: str) -> None:
    assert contains(sets.with_prefix(prefix), other + tail) == (other + tail).startswith(prefix)


def test_the_successor_of_a_prefix_skips_code_points_that_no_text_contains() -> None:
    assert sets.after_prefix("a\ud7ff") == sets.before("a\ue000")
    assert sets.after_prefix("a\U0010ffff") == sets.before("b")
    assert sets.after_prefix("\U0010ffff") == sets.start(sets.END)


def test_equal_numbers_make_the_same_cut() -> None:
    assert type(sets.before(3.0)[1]) is int
    assert type(sets.after(3.0)[1]) is int
    assert sets.before(3.5)[1] == 3.5
    assert sets.before(float(2**70))[1] == float(2**70)


def test_a_place_between_two_kinds_has_one_cut() -> None:
    assert sets.union(sets.closed(False, False), sets.closed(True, True)) == [sets.start(sets.BOOL), sets.after(True)]
    assert sets.after(True) == sets.start(sets.NUMBER)
    assert sets.after(float("inf")) == sets.start(sets.TEXT)
