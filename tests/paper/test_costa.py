"""Costa, Picco, Rossetto: Publish-Subscribe on Sensor Networks (2005), sentence by sentence."""

from __future__ import annotations

from math import hypot

import pytest

from roamcast.papers import presets
from roamcast.protocols.kit.interface import BROADCAST
from roamcast.protocols.semiprob.link_tables import ANY_LINK, BeaconFrame, LinkEventFrame, TableFrame
from roamcast.protocols.semiprob.links import SemiProbLinks
from roamcast.protocols.semiprob.protocol import TICK, PublicationFrame, SemiProb, SemiProbParams, SubscriptionFrame
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import Filter, Range, topic
from roamcast.testing import ScriptHost, make
from roamcast.world import mac, mobility
from roamcast.world.assembly import spec_of
from roamcast.world.density import mean_neighbours
from roamcast.world.scenario import with_values
from roamcast.world.simulate import simulate
from roamcast.world.streams import Stream
from tests.support.net import TinyNet

SECOND = 1_000_000
HOT = topic("hot")


def event(n: int = 1, subject: str = "hot", publisher: int = 9, **content: object) -> Event:
    return Event(event_id(publisher, n), subject, **content)


def travelled(e: Event, age_us: int = 0) -> PublicationFrame:
    return PublicationFrame(e, False, age_us)


def fresh(e: Event) -> PublicationFrame:
    return PublicationFrame(e, True, 0)


def subscription(hopcount: int = 1, *, source: int = 5, msgid: int = 1, lease_s: int = 60, filter=HOT):
    return SubscriptionFrame(source, msgid, hopcount, lease_s, filter)


def node(**params: object) -> tuple[SemiProb, ScriptHost]:
    """A node that sends at once, so that a test sees only the decision."""
    protocol, host = make(SemiProb, **{"technique": "none", **params})
    protocol.on_start()
    return protocol, host


def line(n: int, **params: object) -> TinyNet:
    net = TinyNet(SemiProb, n, [(i, i + 1) for i in range(n - 1)], **{"technique": "none", **params})
    net.start()
    return net


# ----------------------------------------------------------------------------- §II-A: subscriptions and their horizon


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


# ------------------------------------------------------------------------------------------- §II-B: routing of events


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


# ---------------------------------------------------------------------- §II-C: the delay technique, §II-D: delay-drop


def delaying(technique: str = "delay", phase: float = 0.25, **params: object) -> tuple[SemiProb, ScriptHost]:
    protocol, host = make(SemiProb, technique=technique, **{"tau": 1.0, **params})
    host.draws = [phase]
    protocol.on_start()
    return protocol, host


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


# ----------------------------------------------------------------------------------------------- §III: implementation


def test_a_received_event_is_delivered_before_it_is_routed() -> None:
    """§III: the node's own subscriptions are checked first, then those of others."""
    protocol, host = node(tau=1.0)
    protocol.on_subscribe(1, HOT)
    host.take()
    host.hear(protocol, travelled(event()), 2)
    assert [effect.split()[0] for effect in host.take()] == ["deliver", "note", "broadcast"]


def test_an_event_that_matches_two_local_subscriptions_is_delivered_once() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, HOT)
    protocol.on_subscribe(2, topic("hot"))
    host.hear(protocol, travelled(event()), 2)
    assert host.delivered == [event()]


def test_r11_the_list_of_recent_events_has_a_size() -> None:
    """§III: a node remembers only the last events it got."""
    protocol, host = node(recent=3)
    for n in range(10):
        host.hear(protocol, travelled(event(n)), 2)
    assert list(protocol.recent_events) == [event(n).id for n in (7, 8, 9)]


