"""Baehni, Chhabra, Guerraoui, "Frugal Event Dissemination in a Mobile Environment": a test for each rule.

Lines of figures are cited as printed. Without jitter (`jitter_ms=0`) delays are exactly those of the figures.
"""

from __future__ import annotations

import pytest

from roamcast.protocols.frugal.frames import Events
from roamcast.protocols.frugal.protocol import BACK_OFF, HEARTBEAT, NEIGHBORHOOD_GC, Frugal
from roamcast.protocols.kit.interface import BROADCAST
from roamcast.pubsub.filters import topic
from tests.paper.baehni_nodes import SECOND, T0, T1, T2, Node, event
from tests.support.net import TinyNet

# ---- an example: Fig. 1


def test_fig1_parts_one_to_three() -> None:
    """§3, Fig. 1: p1 (T1) holds e3, p2 (T2) holds e4 and e5, p3 (T0) has nothing."""
    net = TinyNet(Frugal, 4, jitter_ms=0.0)
    p1, p2, p3 = 1, 2, 3
    net.start()
    net.subscribe(p1, T1)
    net.subscribe(p2, T2)
    net.subscribe(p3, T0)
    e3, e4, e5 = event(3, "T0.T1"), event(4, "T0.T1.T2"), event(5, "T0.T1.T2")
    for p, held in ((p1, [e3]), (p2, [e4, e5])):
        net.hosts[p].hear(net.nodes[p], Events(held, [0] * len(held), []), 0)
    net.run(20)
    assert not net.sends("event")

    # I: they learn about each other; p2 sends e4 and e5, p1 keeps e3, of T1, which p2 did not subscribe to
    net.join(p1, p2)
    net.run(20)
    assert [(i, frame.events(), frame.neighbors_ids) for _, i, _, frame in net.sends("event")] == [(p2, [e4, e5], [p1])]
    assert net.delivered(p1) == [e3.id, e4.id, e5.id]
    assert net.delivered(p2) == [e4.id, e5.id]

    # II: p3 misses three events that p1 has and two that p2 has: p1's back-off is the shorter one
    net.log.clear()
    net.join(p1, p3)
    net.join(p2, p3)
    net.run(0.999)
    net.run(20)
    assert [(i, frame.events()) for _, i, _, frame in net.sends("event")] == [(p1, [e3, e4, e5])]
    assert sorted(net.sends("event")[0][3].neighbors_ids) == [p2, p3]
    assert net.delivered(p3) == [e3.id, e4.id, e5.id]
    assert "no longer needed" in net.hosts[p2].labels("suppress")

    # III: p1 leaves; p2 and p3 know that neither lacks an event that it wants, so neither sends
    net.log.clear()
    net.cut(p1, p2)
    net.cut(p1, p3)
    net.run(60)
    assert net.sends("heartbeat")
    assert not net.sends("event")


