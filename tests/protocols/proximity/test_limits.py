"""Proximity-driven routing under attack and for a long time: its state is bounded."""

from __future__ import annotations

from roamcast.protocols.proximity.frames import Beacon, Message
from roamcast.protocols.proximity.protocol import BEACON_TIMER
from roamcast.pubsub.covering import summarise
from roamcast.pubsub.filters import EVERYTHING, topic
from tests.protocols.proximity.nodes import INTERVAL_US, NEWS, broker, news


def test_a_full_proximity_table_forgets_the_broker_that_was_heard_longest_ago() -> None:
    protocol, host = broker(table_limit=2)
    for other in (4, 5, 4, 6):
        host.clock_us += 1
        protocol.on_frame(Beacon(NEWS), other)
    assert list(protocol.pt.brokers) == [4, 6]
    assert host.notes == [("note", "table full", 0, 5, 0)]


def test_a_full_destination_list_takes_no_new_broker_but_proximities_are_still_lowered() -> None:
    protocol, host = broker(destinations_limit=2, jitter_ms=0.0)
    for other in (4, 5):
        protocol.on_frame(Beacon(NEWS), other)
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Message(news(1), 0, {4: 100, 9: 300}, 0), 1)
    host.advance(protocol, 1)
    assert [frame.destinations for frame in host.frames("event")] == [{4: 0, 9: 300}]
    host.hear(protocol, Message(news(2), 0, {8: 100, 9: 300}, 0), 1)
    assert host.labels("drop") == ["no closer"]
    assert len(host.delivered) == 2


def test_the_oldest_id_makes_room_and_its_waiting_message_is_dropped() -> None:
    protocol, host = broker(seen_limit=3, max_delay_s=1.0)
    protocol.on_frame(Beacon(NEWS), 4)
    host.clock_us += 5 * INTERVAL_US
    for sequence in range(1, 6):
        host.hear(protocol, Message(news(sequence), 0, {}, 0), 1)
    remembered = protocol.received.in_order()
    assert remembered == list(protocol.scheduled) == sorted(host.timers) == [news(k).id for k in (3, 4, 5)]
    assert host.labels("drop") == ["forgotten", "forgotten"]
    assert sorted(host.muted) == [news(1).id, news(2).id]


def test_a_broker_that_is_forgotten_between_two_messages_gives_no_reason_to_send_the_second() -> None:
    protocol, host = broker(jitter_ms=0.0)
    protocol.on_start()
    protocol.on_frame(Beacon(NEWS), 4)
    host.hear(protocol, Message(news(1), 0, {}, 0), 1)
    host.advance(protocol, 12 * INTERVAL_US)
    assert len(protocol.pt) == 0
    host.hear(protocol, Message(news(2), 0, {}, 0), 1)
    assert [event for kind, _, event, _, _ in host.notes if kind == "forward"] == [news(1).id]
    assert host.labels("drop") == ["no closer"]


def test_the_predicate_of_a_single_subscription_is_the_same_object() -> None:
    either = NEWS | topic("sport")
    for asked, limit, same in ((NEWS, 1, True), (either, 8, True), (either, 1, False)):
        protocol, host = broker(predicate_limit=limit)
        protocol.on_subscribe(1, asked)
        protocol.every_interval()
        (beacon,) = host.frames("beacon")
        assert isinstance(beacon, Beacon)
        assert beacon.predicate == summarise([asked], limit)
        assert (beacon.predicate is asked) is same


def test_a_message_is_muted_when_no_later_copy_can_change_anything_and_not_before() -> None:
    protocol, host = broker(jitter_ms=0.0)
    protocol.on_frame(Beacon(NEWS), 4)
    host.clock_us += INTERVAL_US
    protocol.on_publish(news(1, 0))
    host.hear(protocol, Message(news(2), 0, {4: 0}, 0), 1)
    host.hear(protocol, Message(news(3), 0, {}, 0), 1)
    assert sorted(host.muted) == [news(1, 0).id, news(2).id]
    host.advance(protocol, host.clock_us + 10_000)
    assert news(3).id in host.muted
    host.hear(protocol, Message(news(4), 0, {}, 0), 1)
    host.hear(protocol, Message(news(4), 0, {}, 0), 2)
    assert news(4).id in host.muted


def test_memory_counts_the_proximity_table_and_nothing_else() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    assert protocol.memory() == (0, 0)
    protocol.on_frame(Beacon(NEWS), 4)
    protocol.on_frame(Beacon(EVERYTHING), 5)
    host.hear(protocol, Message(news(1), 0, {}, 0), 1)
    assert protocol.memory() == (2, 2 * 16 + Beacon(NEWS).size + Beacon(EVERYTHING).size)


def test_a_received_frame_is_not_changed() -> None:
    """All receivers of a simulated frame share one object."""
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    protocol.on_frame(Beacon(NEWS), 4)
    m = Message(news(1), 3, {4: 500}, 0)
    before = m.fields()
    host.hear(protocol, m, 1)
    host.advance(protocol, INTERVAL_US)
    assert m.fields() == before != host.frames("event")[0].fields()


def test_publishing_an_event_twice_sends_it_once() -> None:
    protocol, host = broker()
    protocol.on_publish(news(1, 0))
    protocol.on_publish(news(1, 0))
    assert len(host.frames("event")) == 1


def test_a_timer_that_belongs_to_nothing_is_ignored() -> None:
    protocol, host = broker()
    protocol.on_timer(12345)
    assert host.effects == []


def test_state_stays_bounded_over_a_long_steady_run() -> None:
    """A thousand brokers and five thousand messages pass by; most messages still wait when the next one arrives."""
    protocol, host = broker(table_limit=50, seen_limit=40, beacon_interval_s=1.0, max_delay_s=2.0)
    protocol.on_start()
    for k in range(1, 5001):
        host.advance(protocol, k * 10_000)
        if k % 5 == 0:
            protocol.on_frame(Beacon(NEWS), k)
        host.hear(protocol, Message(news(k), 0, {}, 0), 1)
        assert len(protocol.pt) <= 50
        assert len(protocol.received) <= 40
        assert len(protocol.scheduled) <= 40
        assert len(host.timers) <= 41
    assert len(protocol.pt) == 50
    host.advance(protocol, 70_000_000)
    assert (len(protocol.pt), protocol.scheduled, list(host.timers)) == (0, {}, [BEACON_TIMER])
