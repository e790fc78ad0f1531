"""Rezende, Rocha, Loureiro: Publish/Subscribe Architecture for MANETs (2008), sentence by sentence."""

from __future__ import annotations

from collections import Counter

import pytest

from roamcast.protocols.psamanet import Psamanet, PsamanetParams, SubscriptionFrame
from roamcast.pubsub.event import Event, event_id
from roamcast.testing import ScriptHost
from tests.paper.rezende_nodes import SECOND, between, buffered, carrying, node, pass_ms, values
from tests.support.net import TinyNet


def publication(value: int, n: int | None = None, publisher: int = 9) -> Event:
    """§3: an event is a number above zero."""
    return Event(event_id(publisher, value if n is None else n), attrs={"v": value})


def fill(protocol: Psamanet, host: ScriptHost, values_: range) -> None:
    for value in values_:
        host.hear(protocol, carrying(publication(value)), 2)
    pass_ms(protocol, host, 5)
    host.sent.clear()


# ---- §3: the four occasions


def test_i_a_publication_is_broadcast_when_it_is_created() -> None:
    protocol, host = node()
    protocol.on_publish(publication(5, publisher=0))
    assert values(host) == [5]
    pass_ms(protocol, host, 10_000)
    assert values(host) == []


def test_ii_publications_are_broadcast_when_the_node_stops() -> None:
    protocol, host = node()
    fill(protocol, host, range(1, 4))
    protocol.on_motion(True)
    pass_ms(protocol, host, 60_000)
    assert host.sent == []
    protocol.on_motion(False)
    assert sorted(values(host)) == [1, 2, 3]
    assert host.labels("forward") == ["stopped"] * 3


def test_iii_a_publication_it_has_is_broadcast_when_a_new_subscription_matches_it() -> None:
    protocol, host = node()
    fill(protocol, host, range(1, 10))
    host.hear(protocol, SubscriptionFrame(between(3, 5)), 4)
    pass_ms(protocol, host, 1)
    assert sorted(values(host)) == [3, 4, 5]
    assert host.labels("forward") == ["asked"] * 3


def test_iv_a_received_publication_that_matches_a_stored_subscription_is_forwarded() -> None:
    protocol, host = node()
    host.hear(protocol, SubscriptionFrame(between(3, 5)), 4)
    for value in (2, 3, 5, 6):
        host.hear(protocol, carrying(publication(value)), 2)
    pass_ms(protocol, host, 1)
    assert sorted(values(host)) == [3, 5]
    assert host.labels("forward") == ["wanted"] * 2
    assert host.labels("suppress") == ["unwanted"] * 2


def test_a_publication_that_no_neighbour_wants_is_kept_and_not_sent() -> None:
    protocol, host = node()
    host.hear(protocol, carrying(publication(5)), 2)
    pass_ms(protocol, host, 10_000)
    assert host.sent == [] and buffered(protocol) == [5]


def test_movement_carries_a_publication_to_another_part_of_the_network() -> None:
    """§3: moving neighbours carry the publication and send it where they stop."""
    net = TinyNet(Psamanet, 3, [(0, 1)], s_prob=1.0)
    net.start()
    net.subscribe(2, between(1, 9))
    net.run(1)
    event = net.publish(0, attrs={"v": 5})
    net.run(1)
    net.cut(0, 1)
    net.nodes[1].on_motion(True)
    net.run(100)
    net.join(1, 2)
    net.nodes[1].on_motion(False)
    net.run(1)
    assert net.delivered(2) == [event.id] and net.delivered(1) == []


def test_duplicated_publications_are_ignored() -> None:
    """§3: a subscription or publication that a node already has changes nothing."""
    protocol, host = node(own_subscriptions=True)
    protocol.on_subscribe(1, between(1, 9))
    for sender in (2, 3, 2):
        protocol.on_frame(carrying(publication(5)), sender)
        pass_ms(protocol, host, 5)
    assert values(host) == [5] and len(host.delivered) == 1


