"""Ids, times and lists of nodes as people read and type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.log.explanation import words
from roamcast.log.reader import LogRow
from roamcast.pubsub.event import FOREVER, Event, event_id


@given(st.integers(0, (1 << 31) - 1), st.integers(1, (1 << 32) - 1))
def test_an_event_has_one_name_and_several_ways_to_type_it(publisher: int, number: int) -> None:
    id = event_id(publisher, number)
    name = words.event_name(id)
    assert name == f"{publisher}:{number}"
    for typed in (name, f"n{name}", f" {name} ", str(id), hex(id), id):
        assert words.event_of(typed) == id


@pytest.mark.parametrize("typed", ["", "x", "3:", ":3", "3:x", "-1:2", "3:12:1", "0", "-5", str(1 << 63), "1.5"])
def test_a_wrong_event_gives_one_line(typed: str) -> None:
    with pytest.raises(InputError, match=r"must be PUBLISHER:NUMBER, such as 3:12, or an event's id$"):
        words.event_of(typed)


def test_a_node_is_typed_with_or_without_its_letter() -> None:
    assert [words.node_of(typed) for typed in ("7", "n7", " 7 ", 7)] == [7] * 4
    for typed in ("", "n", "-1", "x7", "7.0"):
        with pytest.raises(InputError, match=r"must be a node's number, such as 7$"):
            words.node_of(typed)


def test_clocks_of_simulations_begin_at_0_and_those_of_real_nodes_in_1970() -> None:
    assert words.clock(16_709_552) == "16.710 s"
    assert words.clock(1_794_855_563_364_216) == "2026-11-16 18:59:23.364 UTC"


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 us"),
        (999, "999 us"),
        (1_000, "1 ms"),
        (30_449, "30.4 ms"),
        (1_100_000, "1.1 s"),
        (99_400_000, "99.4 s"),
        (123_456_789, "123 s"),
        (-1_500, "-1.5 ms"),
    ],
)
def test_durations_have_three_digits(us: int, text: str) -> None:
    assert words.duration(us) == text


def test_of_many_nodes_only_the_first_are_named() -> None:
    assert words.nodes([4]) == "n4"
    assert words.nodes([4, 9]) == "n4 and n9"
    assert words.nodes([4, 9, 12, 1]) == "n4, n9, n12 and n1"
    assert words.nodes([4, 9, 12, 1, 2]) == "n4, n9, n12 and 2 more"


def test_parts_that_contain_and_are_separated_by_a_comma() -> None:
    assert words.together(["a", "b", "c"]) == "a, b and c"
    assert words.together(["a and b", "c"]) == "a and b, and c"


def test_of_a_long_way_the_ends_are_shown() -> None:
    assert words.way([3, 4, 7]) == "n3 → n4 → n7"
    assert words.way(list(range(8)), "–") == "n0 – n1 – … – n5 – n6 – n7"


def test_one_thing_is_in_the_singular() -> None:
    assert [words.counted(n, "hops") for n in (0, 1, 2, 1000)] == ["0 hops", "1 hop", "2 hops", "1,000 hops"]
    assert [words.times(n) for n in (1, 2, 3)] == ["once", "twice", "3 times"]


def test_the_content_of_an_event_in_short() -> None:
    assert words.content(Event(1, "news", {"t": 31, "room": "lab"})) == "topic news, t=31, room=lab"
    assert words.content(Event(1, "", {})) == "no topic, no attributes"
    assert words.content(Event(1, "", {f"a{k}": k for k in range(8)})).endswith("a5=5, …")


def test_validity() -> None:
    assert words.validity(Event(1, "a", validity_us=FOREVER)) == "valid for ever"
    assert words.validity(Event(1, "a", validity_us=180_000_000)) == "valid for 180 s"


def test_a_decision_is_the_protocols_sentence_with_the_name_of_the_event() -> None:
    from roamcast.protocols import registry

    registry.get("proximity")
    row = LogRow("r", 0, 5, "suppress", event_id(79, 18), 0, 57, 0, 0, "heard again")
    assert words.decision(row) == "suppress: 79:18 was sent by n57 first"
    assert words.decision(row._replace(reason="unheard of")) == "suppress: unheard of"
