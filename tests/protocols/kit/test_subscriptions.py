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


def test_nothing_matches_without_a_subscription() -> None:
    assert not Subscriptions().match(Event(1, "news"))


def test_one_matching_filter_is_enough() -> None:
    subscriptions = Subscriptions()
    subscriptions.add(1, SPORT)
    subscriptions.add(2, NEWS)
    assert subscriptions.match(Event(1, "news"))
    assert not subscriptions.match(Event(1, "weather"))


def test_a_number_that_is_used_again_stands_for_the_new_filter() -> None:
    subscriptions = Subscriptions()
    subscriptions.add(1, SPORT)
    subscriptions.add(1, NEWS)
    assert subscriptions.all == [NEWS]


def test_removing_an_unknown_subscription_does_nothing() -> None:
    subscriptions = Subscriptions()
    subscriptions.add(1, NEWS)
    subscriptions.remove(2)
    assert subscriptions.all == [NEWS]


def test_a_list_that_was_handed_out_does_not_change() -> None:
    subscriptions = Subscriptions()
    subscriptions.add(1, NEWS)
    handed = subscriptions.all
    subscriptions.add(2, EVERYTHING)
    subscriptions.remove(1)
    assert handed == [NEWS]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), filters), max_size=12), events)
def test_it_matches_an_event_if_any_of_its_filters_does(steps: list[tuple[bool, int, Any]], event: Event) -> None:
    subscriptions, twin = Subscriptions(), {}
    for add, number, filter in steps:
        if add:
            subscriptions.add(number, filter)
            twin[number] = filter
        else:
            subscriptions.remove(number)
            twin.pop(number, None)
    assert subscriptions.match(event) == any(filter.matches(event) for filter in twin.values())
    assert subscriptions.all == list(twin.values())
