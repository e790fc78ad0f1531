"""Baldoni et al. 2005, content-based routing in highly dynamic MANETs: a test for each sentence that is a rule.

Proximities are in thousandths, as on the wire: 500 is the paper's 0.5, five beacons missed of ten.
"""

from __future__ import annotations

import pytest

from roamcast.protocols.proximity.frames import INFINITE, Beacon, Message
from roamcast.protocols.proximity.protocol import Proximity
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import NOTHING, topic
from tests.paper.baldoni_nodes import (
    DELAY_US,
    INTERVAL_US,
    LATE_US,
    NEWS,
    broker,
    message,
    met,
    news,
    proximity,
    sent,
    sent_after,
)
from tests.support.net import TinyNet

# ---- III-C: beacons, proximity


def test_3c_each_broker_periodically_broadcasts_a_beacon_with_the_predicate_that_summarises_its_table() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, topic("news"))
    protocol.on_subscribe(2, topic("sport"))
    protocol.on_start()
    host.advance(protocol, LATE_US + 4 * INTERVAL_US - 1)
    beacons = [frame for frame in host.frames("beacon") if isinstance(frame, Beacon)]
    assert len(beacons) == 4
    for name, matches in (("news", True), ("sport", True), ("weather", False)):
        assert beacons[0].predicate.matches(Event(1, name)) is matches


def test_3c_a_broker_that_hears_a_beacon_stores_the_predicate_and_the_time_in_its_proximity_table() -> None:
    protocol, _ = broker()
    protocol.on_frame(Beacon(NEWS), 4)
    assert list(protocol.pt.brokers) == [4]
    assert protocol.pt.preds == [NEWS]
    assert list(protocol.pt.times_us) == [LATE_US]


def test_3c_proximity_is_infinite_between_brokers_that_never_met_and_zero_between_adjacent_ones() -> None:
    protocol, _ = broker()
    assert proximity(protocol, 4) == INFINITE
    met(protocol, 4, missed=0)
    assert proximity(protocol, 4) == 0


def test_3c_the_destination_list_holds_the_lowest_proximity_of_all_brokers_that_sent_the_message() -> None:
    protocol, host = broker()
    for other, missed in ((4, 3), (5, 3), (6, 3)):
        met(protocol, other, missed)
    host.hear(protocol, message({4: 500, 5: 200, 7: 900}), 1)
    host.advance(protocol, LATE_US + DELAY_US)
    assert sent(host)[0].destinations == {4: 300, 5: 200, 6: 300, 7: 900}


def test_3c_a_message_keeps_the_identifier_that_its_source_gave_it() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=1)
    host.hear(protocol, message(), 1)
    host.advance(protocol, LATE_US + DELAY_US)
    assert sent(host)[0].event is not None
    assert sent(host)[0].id == sent(host)[0].event.id == news().id


def test_3c_i_a_broker_resends_a_message_when_it_knows_a_broker_that_the_list_does_not_mention() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=7)
    host.hear(protocol, message({5: 0}), 1)
    assert sent_after(protocol, host) is not None
    assert host.labels("forward") == ["new destination"]


def test_3c_ii_a_broker_resends_a_message_when_its_table_has_a_lower_proximity_than_the_list() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=3)
    host.hear(protocol, message({4: 400}), 1)
    assert sent_after(protocol, host) is not None
    assert host.labels("forward") == ["closer"]


@pytest.mark.parametrize("missed", range(11))
def test_3c_the_delay_is_proportional_to_the_proximity(missed: int) -> None:
    protocol, host = broker()
    met(protocol, 4, missed)
    host.hear(protocol, message(), 1)
    assert sent_after(protocol, host) == missed * DELAY_US // 10


def test_3c_a_message_heard_again_during_the_delay_is_silently_dropped() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=5)
    host.hear(protocol, message(), 1)
    host.clock_us += DELAY_US // 4
    host.hear(protocol, message({8: 900}), 2)  # the identifier alone makes it the same message
    host.advance(protocol, LATE_US + 2 * DELAY_US)
    assert sent(host) == []
    assert host.labels("suppress") == ["heard again"]
    assert host.timers == {}


def test_3c_another_message_heard_during_the_delay_changes_nothing() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=5)
    host.hear(protocol, message(), 1)
    host.hear(protocol, message(event=news(2)), 2)
    host.advance(protocol, LATE_US + 2 * DELAY_US)
    assert [frame.event.id for frame in sent(host)] == [news(1).id, news(2).id]