def test_fig1_part_two_the_process_with_more_events_has_the_shorter_back_off() -> None:
    """§3: the back-off shrinks with the number of events to send, so p1 (three) goes before p2 (two)."""
    delays = []
    for held in ([event(3), event(4), event(5)], [event(4), event(5)]):
        node = Node(T0)
        node.events(7, *held)
        node.heartbeat(3, T0)
        node.ids(3)
        delays.append(node.host.timers[BACK_OFF] - node.host.clock_us)
    assert delays == [SECOND // 6, SECOND // 4]


# ---- Figs. 4 and 5, §4.1


def test_fig4_initial_delays() -> None:
    """Fig. 4 l. 10 to 14: HBDelay 15 s, NGCDelay HBDelay × HB2NGC, BODelay HBDelay / HB2BO."""
    node = Node()
    assert node.frugal.delays.hb_delay_us == 15 * SECOND
    assert node.frugal.delays.ngc_delay_us == 37.5 * SECOND
    assert node.frugal.delays.bo_delay_us == 7.5 * SECOND


def test_fig5_subscribing_starts_heartbeat_and_neighborhood_gc() -> None:
    """§4.2: the topic is added to the list, and both periodic tasks start."""
    node = Node()
    assert node.host.timers == {}
    node.frugal.on_subscribe(1, T0)
    assert sorted(node.host.timers) == [HEARTBEAT, NEIGHBORHOOD_GC]


def test_fig5_a_second_subscription_does_not_start_them_again() -> None:
    """Fig. 5 l. 4 and 7."""
    node = Node(T0)
    node.advance(3)
    timers = dict(node.host.timers)
    node.frugal.on_subscribe(1, T1)
    assert node.host.timers == timers


def test_fig5_the_last_unsubscription_stops_both_tasks() -> None:
    """§4.2: without subscriptions, both tasks stop."""
    node = Node(T0, T1)
    node.frugal.on_unsubscribe(0)
    assert sorted(node.host.timers) == [HEARTBEAT, NEIGHBORHOOD_GC]
    node.frugal.on_unsubscribe(1)
    assert node.host.timers == {}


def test_a_subscriber_gets_a_topic_and_its_subtopics() -> None:
    """§2: a subscription to a topic covers the whole subtree below it."""
    node = Node(T1)
    node.events(5, event(1, "T0"), event(2, "T0.T1"), event(3, "T0.T1.T2"), event(4, "T0.T10"))
    assert [e.id for e in node.host.delivered] == [event(2).id, event(3).id]


def test_sec2_no_frame_is_for_one_neighbor() -> None:
    """§2: the layer below only sends to all processes in range; there is no routing."""
    net = TinyNet(Frugal, 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    net.start()
    for i in range(4):
        net.subscribe(i, T0)
    net.run(17)
    net.publish(0, topic="T0")
    net.run(5)
    assert {frame.kind for *_, frame in net.sends()} == {"heartbeat", "ids", "event"}
    assert {to for _, _, to, _ in net.sends()} == {BROADCAST}


def test_the_root_topic_is_everything() -> None:
    """§2: all topics are below one root."""
    node = Node(topic(""))
    node.events(5, event(1, "T0"), event(2, "T7.T8"))
    assert len(node.host.delivered) == 2


# ---- Fig. 6, §4.2


def test_fig6_heartbeats_carry_subscriptions_and_speed() -> None:
    """Fig. 6 l. 3."""
    node = Node(T0, T2, speed_mps=4.5)
    node.advance(15)
    (heartbeat,) = node.sent("heartbeat")
    assert (heartbeat.subscriptions, heartbeat.speed_mps) == ([T0, T2], 4.5)


def test_fig6_only_matching_neighbors_are_kept() -> None:
    """§3: a process has rows only for neighbours that share an interest with it."""
    node = Node(T1)
    node.heartbeat(1, T0)
    node.heartbeat(2, T1)
    node.heartbeat(3, T2)
    node.heartbeat(4, topic("T0.T4"))
    node.heartbeat(5)
    assert node.neighbors() == [1, 2, 3]


def test_sec3_the_neighborhood_table_is_bounded() -> None:
    """§3, footnote 5: the bound is the number of neighbours that a process can handle."""
    node = Node(T0, neighbors_limit=2)
    for j in (1, 2, 3, 1):
        node.heartbeat(j, T0)
    assert node.neighbors() == [1, 2]


def test_fig6_a_neighbor_that_changes_its_subscriptions_is_checked_again() -> None:
    """§3 footnote 3: a process may subscribe and unsubscribe at any time."""
    node = Node(T1)
    node.heartbeat(1, T0)
    node.heartbeat(1, topic("other"))
    assert node.neighbors() == []
    node.heartbeat(1, topic("other"), T2)
    assert node.neighbors() == [1]
    node.frugal.on_subscribe(1, topic("other"))
    node.frugal.on_unsubscribe(0)
    assert node.neighbors() == [1]
    node.frugal.on_unsubscribe(1)
    assert node.neighbors() == []


def test_fig6_the_row_of_fig2() -> None:
    """Fig. 2, footnote 7: subscriptions, event ids, speed and store time, updated by each heartbeat."""
    node = Node(T0)
    node.heartbeat(32, T2)
    node.advance(1)
    node.heartbeat(32, T1, speed_mps=20.0)
    row = node.frugal.neighborhood_table.rows[32]
    assert (row.subscriptions, row.speed_mps, row.store_time_us) == ([T1], 20.0, node.host.now())
    node.ids(32, event(10))
    assert node.ids_of(32) == [event(10).id]


def test_fig6_ids_of_the_events_on_the_neighbors_topics() -> None:
    """Fig. 6 l. 21: GETEVENTSIDS(subscriptions, eventsTable)."""
    node = Node(T0)
    node.events(7, event(1, "T0"), event(2, "T0.T1"), event(3, "T0.T1.T2"))
    node.heartbeat(1, T1)
    assert [frame.fields()[0] for frame in node.sent("ids")] == [[event(2).id, event(3).id]]


def test_fig6_only_valid_events_are_listed() -> None:
    """§3: the ids exchanged are those of stored events that have not expired."""
    node = Node(T0)
    node.events(7, event(1, validity_us=SECOND), event(2, validity_us=SECOND + 1))
    node.advance(1)
    node.heartbeat(1, T0)
    assert [frame.fields()[0] for frame in node.sent("ids")] == [[event(2).id]]


def test_fig6_ids_of_a_node_that_is_no_neighbor_are_ignored() -> None:
    """Fig. 6 l. 26."""
    node = Node(T0)
    node.events(7, event(1))
    node.ids(1)
    assert BACK_OFF not in node.host.timers


def test_fig6_ids_of_a_neighbor_make_it_look_for_events_to_send() -> None:
    """Fig. 6 l. 30: an event the neighbour lacks is sent after the back-off, one it has is not."""
    node = Node(T0)
    node.events(7, event(1), event(2))
    node.heartbeat(1, T0)
    assert BACK_OFF not in node.host.timers
    node.ids(1, event(1))
    node.advance(0.5)
    assert node.sent_ids() == [[event(2).id]]


# ---- Fig. 7


def test_sec42_processes_with_the_same_events_send_none() -> None:
    """§4.2: if both sides have the same events, they exchange only ids."""
    node = Node(T0)
    node.events(7, event(1), event(2))
    node.heartbeat(1, T0)
    assert [frame.fields()[0] for frame in node.sent("ids")] == [[event(1).id, event(2).id]]
    node.ids(1, event(2), event(1))
    node.advance(5)
    assert (BACK_OFF in node.host.timers, node.sent_ids()) == (False, [])


def test_fig7_only_events_that_the_neighbor_subscribed_to_are_sent() -> None:
    """Fig. 7 l. 7: T_j ∈ neighbor.subscriptions."""
    node = Node(T0)
    node.events(7, event(1, "T0"), event(2, "T0.T1.T2"))
    node.heartbeat(1, T1)
    node.ids(1)
    node.advance(1)
    assert node.sent_ids() == [[event(2).id]]


def test_fig7_a_running_back_off_is_not_started_again() -> None:
    """Fig. 7 l. 14: if backOff not started."""
    node = Node(T0)
    node.events(7, event(1))
    node.heartbeat(1, T0)
    node.ids(1)
    due_us = node.host.timers[BACK_OFF]
    node.advance(0.3)
    node.ids(1)
    assert node.host.timers[BACK_OFF] == due_us == SECOND // 2


def test_fig7_nothing_to_send_starts_no_back_off() -> None:
    """Fig. 7 l. 12."""
    node = Node(T0)
    node.heartbeat(1, T0)
    node.ids(1)
    assert BACK_OFF not in node.host.timers


# ---- Fig. 8


@pytest.mark.parametrize(
    ("speeds_mps", "upper_s", "hb_delay_s"),
    [
        ([10.0], 5.0, 4.0),  # §5.2: x = 40 over 10 m/s makes a period of 4 s
        ([10.0], 1.0, 1.0),
        ([30.0, 50.0], 5.0, 1.0),
        ([80.0], 5.0, 0.5),
        ([4000.0], 5.0, 0.1),
    ],
)
def test_fig8_hb_delay_is_x_over_average_speed_within_bounds(
    speeds_mps: list[float], upper_s: float, hb_delay_s: float
) -> None:
    """Fig. 8 l. 3 to 8."""
    node = Node(T0, hb_upper_s=upper_s)
    for j, speed_mps in enumerate(speeds_mps):
        node.heartbeat(j + 1, T0, speed_mps=speed_mps)
    assert node.frugal.delays.hb_delay_us == hb_delay_s * SECOND


def test_fig8_without_speeds_hb_delay_is_static() -> None:
    """§3: where no speeds are known, the period is a constant."""
    node = Node(T0, hb_initial_s=3.0, hb_upper_s=5.0)
    node.heartbeat(1, T0)
    assert node.frugal.delays.hb_delay_us == 3 * SECOND


def test_fig8_ngc_delay_follows_hb_delay() -> None:
    """Fig. 8 l. 12; §4.2: computed again at every received heartbeat."""
    node = Node(T0, hb_upper_s=5.0)
    node.heartbeat(1, T0, speed_mps=10.0)
    assert node.frugal.delays.ngc_delay_us == 10 * SECOND


def test_fig8_bo_delay_is_divided_by_the_number_of_events() -> None:
    """Fig. 8 l. 17: HBDelay / (HB2BO × sizeof(eventsToSend))."""
    for n in (1, 2, 5):
        node = Node(T0)
        node.events(7, *[event(k) for k in range(n)])
        node.heartbeat(1, T0)
        node.ids(1)
        assert node.host.timers[BACK_OFF] == SECOND // (2 * n)
