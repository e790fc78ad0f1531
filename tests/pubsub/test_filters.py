from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError, Malformed
from roamcast.pubsub.event import Event, Value
from roamcast.pubsub.filters import (
    EVERYTHING,
    MAX_DEPTH,
    MAX_LEAVES,
    NOTHING,
    And,
    Compare,
    Exists,
    Filter,
    OneOf,
    Or,
    Prefix,
    Range,
    Topic,
    attr,
    filter_from_fields,
    topic,
)
from roamcast.pubsub.necessary import necessary, unsatisfiable
from tests.pubsub.strategies import events, filters, msgpack_values, odd_filters

NAN = float("nan")


def event(**attrs: Value) -> Event:
    return Event(1, "", attrs)


# ------------------------------------------------------------------------------------------------------------- matching


@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [
        ("=", False, True, False),
        ("!=", True, False, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_comparisons_of_numbers_and_texts(op: str, below: bool, equal: bool, above: bool) -> None:
    for low, middle, high in ((4, 5, 6), (4.5, 5, 5.5), (4, 5.0, 6), ("a", "aa", "b")):
        filter = Compare("x", op, middle)
        assert [filter.matches(event(x=v)) for v in (low, middle, high)] == [below, equal, above]
        assert not filter.matches(event(y=middle))


def test_an_int_equals_the_float_of_the_same_value() -> None:
    assert (attr("x") == 5).matches(event(x=5.0))
    assert attr("x").isin(5.0).matches(event(x=5))
    assert not (attr("x") == 2**53 + 1).matches(event(x=float(2**53)))


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(("wanted", "given_"), [(1, "1"), ("1", 1), (True, 1), (1, True), (0.0, False), ("", False)])
def test_values_of_different_kinds_never_match(op: str, wanted: Value, given_: Value) -> None:
    assert not Compare("x", op, wanted).matches(event(x=given_))
    assert not OneOf("x", [wanted]).matches(event(x=given_))
    assert not Range("x", wanted, wanted).matches(event(x=given_))


def test_false_comes_before_true() -> None:
    assert (attr("x") < True).matches(event(x=False))
    assert attr("x").isin(True).matches(event(x=True))
    assert not attr("x").isin(True).matches(event(x=False))
    assert (attr("x") != True).matches(event(x=False))  # noqa: E712


@given(filters)
def test_nan_counts_as_absent(filter: Filter) -> None:
    without = Event(1, "a.b", {})
    assert filter.matches(Event(1, "a.b", {"a": NAN, "b": NAN, "c": NAN})) == filter.matches(without)


def test_nan_matches_no_condition() -> None:
    for filter in (attr("x") != 3, attr("x").exists(), attr("x").between(-1e999, 1e999), attr("x").isin(1)):
        assert not filter.matches(event(x=NAN))


def test_a_range_includes_both_ends() -> None:
    filter = attr("x").between(3, 7)
    assert [filter.matches(event(x=v)) for v in (2.9, 3, 5, 7.0, 7.1)] == [False, True, True, True, False]


@pytest.mark.parametrize("low", [1 << 53, (1 << 53) + 1, float(1 << 53)])
@pytest.mark.parametrize("value", [(1 << 53) - 1, 1 << 53, (1 << 53) + 1, float(1 << 53), (1 << 53) + 2.0, True, "x"])
def test_ranges_of_large_numbers_are_exact(low: Value, value: Value) -> None:
    """Beyond 2^53 a float cannot stand for every int."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    assert Range("x", low, 1 << 60).matches(event(x=value)) == (number and low <= value)  # type: ignore[operator]


def test_one_of_prefix_and_exists() -> None:
    assert attr("room").isin("lab", "hall").matches(event(room="hall"))
    assert not attr("room").isin("lab", "hall").matches(event(room="lobby"))
    assert attr("room").startswith("la").matches(event(room="lab"))
    assert not attr("room").startswith("la").matches(event(room="hall"))
    assert not attr("room").startswith("").matches(event(room=3))
    assert attr("room").exists().matches(event(room=False))
    assert not attr("room").exists().matches(event(other=1))


def test_a_topic_covers_itself_and_all_below_it() -> None:
    def covered(name: str, other: str) -> bool:
        return topic(name).matches(Event(1, other))

    assert covered("a.b", "a.b") and covered("a.b", "a.b.c") and covered("a", "a.b.c")
    assert not covered("a.b", "a.bc") and not covered("a.b", "a") and not covered("a.b", "") and not covered("a", "b.a")
    assert covered("", "") and covered("", "a.b")


def test_and_or_everything_and_nothing() -> None:
    both = (attr("x") > 1) & (attr("y") > 1)
    either = (attr("x") > 1) | (attr("y") > 1)
    assert [both.matches(event(x=x, y=y)) for x, y in ((2, 2), (2, 0), (0, 0))] == [True, False, False]
    assert [either.matches(event(x=x, y=y)) for x, y in ((2, 2), (2, 0), (0, 0))] == [True, True, False]
    assert EVERYTHING.matches(event()) and not NOTHING.matches(event())
    assert And([]).matches(event()) and not Or([]).matches(event())


def test_a_filter_of_an_unknown_class_can_be_combined() -> None:
    class Even(Filter):
        def matches(self, event: Event) -> bool:
            return event.id % 2 == 0

    own = Even()
    assert (own & topic("a")).matches(Event(2, "a"))
    assert not (own & topic("a")).matches(Event(3, "a"))
    assert (topic("b") | own).matches(Event(2, "a"))
    assert own == own and own != Even()
    assert not unsatisfiable(own)


@given(filters, st.lists(events, min_size=1, max_size=4), st.data())
def test_what_a_filter_wants_is_what_it_matches_whatever_it_was_asked_before(
    filter: Filter, asked: list[Event], data: st.DataObject
) -> None:
    for each in data.draw(st.lists(st.sampled_from(asked), max_size=10)):
        assert filter.wants(each) == filter.matches(each)


def test_only_filters_can_be_combined() -> None:
    three: Any = 3
    with pytest.raises(TypeError):
        topic("a") & three
    with pytest.raises(TypeError):
        Or([topic("a"), three])


# ------------------------------------------------------------------------------------------------------------- equality


def test_equal_filters_have_equal_texts() -> None:
    a, b, c = attr("a") > 1, attr("b") > 1, attr("c") > 1
    assert a & b & c == And([a, b, c]) == a & (b & c)
    assert a | b | c == Or([a, b, c])
    assert And([a]) == a == Or([And([a])])
    assert And([]) == EVERYTHING and Or([]) == NOTHING
    assert And([Or([And([a, b])]), c]) == And([a, b, c])
    assert And([Or([a, b])]) == Or([a, b])
    assert a & b != b & a and a & b != a | b
    assert OneOf("a", ["y", "x", "x"]) == OneOf("a", ["x", "y"])
    assert OneOf("a", [1.0, 1]) == OneOf("a", [1, 1.0]) == OneOf("a", [1])
    assert OneOf("a", [1, True]) != OneOf("a", [1])
    assert Compare("a", "=", True) != Compare("a", "=", 1) != Compare("a", "=", "1")
    assert a != "a > 1"


@given(filters, filters)
def test_equal_filters_have_equal_hashes_and_bytes(f: Filter, g: Filter) -> None:
    again = filter_from_fields(f.fields())
    assert f == again and hash(f) == hash(again)
    assert (f == g) == (str(f) == str(g)) == (f.fields() == g.fields() and repr(f.fields()) == repr(g.fields()))


def test_texts() -> None:
    filter = topic("a.b") & ((attr("t") > 30) | attr("room").isin("lab", 'h"'))
    assert str(filter) == 'topic a.b and (t > 30 or room in ("h\\"", "lab"))'
    assert repr(attr("t").between(1, 2)) == "<filter t between 1 and 2>"
    assert str(Exists("exists")) == 'exists "exists"'
    assert str(Prefix("x y", "z")) == '"x y" prefix "z"'
    assert str(Compare("x", "<", float("-inf"))) == "x < -1e999"


# -------------------------------------------------------------------------------------------------------- wrong filters


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Compare("x", "~", 3),
        lambda: Compare("x", "=", NAN),
        lambda: Compare("x", "=", 2**64),
        lambda: Compare("x", "=", -(2**63) - 1),
        lambda: Compare("x", "=", "\ud800"),
        lambda: Compare("", "=", 1),
        lambda: Exists("\ud800"),
        lambda: Range("x", 1, "a"),
        lambda: Range("x", 1, True),
        lambda: OneOf("x", [NAN]),
        lambda: OneOf("x", range(MAX_LEAVES + 1)),
        lambda: Prefix("x", "\udfff"),
        lambda: Topic("\ud800"),
    ],
)
def test_wrong_filters_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError):
        wrong()


def nested(depth: int) -> Filter:
    result: Filter = attr("x") > 0
    for i in range(depth - 1):
        result = And([result, topic("a")]) if i % 2 else Or([result, topic("b")])
    return result


def test_depth_and_size_are_bounded() -> None:
    nested(MAX_DEPTH)
    with pytest.raises(InputError):
        nested(MAX_DEPTH + 1)
    Or([Compare("x", "=", i) for i in range(MAX_LEAVES)])
    with pytest.raises(InputError):
        Or([Compare("x", "=", i) for i in range(MAX_LEAVES + 1)])
    with pytest.raises(InputError):
        OneOf("x", range(MAX_LEAVES)) & topic("a")


# ----------------------------------------------------------------------------------------------------------- on the air


@given(odd_filters)
def test_filters_are_decoded_unchanged(filter: Filter) -> None:
    decoded = filter_from_fields(msgspec.msgpack.decode(msgspec.msgpack.encode(filter.fields())))
    assert decoded == filter
    assert decoded.fields() == filter.fields()


def test_the_largest_and_the_deepest_filter_are_decoded_unchanged() -> None:
    for filter in (nested(MAX_DEPTH), OneOf("x", range(MAX_LEAVES)), Or([topic(f"t{i}") for i in range(MAX_LEAVES)])):
        assert filter_from_fields(filter.fields()) == filter


def test_fields_are_as_specified() -> None:
    filter = Or(
        [
            And([EVERYTHING, NOTHING, Topic("t"), Exists("e")]),
            And([Compare("c", "<", 1), Range("r", 1, 2), OneOf("m", [2, 1]), Prefix("p", "x")]),
        ]
    )
    assert filter.fields() == [
        9,
        [8, [0], [1], [2, "t"], [3, "e"]],
        [8, [4, "c", 2, 1], [5, "r", 1, 2], [6, "m", 1, 2], [7, "p", "x"]],
    ]
    assert [Compare("c", op, 1).fields()[2] for op in ("=", "!=", "<", "<=", ">", ">=")] == [0, 1, 2, 3, 4, 5]


tagged = st.tuples(st.integers(-1, 11), st.lists(msgpack_values, max_size=4)).map(lambda t: [t[0], *t[1]])
shaped = st.tuples(st.integers(0, 9), st.just("x"), st.lists(msgpack_values, max_size=3)).map(
    lambda t: [t[0], t[1], *t[2]]
)


@settings(max_examples=200)
@given(st.one_of(msgpack_values, tagged, shaped, st.lists(st.one_of(tagged, shaped)).map(lambda x: [8, *x])))
def test_hostile_fields_are_malformed_or_a_filter(fields: Any) -> None:
    try:
        filter = filter_from_fields(fields)
    except Malformed:
        return
    assert filter_from_fields(filter.fields()) == filter
    filter.matches(event(x=1))
    unsatisfiable(filter)


@pytest.mark.parametrize(
    "fields",
    [
        [],
        None,
        (0,),
        [True],
        [0, 1],
        [1, "x"],
        [2],
        [2, "a", "b"],
        [3, ""],
        [4, "x", 6, 1],
        [4, "x", -1, 1],
        [4, "x", True, 1],
        [4, "x", 0, None],
        [4, "x", 0, NAN],
        [5, "x", 1],
        [5, "x", 1, "a"],
        [6, "x", [1]],
        [7, "x", 1],
        [8, 0],
        [10],
        [6, "x", *range(MAX_LEAVES + 1)],
        [9, *[[6, "x", *range(100)]] * 3],
    ],
)
def test_malformed_fields(fields: Any) -> None:
    with pytest.raises(Malformed):
        filter_from_fields(fields)


def test_depth_on_the_air_is_bounded_whatever_is_nested() -> None:
    fields: list[Any] = [0]
    for _ in range(100_000):
        fields = [8, fields]
    with pytest.raises(Malformed):
        filter_from_fields(fields)


# -------------------------------------------------------------------------------------------------------- unsatisfiable


@pytest.mark.parametrize(
    "filter",
    [
        NOTHING,
        (attr("a") > 5) & (attr("a") < 3),
        (attr("a") > 5) & (attr("a") < 5),
        (attr("a") >= 5) & (attr("a") < 5),
        (attr("a") == 5) & (attr("a") != 5),
        (attr("a") > 5) & (attr("a") == "x"),
        (attr("a") == True) & (attr("a") == 1),  # noqa: E712
        attr("a").between(4, 3),
        attr("a").isin(),
        attr("a").isin(1, 2) & (attr("a") > 2),
        attr("a").startswith("ab") & attr("a").startswith("b"),
        attr("a") < False,
        attr("a") > float("inf"),
        attr("a") < "",
        topic("a") & topic("b"),
        topic("a.b") & topic("a.bc"),
        (attr("a") > 5) & ((attr("a") < 3) | attr("a").isin(5)),
        ((attr("a") < 1) | (attr("a") > 5)) & attr("a").isin(3, 4),
        attr("a").isin() | attr("b").between(2, 1),
    ],
    ids=str,
)
def test_filters_that_cannot_match(filter: Filter) -> None:
    assert unsatisfiable(filter)


@pytest.mark.parametrize(
    "filter",
    [
        EVERYTHING,
        (attr("a") >= 5) & (attr("a") <= 5),
        (attr("a") > 5) & (attr("b") < 3),
        topic("a") & topic("a.b"),
        attr("a").isin() | topic("a"),
        attr("a").startswith("ab") & attr("a").startswith("a"),
    ],
    ids=str,
)
def test_filters_that_can_match(filter: Filter) -> None:
    assert not unsatisfiable(filter)


@settings(max_examples=150)
@given(filters, events)
def test_every_matching_event_meets_the_necessary_conditions(filter: Filter, event: Event) -> None:
    if not filter.matches(event):
        return
    conditions = necessary(filter)
    assert conditions is not None and not unsatisfiable(filter)
    for name, accepted in conditions.items():
        value: Any = event.attrs[name] if name else event.topic
        place = (3 if isinstance(value, str) else 1 if isinstance(value, bool) else 2, value, 0)
        assert sum(cut <= place for cut in accepted) % 2 == 1


# ------------------------------------------------------------------------------------------------- process independence

SCRIPT = """
from roamcast.pubsub import *
fs = [topic(f"t.{i % 5}.{i}") & attr("x").isin(*[f"v{j}" for j in range(i)]) for i in range(1, 12)]
fs += [attr(f"n{i % 4}").between(i, 2 * i) | attr("y").startswith(str(i)) for i in range(9)]
index = MatchingIndex()
for i, f in enumerate(fs):
    index.add(i, f)
print([str(f) for f in fs], [f.fields() for f in fs], summarise(fs, 3), summarise(fs, 8))
print([[covers(f, g) for f in fs] for g in fs], index.match(Event(1, "t.3.3", {"x": "v1", "n1": 5, "y": "12"})))
print([positions(str(f), 1024, 4) for f in fs])
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    outputs = []
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        outputs.append(subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, check=True))
    assert outputs[0].stdout
    assert outputs[0].stdout == outputs[1].stdout == outputs[2].stdout