@pytest.mark.parametrize("technique", ["none", "delay", "delay-drop"])
def test_r11_a_forgotten_event_that_is_heard_again_is_a_new_one(technique: str) -> None:
    protocol, host = make(SemiProb, technique=technique, recent=2, tau=1.0)
    protocol.on_start()
    protocol.on_subscribe(1, HOT)
    for n in (1, 2, 1, 3, 1):  # 1 is a duplicate while it is one of the last two
        host.hear(protocol, travelled(event(n)), 2)
        host.advance(protocol, host.clock_us + 2 * SECOND)
    assert [e.id for e in host.delivered] == [event(n).id for n in (1, 2, 3, 1)]
    assert [frame.event.id for frame in host.frames("event")] == [event(n).id for n in (1, 2, 3, 1)]


def test_r11_an_event_forgotten_while_it_waits_can_be_heard_again() -> None:
    protocol, host = delaying(technique="delay-drop", recent=1)
    for n in (1, 2):
        host.hear(protocol, travelled(event(n)), 2)
    host.advance(protocol, SECOND)
    host.hear(protocol, travelled(event(1)), 2)
    host.advance(protocol, 2 * SECOND)
    assert [frame.event.id for frame in host.frames("event")] == [event(n).id for n in (1, 2, 1)]


def test_r11_with_fewer_remembered_events_than_are_on_their_way_nodes_flood_again_and_again() -> None:
    world = {"nodes": 100, "placement": "grid", "mobility": "static", "neighbours": 5.0, "mac": "tinyos"}
    load = {"rate_bps": 19_200.0, "publishers": 12, "subscribers": 10, "rate_hz": 0.5, "duration_s": 15.0}
    motes = with_values(world | load | {"payload_bytes": 2}, {})
    runs = {n: simulate(motes, "semiprob", {"tau": 1.0, "recent": n}, 1) for n in (12, 64, 4096)}
    assert runs[64].fingerprint == runs[4096].fingerprint, "no more than 64 events are on their way"
    assert runs[12].metrics["frames_sent"] > 1.1 * runs[4096].metrics["frames_sent"]


def test_r11_a_full_table_loses_the_lease_that_ends_first() -> None:
    protocol, host = node(table=2)
    for n, lease_s in enumerate((50, 20, 90)):
        host.hear(protocol, subscription(msgid=n, lease_s=lease_s, filter=topic(f"t{n}")), 5)
    assert list(protocol.nonlocal_) == [topic("t0"), topic("t2")]


def test_r11_a_full_queue_accepts_nothing() -> None:
    protocol, host = delaying(queue=2)
    for n in range(4):
        host.hear(protocol, travelled(event(n)), 2)
    host.advance(protocol, SECOND)
    assert [frame.event.id for frame in host.frames("event")] == [event(0).id, event(1).id]
    assert host.labels("drop") == ["queue full"] * 2


def test_r12_an_expired_event_is_neither_delivered_nor_sent() -> None:
    """The messages of Fig. 2 have no lifetime; events of this project may have one."""
    protocol, host = delaying()
    protocol.on_subscribe(1, HOT)
    old = event(1, validity_us=300_000)
    host.hear(protocol, travelled(old, 300_000), 2)
    assert host.delivered == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, travelled(old, 299_999), 2)
    assert host.delivered == [old]
    host.advance(protocol, SECOND)
    assert host.frames("event") == [] and host.labels("drop") == ["expired"] * 2


# --------------------------------------------------------------------------------------------------- §IV: the scenario


@pytest.mark.parametrize("reading, airtime_ms", [("", 11.8), ("mica2", 19.2)])
def test_r13_a_packet_has_the_airtime_of_the_first_mica_or_of_the_mica2(reading: str, airtime_ms: float) -> None:
    """Abstract and §IV: MICA2 motes, simulated by TOSSIM."""
    s = presets.load("costa", reading).scenario()
    assert s.mac == "tinyos"
    radio = mac.build(spec_of(s).mac)
    packet = radio.bytes_on_air(PublicationFrame(event(), True, 0).size)
    assert packet == 36 and radio.airtime(packet) / 1000 == pytest.approx(airtime_ms, abs=0.05)