def test_r4_duplicate_means_ever_seen() -> None:
    protocol, host = node(pb_size=1, duplicates="ever", own_subscriptions=True)
    protocol.on_subscribe(1, between(1, 9))
    pass_ms(protocol, host, 5)
    for value in (5, 6, 5):
        protocol.on_frame(carrying(publication(value)), 2)
        pass_ms(protocol, host, 5)
    assert values(host) == [5, 6]


def test_r4_or_duplicate_means_still_in_the_buffer_and_the_application_still_gets_it_once() -> None:
    protocol, host = node(pb_size=1, duplicates="buffer", own_subscriptions=True)
    protocol.on_subscribe(1, between(1, 9))
    pass_ms(protocol, host, 5)
    for value in (5, 5, 6, 5):
        host.hear(protocol, carrying(publication(value)), 2)
        pass_ms(protocol, host, 5)
    assert values(host) == [5, 6, 5]
    assert [event.attrs["v"] for event in host.delivered] == [5, 6]


@pytest.mark.parametrize(("own", "sent"), [(True, [5]), (False, [])])
def test_r5_own_subscriptions_count_in_occasion_iv_or_do_not(own: bool, sent: list[int]) -> None:
    protocol, host = node(own_subscriptions=own)
    protocol.on_subscribe(1, between(1, 9))
    host.hear(protocol, carrying(publication(5)), 2)
    pass_ms(protocol, host, 5)
    assert len(host.delivered) == 1 and values(host) == sent


def test_r5_foreign_subscriptions_count_either_way() -> None:
    for own in (True, False):
        protocol, host = node(own_subscriptions=own)
        host.hear(protocol, SubscriptionFrame(between(1, 9)), 4)
        host.hear(protocol, carrying(publication(5)), 2)
        pass_ms(protocol, host, 5)
        assert values(host) == [5] and host.delivered == []


def test_r7_own_publications_are_buffered_too() -> None:
    protocol, host = node()
    protocol.on_publish(publication(5, publisher=0))
    values(host)
    protocol.on_motion(True)
    protocol.on_motion(False)
    assert values(host) == [5]


# ---- §3.1: the publication buffer


def test_the_buffer_is_a_fifo_of_the_pb_size_most_recent_publications() -> None:
    """§3.1: a full queue drops its oldest event before it adds a new one."""
    protocol, host = node(pb_size=3)
    fill(protocol, host, range(1, 6))
    assert buffered(protocol) == [3, 4, 5]
    assert [event & 0xFFFFFFFF for kind, label, event, *_ in host.notes if label == "buffer full"] == [1, 2]


def test_a_duplicate_does_not_move_to_the_end_of_the_queue() -> None:
    protocol, host = node(pb_size=3, duplicates="buffer")
    for value in (1, 2, 3, 1, 4):
        host.hear(protocol, carrying(publication(value)), 2)
    assert buffered(protocol) == [2, 3, 4]


def test_at_most_pb_max_publications_are_forwarded_on_a_stop() -> None:
    """§3.1: if there are more, PB_max of them are drawn uniformly."""
    protocol, host = node(pb_max=4)
    fill(protocol, host, range(1, 11))
    protocol.on_motion(False)
    sent = values(host)
    assert len(sent) == len(set(sent)) == 4
    assert ("suppress", "not chosen", 0, -1, 6) in host.notes


def test_at_most_pb_max_publications_answer_a_subscription() -> None:
    protocol, host = node(pb_max=4)
    fill(protocol, host, range(1, 21))
    host.hear(protocol, SubscriptionFrame(between(11, 20)), 4)
    pass_ms(protocol, host, 5)
    sent = values(host)
    assert len(sent) == len(set(sent)) == 4 and min(sent) >= 11


def test_exactly_pb_max_publications_are_all_sent_without_a_draw() -> None:
    protocol, host = node(pb_max=4)
    fill(protocol, host, range(1, 5))
    host.draws = [0.5]
    protocol.on_motion(False)
    assert values(host) == [1, 2, 3, 4] and host.draws == [0.5]