def test_fig2_the_adjacent_broker_suppresses_the_farther_one_and_the_next_does_not_send() -> None:
    """b0 publishes; b1 is adjacent to b4 and sends at once; b2, five beacons away, hears it and drops its copy; b3,
    adjacent to b4 too, reads proximity 0 and ignores the message."""
    net = TinyNet(Proximity, 5, links=[(0, 1), (0, 2), (1, 2), (1, 3), (1, 4), (3, 4), (2, 4)])
    net.subscribe(4, NEWS)
    net.start()
    net.run(12)
    net.cut(2, 4)
    b2 = net.nodes[2]
    assert isinstance(b2, Proximity)
    while proximity(b2, 4) < 500:
        net.run(0.5)
    event = net.publish(0, topic="news")
    net.run(2)
    messages = [(sender, frame) for _, sender, _, frame in net.sends("event")]
    assert [sender for sender, _ in messages] == [0, 1]
    assert [frame.destinations for _, frame in messages if isinstance(frame, Message)] == [{}, {4: 0}]
    assert net.delivered(4) == [event.id]
    assert net.hosts[2].labels("delay") == ["new destination"]
    assert net.hosts[2].labels("suppress") == ["heard again"]
    assert net.hosts[3].labels("drop") == ["no closer"]


def test_fig4_the_message_finds_d_f_and_g() -> None:
    """S knows D at 0.9; A forwards for D and for G, new to the list; then B for D, C for F and G, and E for both, each
    once and in this order."""
    S, A, B, C, D, E, F, G = range(8)
    links = [(S, A), (A, B), (A, C), (B, D), (C, E), (E, F), (E, G)]
    net = TinyNet(Proximity, 8, links, jitter_ms=0.0)
    net.now_us = LATE_US
    for subscriber in (D, F, G):
        net.subscribe(subscriber, NEWS)
    tables = {S: {D: 9}, A: {D: 8, G: 6}, B: {D: 0}, C: {F: 5, G: 4}, E: {F: 0, G: 0}}
    for at, table in tables.items():
        for other, missed in table.items():
            net.now_us = LATE_US - missed * INTERVAL_US
            net.nodes[at].on_frame(Beacon(NEWS), other)
    net.now_us = LATE_US
    event = net.publish(S, topic="news")
    net.run(2)
    messages = [(t, sender, frame) for t, sender, _, frame in net.sends() if isinstance(frame, Message)]
    senders = [sender for _, sender, _ in messages]
    assert senders[:2] == [S, A]
    assert sorted(senders[2:4]) == [B, C]
    assert senders[4:] == [E]
    times = [t for t, _, _ in messages]
    assert times == sorted(times)
    assert {sender: frame.destinations for _, sender, frame in messages} == {
        S: {D: 900},
        A: {D: 800, G: 600},
        B: {D: 0, G: 600},
        C: {D: 800, G: 400, F: 500},
        E: {D: 800, G: 0, F: 0},
    }
    assert [i for i in range(8) if net.delivered(i) == [event.id]] == [D, F, G]


# ---- IV: the tables


def test_4_the_subscription_table_holds_pairs_of_predicate_and_subscriber() -> None:
    protocol, _ = broker()
    protocol.on_subscribe(7, NEWS)
    protocol.on_subscribe(8, topic("sport"))
    assert list(zip(protocol.st.numbers, protocol.st.all, strict=True)) == [(7, NEWS), (8, topic("sport"))]
    protocol.on_unsubscribe(7)
    assert list(protocol.st.numbers) == [8]


def test_4_a_removed_subscription_is_not_in_the_next_beacon() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    protocol.on_start()
    host.advance(protocol, LATE_US + INTERVAL_US)
    protocol.on_unsubscribe(1)
    host.advance(protocol, LATE_US + 2 * INTERVAL_US)
    predicates = [frame.predicate for frame in host.frames("beacon") if isinstance(frame, Beacon)]
    assert [p.matches(news()) for p in predicates] == [True, False]


def test_4_beacons_are_an_interval_apart() -> None:
    protocol, host = broker(beacon_interval_s=2.0)
    protocol.on_start()
    first = host.timers[0]
    host.advance(protocol, first)
    assert host.timers[0] == first + 2_000_000


def test_4_a_beacon_heard_again_refreshes_its_entry() -> None:
    protocol, _ = broker()
    met(protocol, 4, missed=6)
    assert proximity(protocol, 4) == 600
    protocol.on_frame(Beacon(NEWS), 4)
    assert proximity(protocol, 4) == 0
    assert len(protocol.pt) == 1


def test_4_a_new_predicate_of_a_known_broker_replaces_the_old_one() -> None:
    protocol, host = broker()
    protocol.on_frame(Beacon(NEWS), 4)
    protocol.on_frame(Beacon(topic("sport")), 4)
    host.hear(protocol, message(), 1)
    assert sent_after(protocol, host) is None


def test_4_after_ten_intervals_entries_are_deleted() -> None:
    """Entries with more than ten missed beacons: with exactly ten, an entry is not older than ten."""
    protocol, host = broker()
    met(protocol, 4, missed=10)
    host.clock_us += 1
    met(protocol, 5, missed=10)
    protocol.every_interval()
    assert list(protocol.pt.brokers) == [5]


