"""Costa, Picco, Rossetto: Publish-Subscribe on Sensor Networks (2005), sentence by sentence."""

from __future__ import annotations

import pytest

from roamcast.protocols.semiprob.protocol import TICK, PublicationFrame, SemiProb, SemiProbParams
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Range, topic
from roamcast.testing import ScriptHost, make
from tests.paper.costa_nodes import HOT, SECOND, delaying, event, node, subscription, travelled
from tests.support.net import TinyNet


def fresh(e: Event) -> PublicationFrame:
    return PublicationFrame(e, True, 0)


def line(n: int, **params: object) -> TinyNet:
    net = TinyNet(SemiProb, n, [(i, i + 1) for i in range(n - 1)], **{"technique": "none", **params})
    net.start()
    return net


# ---- §II-A: subscriptions and their horizon


def test_horizon_0_transmits_no_subscription_and_keeps_it_locally() -> None:
    """§II-A: at φ = 0 a subscription stays with its subscriber, which sends nothing."""
    protocol, host = node(phi=0, refresh_s=10.0)
    protocol.on_subscribe(1, HOT)
    host.advance(protocol, 100 * SECOND)
    assert host.sent == [] and host.timers == {}
    host.hear(protocol, travelled(event()), 2)
    assert host.delivered == [event()]


def test_horizon_1_is_one_broadcast_and_the_neighbours_take_no_further_action() -> None:
    """§II-A: at φ = 1 the neighbours only store it."""
    net = line(4, phi=1)
    net.subscribe(0, HOT)
    net.run(1)
    assert [(sender, frame.hopcount) for _, sender, _, frame in net.sends("subscription")] == [(0, 1)]
    assert [len(n.nonlocal_) for n in net.nodes] == [0, 1, 0, 0]


def test_horizon_2_is_rebroadcast_by_the_neighbours_and_no_farther() -> None:
    """§II-A: above 1, φ is how many times in a row it is sent, by the subscriber and then by others; R3."""
    net = line(5, phi=2)
    net.subscribe(0, HOT)
    net.run(1)
    assert [(sender, frame.hopcount) for _, sender, _, frame in net.sends("subscription")] == [(0, 2), (1, 1)]
    assert [len(n.nonlocal_) for n in net.nodes] == [0, 1, 1, 0, 0]


@pytest.mark.parametrize("phi", [0, 1, 2, 3, 7])
def test_r3_the_horizon_counts_broadcasts(phi: int) -> None:
    net = line(10, phi=phi)
    net.subscribe(0, HOT)
    net.run(1)
    assert len(net.sends("subscription")) == phi
    assert [i for i, n in enumerate(net.nodes) if n.nonlocal_] == list(range(1, phi + 1))


def test_a_subscription_that_is_not_refreshed_before_its_lease_expires_is_deleted() -> None:
    """§II-A: a subscription is deleted when its lease ends without a refresh."""
    protocol, host = node(tau=0.0)
    host.hear(protocol, subscription(lease_s=60), 5)
    host.advance(protocol, 60 * SECOND - 1)
    assert list(protocol.nonlocal_) == [HOT]
    host.hear(protocol, travelled(event(1)), 2)
    host.advance(protocol, 60 * SECOND)
    assert protocol.nonlocal_ == {} and host.timers == {}
    host.hear(protocol, travelled(event(2)), 2)
    assert [frame.event for frame in host.frames("event")] == [event(1)]


def test_a_refresh_prolongs_the_lease() -> None:
    """§II-A: for a refresh, the subscriber sends its message again."""
    protocol, host = node(tau=0.0)
    host.hear(protocol, subscription(msgid=1, lease_s=60), 5)
    host.advance(protocol, 40 * SECOND)
    host.hear(protocol, subscription(msgid=2, lease_s=60), 5)
    host.advance(protocol, 99 * SECOND)
    host.hear(protocol, travelled(event(1)), 2)
    assert host.labels("forward") == ["deterministic"]
    host.advance(protocol, 100 * SECOND)
    assert protocol.nonlocal_ == {}


