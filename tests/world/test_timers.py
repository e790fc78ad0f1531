"""Timers of simulated nodes, against a simple model."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.seen import HALF, SPREAD
from roamcast.world.timers import FEWEST, NONE, Timers
from tests.world.places import CELL
from tests.world.stage import Stage, Words

KEYS = st.integers(0, 3) | st.integers(-4, 20).map(lambda n: n << 40) | st.integers(-(1 << 61), 1 << 61)
STEPS = st.one_of(
    st.tuples(st.just("set"), KEYS),
    st.tuples(st.just("cancel"), KEYS),
    st.tuples(st.just("ring"), st.integers(0, 20)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=60))
@example([("set", 0), ("ring", 0), ("ring", 0)])
@example([("set", 0), ("set", 1), ("ring", 0), ("set", 1), ("ring", 1)])
def test_timers_behave_like_a_dictionary(steps: list[tuple[str, int]]) -> None:
    """One timer is stored apart from the others, without any visible effect."""
    station = Stage(CELL[:1]).stations[0]
    settings_made: list[int] = []  # the key of each setting, by serial
    counts: dict[int, int] = {}  # key -> serial of the setting that counts
    for what, number in steps:
        if what == "set":
            station.set_timer(number, 10)
            settings_made.append(number)
            counts[number] = len(settings_made)
        elif what == "cancel":
            station.cancel_timer(number)
            counts.pop(number, None)
        elif settings_made:
            serial = 1 + number % len(settings_made)
            key = settings_made[serial - 1]
            rings = counts.get(key) == serial
            assert station.goes_off(key, serial) == rings
            if rings:
                del counts[key]


@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=80))
def test_the_table_of_timers_is_a_dictionary(steps: list[tuple[int, bool]]) -> None:
    """Keys whose lowest bits are alike share slots, and a gap moves those behind it."""
    table, twin = Timers(), dict[int, int]()
    for serial, (key, is_set) in enumerate(steps, 1):
        if is_set:
            table.set(key, serial)
            twin[key] = serial
        else:
            table.remove(key)
            twin.pop(key, None)
        assert {each: table.serial(each) for each, _ in steps} == {each: twin.get(each, NONE) for each, _ in steps}
        assert len(table) == len(twin)


@given(st.integers(0, FEWEST - 1), st.permutations(range(2)), st.booleans())
def test_timers_behind_a_gap_are_still_found_also_across_the_end_of_the_table(
    first: int, order: list[int], same_home: bool
) -> None:
    """Two keys whose first slots are `first`, or `first` and the next one."""
    homes = [first, first if same_home else (first + 1) % FEWEST]
    near: list[int] = []
    for home in homes:
        near.append(
            next(k for k in range(4000) if k not in near and 2 * (k * SPREAD >> HALF) % (2 * FEWEST) == 2 * home)
        )
    table = Timers()
    for serial, k in enumerate(order, 1):
        table.set(near[k], serial)
    table.remove(near[order[0]])
    assert [table.serial(near[k]) for k in order] == [NONE, 2]
    assert sum(table.cells[slot] != NONE for slot in range(0, len(table.cells), 2)) == len(table) == 1


def test_a_timer_for_the_past_is_refused_and_the_one_that_is_set_stays() -> None:
    station = Stage(CELL[:1]).stations[0]
    station.set_timer(7, 10)
    with pytest.raises(ValueError, match="5 us ago"):
        station.set_timer(7, -5)
    assert station.goes_off(7, 1)


def test_a_station_that_forgets_has_no_timer_and_no_frame_left() -> None:
    stage = Stage(CELL[:2])
    station = stage.stations[0]
    station.set_timer(1, 10)
    station.set_timer(2, 10)
    for number in range(3):
        station.broadcast(Words(number, 10))
    station.forget()
    assert not station.goes_off(1, 1)
    assert not station.goes_off(2, 2)
    assert station.head is None
    assert not station.queue
    assert not stage.stations[1].queue


def test_queues_are_not_shared() -> None:
    stage = Stage(CELL)
    for number in range(3):
        stage.stations[0].broadcast(Words(number, 10))
    assert [len(station.queue) for station in stage.stations] == [2, 0, 0, 0]