@pytest.mark.parametrize("missed", range(11))
def test_4_proximity_is_the_number_of_missed_beacons_divided_by_ten(missed: int) -> None:
    protocol, host = broker()
    met(protocol, 4, missed)
    assert proximity(protocol, 4) == missed * 100
    host.clock_us += INTERVAL_US - 1
    assert proximity(protocol, 4) == missed * 100


# ---- IV: forwarding


def test_4_a_message_received_before_is_dropped_without_any_further_processing() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, message(), 1)
    met(protocol, 4, missed=0)
    protocol.on_frame(message({}, credit=5), 2)
    assert sent_after(protocol, host) is None
    assert len(host.delivered) == 1


def test_4_a_matching_message_is_delivered_and_the_broker_puts_itself_on_the_list_at_zero() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, topic("sport"))
    protocol.on_subscribe(2, NEWS)
    met(protocol, 4, missed=2)
    host.hear(protocol, message({0: 700}), 1)
    assert host.delivered == [news()]
    assert sent_after(protocol, host) is not None
    assert sent(host)[0].destinations == {0: 0, 4: 200}


def test_4_a_message_that_matches_no_subscription_is_not_delivered_and_the_broker_not_on_its_list() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, topic("sport"))
    met(protocol, 4, missed=2)
    host.hear(protocol, message(), 1)
    assert host.delivered == []
    assert sent_after(protocol, host) is not None
    assert sent(host)[0].destinations == {4: 200}


def test_4_being_a_subscriber_is_no_reason_to_send() -> None:
    protocol, host = broker()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, message(), 1)
    assert sent_after(protocol, host) is None
    assert host.labels("drop") == ["no closer"]


@pytest.mark.parametrize(("carried", "sends"), [(300, False), (301, True), (299, False)])
def test_4_the_proximity_must_be_strictly_lower_than_the_one_carried(carried: int, sends: bool) -> None:
    protocol, host = broker()
    met(protocol, 4, missed=3)
    host.hear(protocol, message({4: carried}), 1)
    assert (sent_after(protocol, host) is not None) is sends


def test_4_when_several_brokers_are_a_reason_the_delay_is_that_of_the_lowest_proximity() -> None:
    protocol, host = broker()
    for other, missed in ((4, 6), (5, 2), (6, 8)):
        met(protocol, other, missed)
    host.hear(protocol, message({6: 900}), 1)
    assert sent_after(protocol, host) == 2 * DELAY_US // 10


def test_4_brokers_that_are_no_reason_to_send_do_not_shorten_the_delay() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=6)
    met(protocol, 5, missed=1)
    met(protocol, 6, missed=0, predicate=NOTHING)
    host.hear(protocol, message({5: 100}), 1)
    assert sent_after(protocol, host) == 6 * DELAY_US // 10


# ---- IV: credits


def test_4_without_reason_and_credit_a_message_is_dropped() -> None:
    protocol, host = broker()
    host.hear(protocol, message(credit=0), 1)
    assert sent_after(protocol, host) is None
    assert host.labels("drop") == ["no closer"]


def test_4_a_credit_forces_the_retransmission_with_the_delay_of_proximity_one() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=0)
    host.hear(protocol, message({4: 0}, credit=3), 1)
    assert sent_after(protocol, host) == DELAY_US
    assert sent(host)[0].credit == 2
    assert sent(host)[0].destinations == {4: 0}
    assert host.labels("forward") == ["credit"]


def test_4_a_retransmission_for_proximity_spends_no_credit() -> None:
    protocol, host = broker()
    met(protocol, 4, missed=0)
    host.hear(protocol, message(credit=3), 1)
    assert sent_after(protocol, host) == 0
    assert sent(host)[0].credit == 3


def test_4_forwarding_due_to_credit_is_cancelled_by_forwarding_due_to_proximity() -> None:
    """0 publishes; 1 knows no broker and would spend a credit; 2 missed one beacon of the subscriber and sends
    first."""
    net = TinyNet(Proximity, 4, links=[(0, 1), (0, 2), (1, 2)], credits=1)
    net.subscribe(3, NEWS)
    net.start()
    net.join(2, 3)
    net.run(6)
    net.cut(2, 3)
    net.run(6)
    net.publish(0, topic="news")
    net.run(1)
    assert [sender for _, sender, _, _ in net.sends("event")] == [0, 2]
    assert net.hosts[1].labels("delay") == ["credit"]
    assert net.hosts[1].labels("suppress") == ["heard again"]


def test_4_a_published_message_starts_with_the_configured_credits() -> None:
    protocol, host = broker(credits=4)
    protocol.on_publish(news(publisher=0))
    assert sent(host)[0].credit == 4