def test_when_the_refresh_timer_fires_a_new_message_is_sent_for_each_subject() -> None:
    """§III: the timer sends one message, with a new id, for each subject subscribed to locally."""
    protocol, host = node(phi=1, lease_s=60, refresh_s=20.0)
    protocol.on_subscribe(1, HOT)
    protocol.on_subscribe(2, topic("cold"))
    protocol.on_subscribe(3, HOT)
    first = [(frame.filter, frame.msgid) for frame in host.frames("subscription")]
    host.advance(protocol, 20 * SECOND)
    again = [(frame.filter, frame.msgid) for frame in host.frames("subscription")[3:]]
    assert [filter for filter, _ in again] == [HOT, topic("cold")]
    assert not {msgid for _, msgid in first} & {msgid for _, msgid in again}
    host.advance(protocol, 41 * SECOND)
    assert len(host.frames("subscription")) == 3 + 2 + 2


def test_without_refresh_nothing_is_sent_again() -> None:
    """§IV: subscriptions do not change during the simulations, so these need no refresh."""
    protocol, host = node(phi=1, refresh_s=0.0)
    protocol.on_subscribe(1, HOT)
    host.advance(protocol, 10_000 * SECOND)
    assert len(host.sent) == 1 and host.timers == {}


def test_an_unsubscription_is_silent_and_ends_the_refresh() -> None:
    """§III: only the local row of the subject is deleted."""
    protocol, host = node(phi=1, lease_s=60, refresh_s=20.0)
    protocol.on_subscribe(1, HOT)
    protocol.on_unsubscribe(1)
    host.advance(protocol, 100 * SECOND)
    assert len(host.sent) == 1 and host.timers == {}
    host.hear(protocol, travelled(event()), 2)
    assert host.delivered == []


def test_the_defaults_refresh_nothing_within_a_run_of_the_evaluation() -> None:
    """§IV: 60 s and one for the start. Later, no lease ends before two refreshes are lost."""
    params = SemiProbParams()
    assert params.refresh_s > 61
    assert params.lease_s > 2 * params.refresh_s


def test_a_refresh_that_would_come_too_late_is_refused() -> None:
    with pytest.raises(ValueError, match="refresh_s"):
        SemiProbParams(lease_s=60, refresh_s=60.0)


def test_the_table_has_a_filter_once_for_all_its_subscribers() -> None:
    """§II-A: a row is a filter and a time, and names no subscriber."""
    protocol, host = node()
    host.hear(protocol, subscription(source=5), 5)
    host.hear(protocol, subscription(source=6), 6)
    assert list(protocol.nonlocal_) == [HOT]


def test_r7_a_shorter_lease_does_not_cut_a_longer_one() -> None:
    protocol, host = node(tau=0.0)
    host.hear(protocol, subscription(source=5, lease_s=60), 5)
    host.hear(protocol, subscription(source=6, lease_s=10), 6)
    host.advance(protocol, 59 * SECOND)
    host.hear(protocol, travelled(event()), 2)
    assert host.labels("forward") == ["deterministic"]


def test_r8_the_first_copy_of_a_subscription_counts() -> None:
    """§III: source and identifier "together enable duplicate detection"."""
    protocol, host = node()
    host.hear(protocol, subscription(2), 5)
    host.hear(protocol, subscription(3), 4)
    host.hear(protocol, subscription(2, msgid=2), 5)
    host.hear(protocol, subscription(2, source=6), 6)
    assert [(f.source, f.msgid, f.hopcount) for f in host.frames("subscription")] == [(5, 1, 1), (5, 2, 1), (6, 1, 1)]


def test_r9_an_own_subscription_that_comes_back_is_not_stored_as_foreign() -> None:
    net = line(2, phi=3, tau=0.0)
    net.subscribe(0, HOT)
    net.run(1)
    assert net.nodes[0].nonlocal_ == {}
    protocol, host = node()
    host.hear(protocol, subscription(2, source=host.id, msgid=77), 5)
    assert protocol.nonlocal_ == {} and host.sent == []


