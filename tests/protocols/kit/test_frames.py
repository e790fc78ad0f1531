"""The frame that carries one event: its encoding, and the fields that it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols.gossip import Gossip
from roamcast.protocols.kit.frames import TTL_MAX, EventFrame
from roamcast.protocols.kit.wire import encode
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.testing import round_trip
from tests.protocols.strategies import events
from tests.support.storm import check_encoding

NEWS = Event(event_id(7, 1), "news")
EDGES_US = (0, 127, 128, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, FOREVER)


@given(st.builds(EventFrame, events, st.integers(0, TTL_MAX), st.integers(0, FOREVER) | st.sampled_from(EDGES_US)))
def test_its_size_is_right_and_it_is_decoded_unchanged(frame: EventFrame) -> None:
    check_encoding(Gossip, frame)


@pytest.mark.parametrize("ttl", [0, 1, 127, 128, 255])
@pytest.mark.parametrize("age_us", EDGES_US)
def test_its_size_is_right_where_the_encoding_of_an_int_grows(ttl: int, age_us: int) -> None:
    frame = EventFrame(NEWS, ttl, age_us)
    assert frame.size == len(encode(Gossip, frame))


def test_its_id_is_that_of_its_event() -> None:
    frame = EventFrame(NEWS, 3, 250)
    assert (frame.kind, frame.id, frame.cargo, frame.events()) == ("event", NEWS.id, NEWS, [NEWS])
    there = round_trip(Gossip, frame)
    assert isinstance(there, EventFrame)
    assert (there.ttl, there.age_us, there.event, there.cargo) == (3, 250, NEWS, NEWS)


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [0, 0],
        [0, 0, NEWS.fields(), 0],
        [-1, 0, NEWS.fields()],
        [TTL_MAX + 1, 0, NEWS.fields()],
        [1.0, 0, NEWS.fields()],
        [True, 0, NEWS.fields()],
        [0, -1, NEWS.fields()],
        [0, FOREVER + 1, NEWS.fields()],
        [0, None, NEWS.fields()],
        [0, 0, []],
        [0, 0, [0, *NEWS.fields()[1:]]],
        [0, 0, None],
    ],
)
def test_invalid_fields_are_malformed(fields: list[Any]) -> None:
    with pytest.raises(Malformed):
        EventFrame.from_fields(fields)


def test_the_largest_hop_count_and_age_are_accepted() -> None:
    assert EventFrame.from_fields([TTL_MAX, FOREVER, NEWS.fields()]).fields() == [TTL_MAX, FOREVER, NEWS.fields()]