def test_the_choice_is_uniform_without_replacement() -> None:
    """§3.1: "randomly chosen (uniformly)": every pair of four is equally likely."""
    protocol, host = node(pb_max=2)
    fill(protocol, host, range(1, 5))
    pairs: Counter[tuple[int, ...]] = Counter()
    for _ in range(3000):
        protocol.on_motion(False)
        pairs[tuple(sorted(values(host)))] += 1
    assert len(pairs) == 6 and all(abs(count - 500) < 90 for count in pairs.values())


# ---- §3.2: the subscription table


def test_a_subscription_is_broadcast_when_it_is_created() -> None:
    """§3.2: a new subscription is stored in the own table, then broadcast; R11: after the jitter."""
    protocol, host = node()
    protocol.on_subscribe(1, between(1, 9))
    assert host.sent == []
    pass_ms(protocol, host, 1)
    assert [frame.filter for frame in host.frames("subscription")] == [between(1, 9)]
    pass_ms(protocol, host, 10_000)
    assert len(host.sent) == 1 and host.timers == {}


def test_every_time_a_node_stops_it_sends_its_own_subscriptions_and_no_others() -> None:
    """§3.2: at each stop, the own subscriptions are sent again, one frame each."""
    protocol, host = node()
    protocol.on_subscribe(1, between(1, 2))
    protocol.on_subscribe(2, between(8, 9))
    host.hear(protocol, SubscriptionFrame(between(4, 5)), 4)
    pass_ms(protocol, host, 5)
    host.sent.clear()
    for _ in range(2):
        protocol.on_motion(True)
        assert host.sent == []
        host.hear(protocol, SubscriptionFrame(between(4, 5)), 4)
        protocol.on_motion(False)
        assert [frame.filter for frame in host.frames("subscription")] == [between(1, 2), between(8, 9)]
        host.sent.clear()


def test_a_subscription_goes_one_hop() -> None:
    """§3.2: foreign subscriptions are those "from neighbors"."""
    net = TinyNet(Psamanet, 3, [(0, 1), (1, 2)], s_prob=1.0)
    net.start()
    net.subscribe(0, between(1, 9))
    net.run(10)
    assert [len(n.st) for n in net.nodes] == [0, 1, 0]


def test_a_removed_subscription_is_not_sent_again() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, between(1, 9))
    protocol.on_unsubscribe(1)
    pass_ms(protocol, host, 5)
    protocol.on_motion(False)
    assert host.sent == [] and host.timers == {}


def test_when_a_node_moves_it_cleans_its_table_leaving_only_its_own_subscriptions() -> None:
    """§3.2: starting to move removes the subscriptions of others from the ST."""
    protocol, host = node()
    protocol.on_subscribe(1, between(1, 2))
    host.hear(protocol, SubscriptionFrame(between(8, 9)), 4)
    protocol.on_motion(True)
    assert protocol.st == {} and ("note", "cleaned", 0, -1, 1) in host.notes
    pass_ms(protocol, host, 5)
    for value in (1, 8):
        host.hear(protocol, carrying(publication(value)), 2)
    pass_ms(protocol, host, 5)
    assert values(host) == [] and [event.attrs["v"] for event in host.delivered] == [1]


def test_stopping_cleans_nothing() -> None:
    protocol, host = node()
    protocol.on_motion(True)
    host.hear(protocol, SubscriptionFrame(between(8, 9)), 4)
    protocol.on_motion(False)
    assert len(protocol.st) == 1


def test_a_foreign_subscription_is_valid_for_s_ttl_only() -> None:
    """§3.2: before the ST is used, expired subscriptions are removed; §4.1: 60 s."""
    protocol, host = node()
    host.hear(protocol, SubscriptionFrame(between(1, 9)), 4)
    host.advance(protocol, 60 * SECOND - 1)
    host.hear(protocol, carrying(publication(5)), 2)
    host.advance(protocol, 60 * SECOND)
    host.hear(protocol, carrying(publication(6)), 2)
    pass_ms(protocol, host, 5)
    assert values(host) == [5] and protocol.st == {}
    assert PsamanetParams().s_ttl_s == 60.0