def test_r10_after_a_reboot_a_subscription_is_not_a_duplicate() -> None:
    net = line(2, phi=1)
    net.subscribe(0, HOT)
    net.run(1)
    net.nodes[1].nonlocal_.clear()
    net.crash(0)
    net.recover(0)
    net.subscribe(0, HOT)
    net.run(1)
    assert list(net.nodes[1].nonlocal_) == [HOT]


# ---- §II-B: routing of events


def test_an_event_with_a_matching_filter_is_simply_rebroadcast() -> None:
    """§II-B: a matching row is enough to forward the event, without a draw."""
    protocol, host = node(tau=0.0)
    host.hear(protocol, subscription(), 5)
    host.hear(protocol, travelled(event()), 2)
    assert [frame.event for frame in host.frames("event")] == [event()]
    assert host.labels("forward") == ["deterministic"]


def test_an_event_with_no_matching_filter_is_rebroadcast_with_probability_tau() -> None:
    """§II-B: if no row matches, a node forwards the event with probability τ."""
    protocol, host = node(tau=0.3)
    host.hear(protocol, subscription(filter=topic("cold")), 5)
    host.draws = [0.29999, 0.3, 0.31]
    for n in (1, 2, 3):
        host.hear(protocol, travelled(event(n)), 2)
    assert [frame.event for frame in host.frames("event")] == [event(1)]
    assert host.notes[-3:] == [
        ("forward", "probabilistic", event(1).id, -1, 30),
        ("suppress", "tau", event(2).id, -1, 30),
        ("suppress", "tau", event(3).id, -1, 30),
    ]


def test_the_share_of_rebroadcasts_is_tau() -> None:
    protocol, host = node(tau=0.25)
    for n in range(4000):
        host.hear(protocol, travelled(event(n)), 2)
    assert abs(len(host.sent) / 4000 - 0.25) < 0.03


def test_a_match_needs_no_draw() -> None:
    """§III: the random number is drawn only "Otherwise"."""
    protocol, host = node(tau=0.5)
    host.hear(protocol, subscription(), 5)
    host.draws = [0.9]
    host.hear(protocol, travelled(event()), 2)
    assert host.draws == [0.9] and len(host.frames("event")) == 1


def test_events_already_processed_are_discarded_by_their_identifier() -> None:
    """§II-B, footnote 3."""
    for technique in ("none", "delay", "delay-drop"):
        protocol, host = node(tau=1.0, technique=technique)
        protocol.on_subscribe(1, HOT)
        for sender in (2, 3, 2):
            protocol.on_frame(travelled(event()), sender)
        assert host.delivered == [event()]
        assert len([n for n in host.notes if n[0] in ("forward", "delay")]) == 1


def test_tau_1_is_flooding() -> None:
    """§IV: "our upper … bounds are flooding (τ = 1)": each node rebroadcasts each event once."""
    net = TinyNet(SemiProb, 6, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)], technique="none", tau=1.0, phi=0)
    net.start()
    net.publish(0, topic="hot")
    net.run(1)
    assert sorted(sender for _, sender, _, _ in net.sends("event")) == [0, 1, 2, 3, 4, 5]


def test_horizon_0_and_tau_0_reach_two_hops_only() -> None:
    """§IV: φ = 0 is "a purely probabilistic approach"; what is left at τ = 0 is the first-hop rule."""
    net = line(5, phi=0, tau=0.0)
    for i in range(1, 5):
        net.subscribe(i, HOT)
    e = net.publish(0, topic="hot")
    net.run(1)
    assert [net.delivered(i) for i in range(5)] == [[], [e.id], [e.id], [], []]