def largest_share(reading: str, seed: int) -> float:
    """The share of nodes in the largest connected part of an area of the preset."""
    s = presets.load("costa", reading).scenario()
    model = mobility.build(s, seed)
    legs = [model.first(i, Stream(seed, i, "mobility")) for i in range(s.nodes)]
    left, largest = set(range(s.nodes)), 0
    while left:
        part = [left.pop()]
        for i in part:
            near = [j for j in left if hypot(legs[i].x - legs[j].x, legs[i].y - legs[j].y) <= s.range_m]
            part += near
            left.difference_update(near)
        largest = max(largest, len(part))
    return largest / s.nodes


def test_r14_flooding_can_deliver_nearly_all_on_lattices_but_not_with_uniform_placement() -> None:
    """§IV: flooding "delivers all the events" at η = 5; tests/papers/test_presets.py counts η for all placements."""
    shares = {name: [largest_share(name, seed) for seed in range(10)] for name in ("", "grid-cells", "uniform-fields")}
    assert shares[""] == [1.0] * 10
    assert min(shares["grid-cells"]) > 0.95 and sum(share == 1.0 for share in shares["grid-cells"]) >= 3
    assert sum(shares["uniform-fields"]) / 10 < 0.9 and max(shares["uniform-fields"]) < 1.0


def test_r14_the_papers_numbers_of_neighbours_are_rings_of_a_triangular_lattice() -> None:
    """Table I and Fig. 6: η = 5, 10 and 15 with 200 nodes. No square grid of any size has 5 or 15."""

    def possible(placement: str, nodes: int) -> set[float]:
        sides = [60.0 * 1.01**k for k in range(320)]
        return {mean_neighbours(nodes, side, 50.0, placement, 0.0) for side in sides}

    assert {int(eta) for eta in possible("triangle", 200) if 1 <= eta < 18} == {5, 10, 15}
    assert not {round(eta) for eta in possible("grid", 196) if 1 <= eta < 18} & {5, 15}


# ------------------------------------------------------------------------------ §II-A and §II-B on [11]: along links


def linked(n: int, *, tau: float = 0.5, phi: int = 2, **params: object) -> tuple[SemiProbLinks, ScriptHost]:
    """A node 0 with links to 1 … n."""
    protocol, host = make(SemiProbLinks, tau=tau, phi=phi, **params)
    protocol.on_start()
    for i in range(1, n + 1):
        host.hear(protocol, BeaconFrame(i, [], [0], {}), i)
    return protocol, host


def advertisement(i: int, distance: int, filter: Filter = HOT) -> TableFrame:
    return TableFrame(i, 0, 1, [(distance, ANY_LINK, filter)])


def copies(host: ScriptHost) -> list[int]:
    return [node for frame in host.frames("event") for node in frame.to]


def tables_of(node: SemiProbLinks) -> list[dict[int, Filter]]:
    """For each distance: link -> its only filter."""
    return [
        {link: filter for filter, interest in node.filters.items() for link in interest.tables[distance]}
        for distance in range(node.params.phi)
    ]


@pytest.mark.parametrize(
    ("tau", "links", "expected"), [(0.5, 4, 2), (0.5, 5, 3), (0.25, 4, 1), (0.01, 4, 1), (0.0, 4, 0), (1.0, 4, 4)]
)
def test_links_an_event_is_always_forwarded_along_the_fraction_tau(tau: float, links: int, expected: int) -> None:
    """§II-B: in [11], τ is the share of its links along which every node forwards an event; R1."""
    protocol, host = linked(links, tau=tau)
    protocol.on_publish(event(1, publisher=0))
    assert len(copies(host)) == expected == len(set(copies(host)))


