"""Events: they are decoded unchanged, and wrong fields are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from roamcast.errors import Malformed
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, MAX_ATTRIBUTES, Event, event_from_fields, event_id
from tests.protocols.strategies import events
from tests.pubsub.strategies import msgpack_values

NO_ATTRIBUTES: list[Any] = [None, [], {1: 2}, {"t": None}, {"t": [1]}, {"t": b"x"}, {"t": {}}]
PLAIN = [event_id(7, 1), "news", {"t": 3}, b"x", 1000, LOCAL]


def test_events_at_the_end_of_a_long_chain_take_nothing_along() -> None:
    """Deep inside a deallocation CPython puts an object aside by its collector's head, so an event must have one."""
    made = [Event(event_id(1, k + 1)) for k in range(4000)]
    kept = made[::2]
    sizes = [event.size for event in kept]
    chain: tuple[Any, ...] = ()
    for event in made[1::2]:
        chain = (chain, event)
    del made, event, chain
    assert [event.size for event in kept] == sizes


@given(events)
def test_an_event_is_decoded_unchanged_and_states_its_size(event: Event) -> None:
    data = msgspec.msgpack.encode(event.fields())
    assert event.size == len(data)
    there = event_from_fields(msgspec.msgpack.decode(data))
    assert there == event
    assert (there.size, there.validity_us, there.scope) == (event.size, event.validity_us, event.scope)


@given(msgpack_values)
def test_anything_else_is_malformed(fields: Any) -> None:
    with pytest.raises(Malformed):
        event_from_fields(fields)


@pytest.mark.parametrize(
    "place, value",
    [
        *((0, value) for value in (0, -1, 1 << 63, True, 1.0, "1", None)),  # 0 is the id of frames that are never muted
        *((1, value) for value in (b"news", 1, None, ["news"])),
        *((2, value) for value in NO_ATTRIBUTES),
        (2, {f"a{k}": k for k in range(MAX_ATTRIBUTES + 1)}),
        *((3, value) for value in ("x", None, 1)),
        *((4, value) for value in (-1, FOREVER + 1, True, 1.0, None)),
        *((5, value) for value in (-1, 2, True, 1.0, None)),
    ],
)
def test_an_impossible_field_is_malformed(place: int, value: Any) -> None:
    fields = list(PLAIN)
    fields[place] = value
    with pytest.raises(Malformed):
        event_from_fields(fields)


@pytest.mark.parametrize(
    "place, value",
    [
        (0, 1),
        (0, (1 << 63) - 1),
        (1, ""),
        (2, {f"a{k}": True for k in range(MAX_ATTRIBUTES)}),
        (3, b""),
        (4, FOREVER),
        (5, GLOBAL),
    ],
)
def test_the_smallest_and_largest_values_are_accepted(place: int, value: Any) -> None:
    fields = list(PLAIN)
    fields[place] = value
    assert event_from_fields(fields).id == fields[0]


def test_a_field_too_few_or_too_many_is_malformed() -> None:
    for fields in (PLAIN[:5], [*PLAIN, 0], tuple(PLAIN)):
        with pytest.raises(Malformed):
            event_from_fields(fields)


def test_an_encoded_validity_of_zero_means_for_ever() -> None:
    assert Event(1).fields()[4] == 0
    assert event_from_fields([*PLAIN[:4], 0, GLOBAL]).validity_us == FOREVER


def test_an_id_contains_its_publisher() -> None:
    assert Event(event_id(7, 3)).publisher == 7
    assert event_id(7, 3) & 0xFFFFFFFF == 3


def test_events_are_values() -> None:
    assert Event(1, "a") == Event(1, "a")
    assert Event(1, "a") != Event(1, "b")
    assert Event(1, "a") != [1, "a", {}, b"", 0, 0]
    assert len({Event(1, "a"), Event(1, "a")}) == 1
    assert repr(Event(16, "a", {"t": 1})) == "Event(0x10, 'a', {'t': 1})"
