"""Which nodes are interested in which events, from the rows in their order."""

from __future__ import annotations

from roamcast.log.interest import PublishedEvent, published_events
from roamcast.log.reader import LogRow
from roamcast.log.schema import ANEW
from roamcast.pubsub.event import event_id

EVENT, OTHER = event_id(1, 1), event_id(1, 2)


def row(node: int, kind: str, event: int = 0, reason: str = "", value: int = 1000) -> LogRow:
    return LogRow("r", 0, node, kind, event, 0, -1, 0, value, reason)


def subscribe(node: int, number: int = 1, text: str = "t > 30") -> LogRow:
    return row(node, "subscribe", number, text)


def publish(node: int = 1, event: int = EVENT, t: int = 31, more: str = '"scope":"global"') -> LogRow:
    return row(node, "publish", event, f'{{"topic":"a.b","attrs":{{"t":{t}}},{more}}}')


def first(*rows: LogRow) -> PublishedEvent:
    return published_events(rows)[EVENT]


def test_a_matching_subscription_before_the_publication_counts() -> None:
    event = first(subscribe(5), subscribe(6, text="t < 30"), publish(), subscribe(7))
    assert event.interested == event.subscribers == {5}
    assert event.filters == {5: ["t > 30"]}
    assert (event.publisher, event.event.topic, event.event.attrs, event.event.validity_us) == (
        1,
        "a.b",
        {"t": 31},
        1000,
    )
    assert event.in_range is None


def test_the_publisher_is_a_subscriber_and_does_not_count_as_interested() -> None:
    event = first(subscribe(1), subscribe(5), publish())
    assert (event.interested, event.subscribers, event.own) == ({5}, {1, 5}, True)
    assert first(subscribe(5), publish()).own is False


def test_a_subscription_that_was_ended_or_replaced_does_not_count() -> None:
    assert first(subscribe(5), row(5, "unsubscribe", 1, "t > 30"), publish()).interested == set()
    assert first(subscribe(5), subscribe(5, text="t < 30"), publish()).interested == set()
    two = first(subscribe(5), subscribe(5, 2), row(5, "unsubscribe", 1, "t > 30"), publish())
    assert two.interested == {5}
    assert first(row(5, "unsubscribe", 4, "t > 30"), subscribe(5), publish()).interested == {5}


def test_nodes_that_sleep_or_are_down_are_subscribers_and_do_not_count() -> None:
    for leave, come in (("sleep", "wake"), ("crash", "recover")):
        away = first(subscribe(5), row(5, leave), publish())
        assert (away.interested, away.subscribers) == (set(), {5})
        assert first(subscribe(5), row(5, leave), row(5, come), publish()).interested == {5}
    both = (subscribe(5), row(5, "sleep"), row(5, "crash"), row(5, "wake"), publish())
    assert first(*both).interested == set()
    assert first(subscribe(1), row(1, "sleep"), publish()).own is False


def test_a_new_boot_forgets_subscriptions_and_a_recovery_does_not() -> None:
    boot = row(5, "recover", reason=ANEW)
    assert first(subscribe(5), row(5, "crash"), boot, publish()).subscribers == set()
    assert first(subscribe(5), row(5, "crash"), boot, subscribe(5), publish()).interested == {5}
    assert first(subscribe(5), subscribe(6), boot, publish()).interested == {6}


def test_a_local_event_interests_only_nodes_near_its_publisher() -> None:
    event = first(subscribe(5), subscribe(6), publish(more='"scope":"local","near":[4,6]'))
    assert (event.interested, event.subscribers, event.in_range) == ({6}, {5, 6}, [4, 6])


def test_of_several_publications_of_an_event_the_first_counts() -> None:
    assert first(subscribe(5), publish(), subscribe(6), publish()).interested == {5}


def test_one_event_of_many_can_be_requested() -> None:
    rows = [subscribe(5), publish(), subscribe(6), publish(event=OTHER)]
    assert published_events(rows).keys() == {EVENT, OTHER}
    only = published_events(rows, OTHER)
    assert only.keys() == {OTHER}
    assert only[OTHER].interested == published_events(rows)[OTHER].interested == {5, 6}