def test_links_r1_the_link_it_came_by_is_not_available() -> None:
    protocol, host = linked(5, tau=1.0)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 3)
    host.advance(protocol, SECOND // 10)
    assert sorted(copies(host)) == [1, 2, 4, 5]
    protocol, host = linked(5, tau=0.5)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 3)
    host.advance(protocol, SECOND // 10)
    assert len(copies(host)) == 2
    protocol, host = linked(5, tau=0.5)  # a sender without a link takes no link away
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 9)
    host.advance(protocol, SECOND // 10)
    assert len(copies(host)) == 3


def test_links_r1_an_event_does_not_go_back_even_to_where_a_subscriber_is_known() -> None:
    protocol, host = linked(3, tau=0.0)
    for i in (1, 3):
        host.hear(protocol, advertisement(i, 1), i)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [0]), 3)
    host.advance(protocol, SECOND // 10)
    assert copies(host) == [1]


def test_links_r1_a_fraction_that_is_whole_is_not_rounded_up_by_the_arithmetic() -> None:
    protocol, host = linked(25, tau=0.28)
    assert 0.28 * 25 > 7
    protocol.on_publish(event(1, publisher=0))
    assert len(copies(host)) == 7


def test_links_subscription_information_is_used_first() -> None:
    """§II-B: links with matching rows come first; if they are too few, others are drawn at random."""
    for seed in range(20):
        protocol, host = linked(6, tau=0.5)
        host.stream = ScriptHost(0, seed).stream
        host.hear(protocol, advertisement(4, 2), 4)
        protocol.on_publish(event(1, publisher=0))
        assert copies(host)[0] == 4 and len(set(copies(host))) == 3
        assert host.labels("forward") == ["deterministic", "probabilistic", "probabilistic"]


def test_links_r2_all_matching_links_are_taken_even_beyond_tau() -> None:
    protocol, host = linked(4, tau=0.25)
    for i in (1, 3, 4):
        host.hear(protocol, advertisement(i, 1), i)
    protocol.on_publish(event(1, publisher=0))
    assert copies(host) == [1, 3, 4]
    assert host.labels("forward") == ["deterministic"] * 3


def test_links_rows_of_all_filters_and_distances_count() -> None:
    protocol, host = linked(5, tau=0.0)
    host.hear(protocol, advertisement(1, 1), 1)
    host.hear(protocol, advertisement(2, 2), 2)
    host.hear(protocol, advertisement(3, 1, Range("celsius", 30, 99)), 3)
    host.hear(protocol, advertisement(4, 1, topic("cold")), 4)
    protocol.on_publish(event(1, publisher=0, attrs={"celsius": 35}))
    protocol.on_publish(event(2, publisher=0))
    assert [sorted(frame.to) for frame in host.frames("event")] == [[1, 2, 3], [1, 2]]


def test_links_the_remaining_links_are_drawn_uniformly() -> None:
    protocol, host = linked(5, tau=0.2)
    counts = dict.fromkeys(range(1, 6), 0)
    for n in range(3000):
        protocol.on_publish(event(n, publisher=0))
    for to in copies(host):
        counts[to] += 1
    assert all(abs(count / 3000 - 0.2) < 0.03 for count in counts.values())


def test_links_there_is_a_table_for_each_distance_with_filter_and_link() -> None:
    """§II-A: [11] has one table per distance, of pairs of a filter and a link."""
    net = TinyNet(SemiProbLinks, 5, [(i, i + 1) for i in range(4)], phi=3)
    net.start()
    net.subscribe(0, HOT)
    net.run(12)
    assert [tables_of(node) for node in net.nodes] == [
        [{}, {}, {}],
        [{0: HOT}, {}, {}],
        [{}, {1: HOT}, {}],
        [{}, {}, {2: HOT}],
        [{}, {}, {}],
    ]
    assert {sender for _, sender, _, _ in net.sends("subscription")} == {0, 1, 2}


def test_links_an_unsubscription_is_propagated_explicitly() -> None:
    """§II-A: in [11] there are messages for subscribing and for unsubscribing."""
    net = TinyNet(SemiProbLinks, 4, [(i, i + 1) for i in range(3)], phi=3)
    net.start()
    net.subscribe(0, HOT)
    net.run(10)
    assert tables_of(net.nodes[3])[2] == {2: HOT}
    net.nodes[0].on_unsubscribe(1)
    net.run(0.2)
    assert [tables_of(node) for node in net.nodes] == [[{}, {}, {}]] * 4


def test_links_a_vanished_link_counts_as_an_unsubscription_and_a_new_one_as_a_subscription() -> None:
    """§II-A: in [11] a new link counts as its far end subscribing, a lost one as that end unsubscribing; R4."""
    net = TinyNet(SemiProbLinks, 4, [(i, i + 1) for i in range(3)], phi=3)
    net.start()
    net.subscribe(0, HOT)
    net.run(10)
    net.cut(0, 1)
    net.run(10)
    assert [tables_of(node) for node in net.nodes] == [[{}, {}, {}]] * 4
    net.join(0, 3)
    net.run(10)
    assert [tables_of(n) for n in net.nodes[1:]] == [[{}, {}, {2: HOT}], [{}, {3: HOT}, {}], [{0: HOT}, {}, {}]]


def test_links_r3_the_time_to_live_counts_hops() -> None:
    net = TinyNet(SemiProbLinks, 6, [(i, i + 1) for i in range(5)], phi=0, tau=1.0, ttl=3)
    net.start()
    net.run(5)
    net.publish(0, topic="hot")
    net.run(1)
    assert [sender for _, sender, _, _ in net.sends("event")] == [0, 1, 2]


def test_links_r4_a_neighbour_that_no_longer_lists_this_node_gets_no_events() -> None:
    protocol, host = linked(2, tau=1.0)
    host.hear(protocol, advertisement(1, 1), 1)
    host.hear(protocol, BeaconFrame(1, [1], [2], {}), 1)
    protocol.on_publish(event(1, publisher=0))
    assert copies(host) == [2] and host.labels("forward") == ["probabilistic"]
    host.hear(protocol, BeaconFrame(1, [1], [0, 2], {}), 1)
    protocol.on_publish(event(2, publisher=0))
    assert copies(host) == [2, 1, 2]


def test_links_r5_one_broadcast_names_the_links_and_other_nodes_ignore_it() -> None:
    protocol, host = linked(4, tau=0.5)
    protocol.on_publish(event(1, publisher=0))
    ((to, frame),) = [(to, frame) for to, frame in host.sent if frame.kind == "event"]
    assert to == BROADCAST and len(frame.to) == 2

    protocol, host = linked(4, tau=1.0)
    protocol.on_subscribe(1, HOT)
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [7, 8]), 3)
    host.advance(protocol, SECOND // 10)
    assert host.delivered == [] and copies(host) == []
    host.hear(protocol, LinkEventFrame(event(), 0, 0, [8, 0]), 2)
    host.advance(protocol, SECOND)
    assert host.delivered == [event()] and sorted(copies(host)) == [1, 3, 4]


def test_links_r5_nodes_named_together_do_not_send_together() -> None:
    net = TinyNet(SemiProbLinks, 9, [(0, i) for i in range(1, 9)], tau=1.0, jitter_ms=50.0)
    net.start()
    net.run(3)
    for i in range(1, 9):
        net.join(i, i % 8 + 1)
    net.run(5)
    began = net.now_us
    net.publish(0, topic="hot")
    net.run(1)
    times = [t - began for t, sender, _, frame in net.sends("event") if sender]
    assert len(set(times)) == 8 and min(times) >= 1000 and 20_000 < max(times) <= 51_000


def test_links_r6_an_expired_event_is_neither_delivered_nor_sent() -> None:
    protocol, host = linked(3, tau=1.0, jitter_ms=100.0)
    protocol.on_subscribe(1, HOT)
    old = event(1, validity_us=1000)
    host.hear(protocol, LinkEventFrame(old, 0, 1000, [0]), 2)
    host.advance(protocol, SECOND)
    assert host.delivered == [] and copies(host) == [] and host.labels("drop") == ["expired"]
    host.draws = [0.0]
    host.hear(protocol, LinkEventFrame(old, 0, 999, [0]), 2)
    assert host.delivered == [old]
    host.advance(protocol, SECOND)
    assert len(copies(host)) == 2
    host.draws = [0.5]
    host.hear(protocol, LinkEventFrame(event(2, validity_us=50_000), 0, 0, [0]), 2)
    host.advance(protocol, 2 * SECOND)
    assert len(copies(host)) == 2 and host.labels("drop") == ["expired"] * 2