def test_only_events_just_published_carry_the_flag() -> None:
    """§II-B: events have a flag for their first hop."""
    net = line(4, tau=1.0)
    net.publish(0, topic="hot")
    net.run(1)
    assert [(sender, frame.fresh) for _, sender, _, frame in net.sends("event")] == [
        (0, True),
        (1, False),
        (2, False),
        (3, False),
    ]


def test_first_hop_receivers_behave_as_if_tau_were_1() -> None:
    """§II-B: on the first hop, receivers use τ = 1, so that all η neighbours forward the event."""
    net = TinyNet(SemiProb, 6, [(0, i) for i in range(1, 6)], technique="none", tau=0.0, phi=0)
    net.start()
    net.publish(0, topic="hot")
    net.run(1)
    assert sorted(sender for _, sender, _, _ in net.sends("event")) == [0, 1, 2, 3, 4, 5]
    assert [host.notes[0][:2] + host.notes[0][4:] for host in net.hosts[1:]] == [("forward", "probabilistic", 100)] * 5


def test_r5_a_fresh_event_that_matches_makes_a_deterministic_hop() -> None:
    protocol, host = node(tau=0.0)
    host.hear(protocol, subscription(), 5)
    host.hear(protocol, fresh(event(1)), 9)
    host.hear(protocol, fresh(event(2, "cold")), 9)
    assert host.labels("forward") == ["deterministic", "probabilistic"]


def test_r4_a_nodes_own_subscription_does_not_make_it_forward() -> None:
    """§III: routing uses only the rows of other nodes; §II-A: φ=0 is purely probabilistic."""
    protocol, host = node(phi=0, tau=0.0)
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, travelled(event()), 2)
    assert host.delivered == [event()]
    assert host.frames("event") == [] and host.labels("suppress") == ["tau"]


def test_section_iv_the_probability_that_no_neighbour_forwards_an_event() -> None:
    """§IV: with τ = 0.25 and η = 5, "(1 − τ)^η = 0.75^5 = 0.23" (it is 0.237)."""
    assert 0.23 <= (1 - 0.25) ** 5 < 0.24
    neighbours = [make(SemiProb, ScriptHost(i), technique="none", phi=0, tau=0.25) for i in range(5)]
    for n in range(4000):
        for protocol, host in neighbours:
            host.hear(protocol, travelled(event(n)), 9)
    sent = {frame.event.id for _, host in neighbours for frame in host.frames("event")}
    assert abs(1 - len(sent) / 4000 - 0.2373) < 0.02


def test_content_based_filters_are_routed_in_the_same_way() -> None:
    """§II: subject-based and content-based routing differ only in the content of a subscription frame."""
    net = line(4, phi=2, tau=0.0)
    net.subscribe(3, Range("celsius", 30, 99))
    net.run(1)
    warm = net.publish(0, attrs={"celsius": 35})
    net.publish(0, attrs={"celsius": 20})
    net.run(1)
    assert net.delivered(3) == [warm.id]
    assert [host.labels("forward") for host in net.hosts] == [
        [],
        ["deterministic", "probabilistic"],
        ["deterministic"],
        [],
    ]


# ---- §II-C: the delay technique, §II-D: delay-drop


def test_sending_takes_place_only_upon_timer_expiration() -> None:
    """§II-C: frames of either kind wait for the timer."""
    protocol, host = delaying(phi=1)
    protocol.on_subscribe(1, HOT)
    protocol.on_publish(event(1, publisher=0))
    host.hear(protocol, travelled(event(2)), 2)
    host.advance(protocol, 249_999)
    assert host.sent == []
    host.advance(protocol, 250_000)
    assert [frame.kind for frame in host.frames()] == ["subscription", "event", "event"]


def test_the_timer_has_a_fixed_period_and_receiving_is_always_enabled() -> None:
    """§II-C: every node has the same configured interval; Table I: 1 s."""
    protocol, host = delaying()
    times = []
    for n, at_ms in enumerate((100, 300, 1249, 1260, 7_777)):
        host.advance(protocol, at_ms * 1000)
        host.hear(protocol, travelled(event(n)), 2)
        times.append(host.timers[1])
    assert times == [250_000, 1_250_000, 1_250_000, 2_250_000, 8_250_000]
    assert SemiProbParams().interval_s == 1.0


