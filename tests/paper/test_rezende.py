"""Rezende, Rocha, Loureiro: Publish/Subscribe Architecture for MANETs (2008), sentence by sentence."""

from __future__ import annotations

import math
from collections import Counter
from statistics import mean, pstdev

import pytest

from roamcast.log.writer import LogSink
from roamcast.papers import presets
from roamcast.protocols.psamanet import Psamanet, PsamanetParams, PublicationFrame, SubscriptionFrame
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import Range
from roamcast.testing import ScriptHost, make
from roamcast.world import mobility
from roamcast.world.assembly import build
from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.stationary import Speeds
from roamcast.world.streams import Stream
from roamcast.world.workload import NUMBERS, Workload
from tests.support.net import TinyNet

SECOND = 1_000_000


def between(low: int, high: int) -> Range:
    """§3: a subscription is an interval of values, [v_min, v_max]."""
    return Range("v", low, high)


def publication(value: int, n: int | None = None, publisher: int = 9) -> Event:
    """§3: an event is a number above zero."""
    return Event(event_id(publisher, value if n is None else n), attrs={"v": value})


def carrying(event: Event, age_us: int = 0) -> PublicationFrame:
    return PublicationFrame(event, age_us)


def node(**params: object) -> tuple[Psamanet, ScriptHost]:
    """A node that accepts every subscription and answers within a millisecond."""
    protocol, host = make(Psamanet, **{"s_prob": 1.0, "jitter_ms": 1.0, **params})
    protocol.on_start()
    return protocol, host


def pass_ms(protocol: Psamanet, host: ScriptHost, ms: int) -> None:
    host.advance(protocol, host.clock_us + ms * 1000)


def values(host: ScriptHost) -> list[int]:
    """The values that were broadcast since the last call."""
    sent = [frame.event.attrs["v"] for frame in host.frames("event")]
    host.sent.clear()
    return sent


def buffered(protocol: Psamanet) -> list[int]:
    """The values in the PB, oldest first."""
    return [p.event.attrs["v"] for p in protocol.pb.events()]


def fill(protocol: Psamanet, host: ScriptHost, values_: range) -> None:
    for value in values_:
        host.hear(protocol, carrying(publication(value)), 2)
    pass_ms(protocol, host, 5)
    host.sent.clear()


# --------------------------------------------------------------------------------------------- §3: the four occasions


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


# --------------------------------------------------------------------------------------- §3.1: the publication buffer


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


# --------------------------------------------------------------------------------------- §3.2: the subscription table


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


# ------------------------------------------------------------------------------------- §4: readings of the experiment

PAPER = presets.load("rezende")


def interested_nodes(interested: str) -> tuple[float, set[float]]:
    """The mean number of nodes that a publication interests, and the widths of ranges as shares of R."""
    workload = Workload(PAPER.scenario({"interested": interested}), seed=1)
    widths = {round((filter.high - filter.low) / NUMBERS, 5) for _, filter in workload.filters}
    wanting = []
    for p in workload.publications:
        event = Event(1, p.topic, p.attrs)
        wanting.append(len({node for node, filter in workload.filters if filter.matches(event)}))
    return mean(wanting), widths


def test_r1_a_publication_interests_a_fifth_of_the_nodes_and_needs_ranges_of_about_a_tenth() -> None:
    """§4: a publication should interest a fifth of the nodes."""
    assert PAPER.values["interested"] == 0.2
    nodes, widths = interested_nodes("0.2")
    assert nodes == pytest.approx(0.2 * 200, rel=0.1)
    (width,) = widths
    assert 0.1 < width < 0.125  # 1 - sqrt(0.8), and a little more because a range may begin below the first number


def test_r1_or_ranges_are_a_400th_and_a_publication_interests_one_node() -> None:
    """§4: S_range = R/400, from 200 nodes with two subscriptions each."""
    nodes, widths = interested_nodes("0.005")
    assert nodes == pytest.approx(1.0, rel=0.15)
    (width,) = widths
    assert width == pytest.approx(1 / 400, rel=0.01)


def test_r2_speeds_are_normal_around_the_middle_and_cut_at_both_ends() -> None:
    """Table 2: "[1.5, 4.0] m/s (normally)"; a quarter of the width is our deviation, so the cut is at two
    deviations."""
    s = PAPER.scenario()
    assert (s.speed_min_mps, s.speed_max_mps, s.speed_law) == (1.5, 4.0, "normal")
    speeds, stream = Speeds(s.speed_min_mps, s.speed_max_mps, s.speed_law), Stream(1, 0, "speeds")
    drawn = [speeds.draw(stream) for _ in range(20_000)]
    assert min(drawn) >= 1.5 and max(drawn) <= 4.0
    assert mean(drawn) == pytest.approx(2.75, abs=0.02)
    assert pstdev(drawn) == pytest.approx(
        0.8796 * 0.625, rel=0.02
    )  # the deviation of a normal law that is cut at two deviations
    within_one = sum(abs(v - 2.75) < 0.625 for v in drawn) / len(drawn)
    assert within_one == pytest.approx(0.6827 / 0.9545, abs=0.015)  # 0.5 if they were uniform