def test_own_subscriptions_do_not_expire() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, between(1, 9))
    pass_ms(protocol, host, 3_600_000)
    host.hear(protocol, carrying(publication(5)), 2)
    assert len(host.delivered) == 1


def test_r9_a_duplicate_subscription_is_ignored_and_not_prolonged() -> None:
    protocol, host = node()
    fill(protocol, host, range(1, 3))
    for _ in range(2):
        host.hear(protocol, SubscriptionFrame(between(1, 9)), 4)
        pass_ms(protocol, host, 30_000)
    assert sorted(values(host)) == [1, 2]
    pass_ms(protocol, host, 1)
    host.hear(protocol, carrying(publication(5)), 2)
    pass_ms(protocol, host, 5)
    assert values(host) == []


def test_an_expired_subscription_that_is_sent_again_is_not_a_duplicate() -> None:
    """§3.2: an expired subscription counts as new when a neighbour sends it again."""
    protocol, host = node()
    fill(protocol, host, range(1, 3))
    for _ in range(2):
        host.hear(protocol, SubscriptionFrame(between(1, 9)), 4)
        pass_ms(protocol, host, 60_000)
    assert sorted(values(host)) == [1, 1, 2, 2]


def test_r9_the_same_range_from_another_neighbour_is_another_subscription() -> None:
    protocol, host = node()
    for sender in (4, 5):
        host.hear(protocol, SubscriptionFrame(between(1, 9)), sender)
    assert len(protocol.st) == 2


def test_a_subscription_is_accepted_with_probability_s_prob() -> None:
    """§3.2: a foreign subscription is accepted with probability S_prob."""
    protocol, host = node(s_prob=0.4)
    for sender in range(2, 4002):
        host.hear(protocol, SubscriptionFrame(between(1, 9)), sender)
    assert abs(len(protocol.st) / 4000 - 0.4) < 0.03
    assert host.labels("drop") == ["not accepted"] * (4000 - len(protocol.st))


def test_r8_a_refused_subscription_is_neither_stored_nor_answered() -> None:
    """§3.2: a refused subscription is not stored, and no matching publications are searched for."""
    protocol, host = node(s_prob=0.4)
    fill(protocol, host, range(1, 3))
    host.draws = [0.4]
    host.hear(protocol, SubscriptionFrame(between(1, 9)), 4)
    pass_ms(protocol, host, 5)
    assert host.sent == [] and protocol.st == {}


def test_r9_for_a_refused_subscription_there_is_a_new_draw() -> None:
    protocol, host = node(s_prob=0.4)
    host.draws = [0.4, 0.39]
    for _ in range(2):
        host.hear(protocol, SubscriptionFrame(between(1, 9)), 4)
    assert len(protocol.st) == 1


def test_r10_a_full_table_loses_its_oldest_subscription() -> None:
    protocol, host = node(st_size=2)
    for sender in (4, 5, 6):
        host.hear(protocol, SubscriptionFrame(between(1, 9)), sender)
    assert [sender for sender, _ in protocol.st] == [5, 6]


def test_r11_answers_have_a_random_delay_so_that_neighbours_do_not_answer_together() -> None:
    star = [(0, i) for i in range(1, 9)]
    net = TinyNet(Psamanet, 9, star, s_prob=1.0, jitter_ms=10.0, skew_us=0, own_subscriptions=True)
    net.start()
    for i in range(1, 9):
        net.subscribe(i, between(1, 9))
    net.run(1)
    published_us = net.now_us
    net.publish(0, attrs={"v": 5})
    net.run(1)
    times = [t for t, sender, _, _ in net.sends("event") if sender]
    assert len(set(times)) == 8
    assert published_us + 1000 <= min(times) and max(times) <= published_us + 11_000


def test_table_3_configuration_ii_is_the_default() -> None:
    params = PsamanetParams()
    assert (params.pb_size, params.pb_max, params.s_prob, params.s_ttl_s) == (200, 10, 0.4, 60.0)
    assert not params.own_subscriptions and params.duplicates == "ever"
