"""Filters and events for hypothesis: few names and close values, so that they often match, and some difficult ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import (
    EVERYTHING,
    NOTHING,
    OPERATORS,
    And,
    Compare,
    Exists,
    Filter,
    Leaf,
    OneOf,
    Or,
    Prefix,
    Range,
    Topic,
)

NAMES = ["a", "b", "c"]
WORDS = ["", "a", "ab", "abc", "ac", "b", "a\U0010ffff", "a\ud7ff", "a\ue000", "\U0010ffff"]
TOPICS = ["a", "a.b", "a.b.c", "a.bc", "a/", "a.", "a..b", "b", "b.c", ".x"]

numbers = st.one_of(
    st.integers(-3, 6),
    st.sampled_from([-3.0, 0.5, 2.5, -0.0, 1.0, float("inf"), float("-inf"), 2**53 + 1, float(2**53), 2**64 - 1]),
)
texts = st.sampled_from(WORDS)
bools = st.booleans()
values = st.one_of(numbers, texts, bools)
any_value = st.one_of(values, st.just(float("nan")))
names = st.sampled_from(NAMES)
topics = st.sampled_from(TOPICS)

conditions: st.SearchStrategy[Leaf] = st.one_of(
    st.builds(Compare, names, st.sampled_from(OPERATORS), values),
    st.builds(Range, names, numbers, numbers),
    st.builds(Range, names, texts, texts),
    st.builds(Range, names, bools, bools),
    st.builds(OneOf, names, st.lists(values, max_size=4)),
    st.builds(Prefix, names, texts),
    st.builds(Exists, names),
)
conjunctions: st.SearchStrategy[Filter] = st.lists(
    st.one_of(conditions, st.builds(Topic, topics)), min_size=2, max_size=4
).map(And)
leaves: st.SearchStrategy[Filter] = st.one_of(
    conditions, st.builds(Topic, st.one_of(topics, st.just(""))), st.just(EVERYTHING), st.just(NOTHING)
)

filters: st.SearchStrategy[Filter] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(And),
        st.lists(inner, max_size=4).map(Or),
    ),
    max_leaves=8,
)

attributes: st.SearchStrategy[dict[str, Any]] = st.dictionaries(names, any_value)
events: st.SearchStrategy[Event] = st.builds(Event, st.just(1), st.one_of(topics, st.just("")), attributes)

# Names and texts that the filter language has to quote.
odd_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
odd_names = st.one_of(names, odd_texts.filter(bool), st.sampled_from(["and", "topic", "not", "a-b", "9a", "true"]))
odd_values = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), odd_texts, st.booleans(), values)
odd_leaves: st.SearchStrategy[Filter] = st.one_of(
    st.builds(Compare, odd_names, st.sampled_from(OPERATORS), odd_values),
    st.builds(Range, odd_names, odd_texts, odd_texts),
    st.builds(OneOf, odd_names, st.lists(odd_values, max_size=4)),
    st.builds(Prefix, odd_names, odd_texts),
    st.builds(Exists, odd_names),
    st.builds(Topic, st.one_of(odd_names, st.just(""))),
    leaves,
)
odd_filters: st.SearchStrategy[Filter] = st.recursive(
    odd_leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(And), st.lists(inner, max_size=3).map(Or)),
    max_leaves=6,
)

# Anything that msgpack can express.
msgpack_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 12),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.sampled_from(["", "a"]),
        odd_texts,
        st.binary(max_size=3),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(odd_texts, inner, max_size=2)),
    max_leaves=20,
)