def test_r1_the_whole_queue_is_handed_to_the_mac_when_the_timer_expires() -> None:
    protocol, host = delaying(queue=20)
    for n in range(20):
        host.hear(protocol, travelled(event(n)), 2)
    host.advance(protocol, 250_000)
    assert [frame.event.id for frame in host.frames("event")] == [event(n).id for n in range(20)]


def test_r2_every_boot_draws_another_phase() -> None:
    net = TinyNet(SemiProb, 30, skew_us=0)
    net.start()
    phases = [n.phase_us for n in net.nodes]
    assert len(set(phases)) == 30 and 0 <= min(phases) < 200_000 and 800_000 < max(phases) < SECOND
    net.crash(0)
    net.recover(0, keep_tables=True)
    assert net.nodes[0].phase_us != phases[0]


def test_r15_a_frame_that_no_neighbour_acknowledges_is_not_sent_again() -> None:
    """§II-C describes how TinyOS repeats a message that no neighbour acknowledged; here that is left to the MAC."""
    protocol, host = delaying(phi=1, refresh_s=0.0)
    protocol.on_subscribe(1, HOT)
    protocol.on_publish(event(publisher=0))
    host.advance(protocol, 100 * SECOND)
    assert [frame.kind for frame in host.frames()] == ["subscription", "event"] and TICK not in host.timers


def test_delay_drop_removes_an_event_that_a_neighbour_was_heard_to_send() -> None:
    """§II-D: A hears B transmit e before A's timer expires, and removes e from its transmission queue."""
    protocol, host = delaying("delay-drop")
    host.hear(protocol, travelled(event(1)), 2)
    host.hear(protocol, travelled(event(2)), 2)
    host.hear(protocol, travelled(event(1)), 3)
    host.advance(protocol, 2 * SECOND)
    assert [frame.event for frame in host.frames("event")] == [event(2)]
    assert ("suppress", "heard again", event(1).id, 3, 0) in host.notes
    assert host.labels("forward") == ["probabilistic"]  # an event that was not sent makes no hop


def test_delay_alone_sends_events_that_others_have_sent() -> None:
    protocol, host = delaying("delay")
    for sender in (2, 3, 4):
        host.hear(protocol, travelled(event()), sender)
    host.advance(protocol, SECOND)
    assert len(host.frames("event")) == 1


def test_delay_drop_still_remembers_the_event() -> None:
    protocol, host = delaying("delay-drop")
    for sender in (2, 3, 4, 5):
        host.hear(protocol, travelled(event()), sender)
    host.advance(protocol, 5 * SECOND)
    host.hear(protocol, travelled(event()), 6)
    host.advance(protocol, 10 * SECOND)
    assert host.sent == [] and host.timers == {}


def test_r6_delay_drop_also_removes_deterministic_and_first_hop_forwards() -> None:
    protocol, host = delaying("delay-drop", tau=0.0)
    host.hear(protocol, subscription(), 5)
    host.hear(protocol, fresh(event(1, "cold")), 9)
    host.hear(protocol, travelled(event(2)), 2)
    host.hear(protocol, travelled(event(1, "cold")), 2)
    host.hear(protocol, travelled(event(2)), 3)
    host.advance(protocol, SECOND)
    assert host.frames("event") == []


def test_r6_delay_drop_removes_neither_subscriptions_nor_own_events() -> None:
    protocol, host = delaying("delay-drop")
    host.hear(protocol, subscription(2), 5)
    host.hear(protocol, subscription(1), 6)
    mine = event(1, publisher=0)
    protocol.on_publish(mine)
    protocol.on_frame(travelled(mine), 3)
    host.advance(protocol, SECOND)
    assert [frame.kind for frame in host.frames()] == ["subscription", "event"]