def first_legs(start: str = "stationary") -> list[Leg]:
    s = PAPER.scenario({"start": start})
    return [mobility.build(s, seed).first(i, Stream(seed, i, "mobility")) for seed in range(1, 16) for i in range(200)]


def test_r3_the_share_of_walking_nodes_at_the_start_is_the_long_run_share() -> None:
    """The share of walking nodes is E[walk] / (E[walk] + E[pause]), with mean legs of 0.5214 sides and pauses of 300
    s."""
    s = PAPER.scenario()
    speeds, stream = Speeds(1.5, 4.0, "normal"), Stream(1, 0, "speeds")
    slowness = mean(1 / speeds.draw(stream) for _ in range(20_000))
    walk_s = 0.5214 * math.sqrt(s.width_m * s.height_m) * slowness
    legs = first_legs()
    walking = [leg for leg in legs if leg.vx or leg.vy]
    assert len(walking) / len(legs) == pytest.approx(walk_s / (walk_s + 300.0), abs=0.03)


def test_r3_pauses_at_the_start_are_longer_than_most_and_a_uniform_part_has_passed() -> None:
    """At a random instant, a pause from [0, 600] s has 200 s left in the mean: a third of the longest."""
    rests = [leg.end_s for leg in first_legs() if not leg.vx and not leg.vy]
    assert mean(rests) == pytest.approx(200.0, rel=0.05)
    assert max(rests) > 500.0


def test_r3_or_all_nodes_start_to_move_at_once() -> None:
    assert all(leg.start_s == 0.0 and math.hypot(leg.vx, leg.vy) > 1.49 for leg in first_legs("moving"))


def test_r6_the_range_is_50_m_as_in_the_paper_and_the_carrier_sense_range_is_a_field_of_the_preset() -> None:
    """Table 1 gives RXThresh, "(50m)", and no CSThresh; ours is ns-2's usual ratio of 550 m to 250 m."""
    assert PAPER.values["range_m"] == 50.0
    assert PAPER.values["carrier_sense_ratio"] == pytest.approx(550 / 250)
    assert "R6" in PAPER.sources["carrier_sense_ratio"]
    for ratio, sensed_m in (("2.2", 110.0), ("1", 50.0)):
        world = build(PAPER.scenario({"carrier_sense_ratio": ratio}), 1, "summary", LogSink())
        assert world.radio.farthest(50.0) == pytest.approx(50.0)
        assert world.radio.sensed_up_to(50.0) == pytest.approx(sensed_m)


# ------------------------------------------------------------------------------------------------------ R12: validity


def test_r12_a_publication_that_arrives_expired_is_neither_delivered_nor_buffered_nor_sent() -> None:
    for age_us, arrives in ((SECOND - 1, True), (SECOND, False)):
        protocol, host = node(own_subscriptions=True)
        protocol.on_subscribe(1, between(1, 9))
        pass_ms(protocol, host, 5)
        host.hear(protocol, carrying(Event(event_id(9, 5), attrs={"v": 5}, validity_us=SECOND), age_us), 2)
        assert bool(host.delivered) is arrives and buffered(protocol) == ([5] if arrives else [])
        assert bool(protocol.answers) is arrives
        assert host.labels("drop") == ([] if arrives else ["expired"])


def test_r12_a_publication_that_expired_in_the_buffer_is_not_chosen() -> None:
    protocol, host = node(pb_max=1)
    for value, validity_us in ((1, SECOND), (2, 2 * SECOND)):
        host.hear(protocol, carrying(Event(event_id(9, value), attrs={"v": value}, validity_us=validity_us)), 2)
    pass_ms(protocol, host, 1000)
    host.draws = [0.0]  # with two events, the first would have been drawn
    protocol.on_motion(False)
    assert values(host) == [2] and host.draws == [0.0]
    assert host.labels("drop") == ["expired"] and buffered(protocol) == [2]


def test_r12_a_publication_that_expires_while_it_waits_is_not_sent() -> None:
    for validity_us, sent in ((500, []), (501, [5])):
        protocol, host = node(own_subscriptions=True)
        protocol.on_subscribe(1, between(1, 9))
        pass_ms(protocol, host, 5)
        host.draws = [0.5]  # of a millisecond
        host.hear(protocol, carrying(Event(event_id(9, 5), attrs={"v": 5}, validity_us=validity_us)), 2)
        pass_ms(protocol, host, 5)
        assert values(host) == sent
        assert host.labels("drop") == (["expired"] if not sent else [])
