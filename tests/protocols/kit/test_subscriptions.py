"""A node's own subscriptions."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, topic
from tests.pubsub.strategies import events, filters

NEWS, SPORT = topic("news"), topic("sport")


def test_nothing_is_wanted_until_somebody_asks() -> None:
    assert not Subscriptions().match(Event(1, "news"))


def test_one_matching_filter_is_enough() -> None:
    wanted = Subscriptions()
    wanted.add(1, SPORT)
    wanted.add(2, NEWS)
    assert wanted.match(Event(1, "news"))
    assert not wanted.match(Event(1, "weather"))


def test_a_number_that_is_used_again_stands_for_the_new_filter() -> None:
    wanted = Subscriptions()
    wanted.add(1, SPORT)
    wanted.add(1, NEWS)
    assert wanted.all == [NEWS]


def test_what_was_not_there_can_be_taken_back() -> None:
    wanted = Subscriptions()
    wanted.add(1, NEWS)
    wanted.remove(2)
    assert wanted.all == [NEWS]


def test_a_list_that_was_handed_out_stays_as_it_was() -> None:
    wanted = Subscriptions()
    wanted.add(1, NEWS)
    handed = wanted.all
    wanted.add(2, EVERYTHING)
    wanted.remove(1)
    assert handed == [NEWS]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), filters), max_size=12), events)
def test_it_matches_what_any_of_its_filters_matches(steps: list[tuple[bool, int, Any]], event: Event) -> None:
    wanted, twin = Subscriptions(), {}
    for add, number, filter in steps:
        if add:
            wanted.add(number, filter)
            twin[number] = filter
        else:
            wanted.remove(number)
            twin.pop(number, None)
    assert wanted.match(event) == any(filter.matches(event) for filter in twin.values())
    assert wanted.all == list(twin.values())
