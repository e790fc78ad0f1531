"""The frames of MPL as bytes: sizes, what comes back, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.mpl.frames import (
    SEED_MAX,
    SEQUENCE_MAX,
    VECTOR_MAX,
    WINDOW_MAX,
    ControlMessage,
    DataMessage,
    SeedInfo,
    control_messages,
)
from roamcast.protocols.mpl.protocol import Mpl
from roamcast.pubsub.event import FOREVER, Event
from tests.protocols.strategies import events

infos = st.lists(
    st.builds(SeedInfo, st.integers(0, SEED_MAX), st.integers(0, SEQUENCE_MAX), st.integers(0, (1 << WINDOW_MAX) - 1)),
    unique_by=lambda info: info.seed,
    max_size=40,
).map(lambda seeds: sorted(seeds, key=lambda info: info.seed))


def shown(frame: ControlMessage) -> list[tuple[int, int, int]]:
    return [(info.seed, info.min_sequence, info.vector) for info in frame.seeds]


@given(events, st.integers(0, 1), st.integers(0, FOREVER))
def test_a_data_message_comes_back_and_its_size_is_its_length(event: Event, newest: int, age_us: int) -> None:
    frame = DataMessage(event, newest, age_us)
    data = encode(Mpl, frame)
    assert len(data) == frame.size
    back = decode(Mpl, data)
    assert isinstance(back, DataMessage)
    assert (back.event, back.newest, back.age_us, back.id) == (event, newest, age_us, event.id)
    assert back.events() == [event]


@given(infos)
def test_a_control_message_comes_back_and_its_size_is_its_length(seeds: list[SeedInfo]) -> None:
    frame = ControlMessage(0, SEED_MAX, seeds)
    data = encode(Mpl, frame)
    assert len(data) == frame.size
    back = decode(Mpl, data)
    assert isinstance(back, ControlMessage)
    assert (back.low, back.high, shown(back)) == (0, SEED_MAX, shown(frame))


@given(infos, st.integers(64, 400))
def test_r6_parts_of_a_seed_set_cover_all_seeds_in_their_order_and_keep_the_limit(
    seeds: list[SeedInfo], limit: int
) -> None:
    parts = control_messages(seeds, limit)
    assert [row for part in parts for row in shown(part)] == shown(ControlMessage(0, SEED_MAX, seeds))
    assert (parts[0].low, parts[-1].high) == (0, SEED_MAX)
    for one, following in pairwise(parts):
        assert following.low == one.high + 1
    for part in parts:
        assert len(part.seeds) <= 1 or sum(info.size for info in part.seeds) <= limit
        decode(Mpl, encode(Mpl, part))


@pytest.mark.parametrize(
    "fields",
    [
        [0, SEED_MAX],
        [0, SEED_MAX, [1, 1]],
        [0, SEED_MAX, [1, 1, "x"]],
        [0, SEED_MAX, [1, -1, b""]],
        [0, SEED_MAX, [1, SEQUENCE_MAX + 1, b""]],
        [0, SEED_MAX, [SEED_MAX + 1, 1, b""]],
        [0, SEED_MAX, [1, 1, b"\1" * (VECTOR_MAX + 1)]],
        [0, SEED_MAX, [1, 1, b"\1\0"]],
        [0, SEED_MAX, [2, 1, b"", 1, 1, b""]],
        [0, SEED_MAX, [2, 1, b"", 2, 1, b""]],
        [0, 5, [6, 1, b""]],
        [3, 5, [2, 1, b""]],
        [-1, 5, []],
    ],
)
def test_a_control_message_that_is_none_is_refused(fields: list[Any]) -> None:
    with pytest.raises(Malformed):
        ControlMessage.from_fields(fields)


@pytest.mark.parametrize("fields", [[2, 0], [2, 0, [1, "", {}, b"", 0, 0]], [0, -1, [1, "", {}, b"", 0, 0]], [0, 0, 1]])
def test_a_data_message_that_is_none_is_refused(fields: list[Any]) -> None:
    with pytest.raises(Malformed):
        DataMessage.from_fields(fields)
