"""Baehni, Chhabra, Guerraoui, "Frugal Event Dissemination in a Mobile Environment": a test for each rule.

Lines of figures are cited as printed. Without jitter (`jitter_ms=0`) delays are exactly those of the figures.
"""

from __future__ import annotations

from fractions import Fraction
from math import nan
from typing import Any

import pytest

from roamcast.papers.presets import load
from roamcast.protocols.frugal.event_table import EventTable, StoredEvent
from roamcast.protocols.frugal.frames import Events, EventsIds, Heartbeat, table_id
from roamcast.protocols.frugal.neighbors import overlap
from roamcast.protocols.frugal.protocol import BACK_OFF, EVENTS_IDS, HEARTBEAT, NEIGHBORHOOD_GC, Frugal
from roamcast.protocols.kit.interface import BROADCAST
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, attr, topic
from roamcast.testing import ScriptHost
from roamcast.world.mobility import build
from roamcast.world.mobility.city import CitySection
from tests.support.net import TinyNet

SECOND = 1_000_000
MINUTE = 60 * SECOND

T0, T1, T2 = topic("T0"), topic("T0.T1"), topic("T0.T1.T2")


def event(number: int, name: str = "T0", validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, number), name, validity_us=validity_us)


class Node:
    """One process whose clock the test sets; its first heartbeat is far in the future unless a test sets it."""

    def __init__(self, *subscriptions: Filter, speed_mps: float = nan, **params: Any) -> None:
        self.host = ScriptHost(0)
        self.host.speed_mps = speed_mps
        self.host.draws = [0.999999]
        self.frugal = Frugal(self.host, Frugal.params_class(**{"jitter_ms": 0.0, **params}))
        self.frugal.on_start()
        for key, filter in enumerate(subscriptions):
            self.frugal.on_subscribe(key, filter)

    def heartbeat(self, j: int, *subscriptions: Filter, speed_mps: float = nan) -> None:
        self.host.hear(self.frugal, Heartbeat(list(subscriptions), speed_mps), j)
        self.advance(0)

    def ids(self, j: int, *events: Event) -> None:
        self.host.hear(self.frugal, EventsIds([table_id(e.id) for e in events]), j)

    def events(self, j: int, *events: Event, to: tuple[int, ...] = (), age_us: int = 0) -> None:
        self.host.hear(self.frugal, Events(list(events), [age_us] * len(events), list(to)), j)

    def advance(self, seconds: float) -> None:
        self.host.advance(self.frugal, self.host.clock_us + round(seconds * SECOND))

    def sent(self, kind: str) -> list[Any]:
        """The frames of a kind since the last call."""
        frames = self.host.frames(kind)
        self.host.sent = [(to, frame) for to, frame in self.host.sent if frame.kind != kind]
        return frames

    def sent_ids(self) -> list[list[int]]:
        return [[e.id for e in frame.events()] for frame in self.sent("event")]

    def neighbors(self) -> list[int]:
        return list(self.frugal.neighborhood_table.rows)

    def stored(self) -> list[int]:
        return [row.event.id for row in self.frugal.events_table.rows]

    def ids_of(self, j: int) -> list[int]:
        """The ids that a neighbour is presumed to have."""
        table = self.frugal.neighborhood_table
        return table.ids_of(table.rows[j])


# ------------------------------------------------------------------------------------------------ an example: Fig. 1


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


# ------------------------------------------------------------------------------------------------- Figs. 4 and 5, §4.1


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


# ------------------------------------------------------------------------------------------------------ Fig. 6, §4.2


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


# ------------------------------------------------------------------------------------------------------------- Fig. 7


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


# ------------------------------------------------------------------------------------------------------------- Fig. 8


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


# ------------------------------------------------------------------------------------------------------ Fig. 9, §4.3


def test_fig9_events_go_with_the_interested_neighbors() -> None:
    """Fig. 9 l. 5; §3: the frame also names the neighbours that want its events."""
    node = Node(T0)
    node.events(7, event(1, "T0.T1"))
    node.heartbeat(1, T0)
    node.heartbeat(2, T2)
    node.heartbeat(3, T1)
    node.ids(3)
    node.advance(0.5)
    (frame,) = node.sent("event")
    assert frame.neighbors_ids == [1, 3]


def test_fig9_an_event_that_was_sent_is_not_sent_again() -> None:
    """Fig. 9 l. 7 to 11: the sender presumes that its neighbours have it."""
    node = Node(T0)
    node.events(7, event(1))
    for j in (1, 2):
        node.heartbeat(j, T0)
        node.ids(j)
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]
    node.ids(1)
    node.ids(2)
    node.advance(1)
    assert node.sent_ids() == []


def test_sec41_the_events_to_send_are_limited_by_the_table_and_reset_by_sending() -> None:
    """§4.1, §4.4: of three events two were kept; after the back-off nothing is left to send."""
    node = Node(T0, events_table_size=2)
    node.heartbeat(1, T0)
    node.events(7, event(1), event(2), event(3))
    assert [row.event.id for row, _ in node.frugal.events_to_send()] == node.stored() == [event(2).id, event(3).id]
    node.advance(1)
    assert node.sent_ids() == [[event(2).id, event(3).id]]
    assert node.frugal.events_to_send() == []


def test_fig9_the_next_back_off_does_not_depend_on_the_last() -> None:
    """Fig. 9 l. 3: BODelay is null again, so the delay is that of one event (Fig. 8 l. 16)."""
    node = Node(T0)
    node.heartbeat(1, T0)
    node.events(7, event(1), event(2), event(3), event(4))
    node.advance(1)
    assert len(node.sent_ids()) == 1
    node.events(7, event(5))
    assert node.host.timers[BACK_OFF] - node.host.now() == SECOND // 2


def test_fig9_sending_increments_the_counter() -> None:
    """Fig. 9 l. 12; §4.3: a send adds one to the counters of the events in it, and to no others."""
    node = Node(T0)
    node.events(7, event(1, "T0"), event(2, "T0.T1"))
    node.heartbeat(1, T1)
    node.ids(1)
    node.advance(0.5)
    assert node.frugal.events_to_send() == []  # §4.1: emptied by every send
    assert [row.fwd for row in node.frugal.events_table.rows] == [0, 1]


def test_fig9_overheard_events_update_what_neighbors_have() -> None:
    """Fig. 9 l. 18 to 20: neighbour 1 heard the event from 7, so it no longer needs it."""
    node = Node(T0)
    node.events(7, event(1))
    node.heartbeat(1, T0)
    node.ids(1)
    node.events(7, event(1), to=(1,))
    node.advance(1)
    assert node.sent_ids() == []
    assert node.host.labels("suppress") == ["no longer needed"]


def test_fig9_parasites_are_dropped() -> None:
    """§3: an event that matches no subscription of the receiver is a parasite and is not forwarded."""
    node = Node(T1)
    node.events(7, event(1, "T0"))
    assert (node.host.delivered, node.stored()) == ([], [])
    assert node.host.labels("drop") == ["parasite"]


def test_fig9_a_parasite_still_shows_which_neighbors_have_it() -> None:
    """Fig. 9 l. 18 comes before l. 21."""
    node = Node(T1)
    node.heartbeat(1, T0)
    node.events(7, event(1, "T0"), to=(1,))
    assert node.ids_of(1) == [event(1).id]


def test_fig9_a_new_event_is_stored_delivered_and_forwarded() -> None:
    """§4.3: delivery comes first, then the search for neighbours that lack an event."""
    node = Node(T0)
    node.heartbeat(1, T0)
    node.heartbeat(2, T0)
    node.events(1, event(1))
    assert ([e.id for e in node.host.delivered], node.stored()) == ([event(1).id], [event(1).id])
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]


def test_fig9_an_event_is_delivered_once() -> None:
    """Fig. 9 l. 21: e ∉ eventsTable."""
    node = Node(T0)
    node.events(7, event(1))
    node.events(8, event(1))
    assert len(node.host.delivered) == 1
    assert node.host.labels("drop") == ["heard again"]


def test_fig9_a_new_event_stops_the_back_off_and_starts_it_again() -> None:
    """Fig. 9 l. 22 and 30: there are two events now, so the back-off is a quarter of a second."""
    node = Node(T0)
    node.events(7, event(1))
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(0.4)
    node.events(7, event(2))
    assert node.host.timers[BACK_OFF] == node.host.clock_us + SECOND // 4
    node.advance(0.25)
    assert node.sent_ids() == [[event(1).id, event(2).id]]


def test_fig9_publishing_sends_at_once_when_a_neighbor_is_interested() -> None:
    """Fig. 9 l. 35 to 45: it is sent with the neighbours' ids, recorded for each, and kept."""
    node = Node(T0)
    node.heartbeat(1, T0)
    node.frugal.on_publish(event(1))
    (frame,) = node.sent("event")
    assert (frame.carried, frame.ages_us, frame.neighbors_ids) == ([event(1)], [0], [1])
    assert node.stored() == [event(1).id]
    node.ids(1)
    node.advance(1)
    assert node.sent_ids() == []


def test_fig9_without_an_interested_neighbor_a_published_event_is_kept_for_later() -> None:
    """Fig. 9 l. 40 and 48."""
    node = Node(T0)
    node.frugal.on_publish(event(1))
    assert node.sent_ids() == []
    assert node.host.labels("suppress") == ["nobody needs it"]
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]


def test_fig9_publishing_starts_neighborhood_gc() -> None:
    """Fig. 9 l. 50: but no heartbeat."""
    node = Node()
    node.frugal.on_publish(event(1))
    assert list(node.host.timers) == [NEIGHBORHOOD_GC]


# ----------------------------------------------------------------------------------------------------- Fig. 10, §4.4


def test_fig10_neighbors_not_heard_for_ngc_delay_are_removed() -> None:
    """Fig. 10 l. 4: currentTime - NGCDelay > storeTime, each time the delay expires."""
    node = Node(T0)
    node.heartbeat(1, T0)
    node.advance(2.5)  # the collection runs: an entry that is exactly as old as the delay stays
    assert node.neighbors() == [1]
    node.heartbeat(2, T0)
    node.advance(2.5)
    assert node.neighbors() == [2]


def test_fig10_a_full_table_collects_when_an_event_is_received() -> None:
    """Fig. 9 l. 23; Fig. 10."""
    node = Node(T0, events_table_size=2)
    node.events(7, event(1), event(2), event(3))
    assert node.stored() == [event(2).id, event(3).id]
    assert node.host.labels("drop") == ["table full"]


def test_fig10_a_full_table_collects_when_an_event_is_published() -> None:
    """Fig. 9 l. 46."""
    node = Node(T0, events_table_size=1)
    node.frugal.on_publish(event(1))
    node.frugal.on_publish(event(2))
    assert node.stored() == [event(2).id]


def test_sec44_an_expired_event_is_collected_first() -> None:
    """§4.4: a full table first removes one expired event; the others stay."""
    table = EventTable(3, 100)
    hold(table, 1, MINUTE, fwd=50, expiry_us=10)
    hold(table, 2, MINUTE, fwd=0, expiry_us=5)
    hold(table, 3, MINUTE, fwd=0, expiry_us=5)
    assert collected(table, now_us=5) == event(2).id
    assert len(table) == 2


def test_sec44_an_event_that_expired_meanwhile_makes_room_for_a_published_one() -> None:
    node = Node(T0, events_table_size=2)
    node.events(7, event(1))
    node.events(7, event(2, validity_us=SECOND))
    node.advance(2)
    node.frugal.on_publish(event(3))
    assert node.stored() == [event(1).id, event(3).id]
    assert node.host.labels("drop") == ["expired"]


def hold(table: EventTable, number: int, validity_us: int, fwd: int, expiry_us: int = FOREVER) -> None:
    stored = StoredEvent(event(number, validity_us=validity_us), expiry_us)
    table.add(stored)
    for _ in range(fwd):
        table.count_forward(stored)


def collected(table: EventTable, now_us: int = 0) -> int:
    table.expire(now_us)
    gc = table.garbage_collect()
    assert gc is not None
    assert gc not in table.rows
    return gc.event.id


@pytest.mark.parametrize("fwd", [0, 1])
@pytest.mark.parametrize("first", [1, 2])
def test_sec44_the_worked_example(fwd: int, first: int) -> None:
    """§4.4: an event of 2 min, forwarded less than 2 times, is collected after one of 5 min, forwarded 5 times."""
    table = EventTable(2, 100)
    rows = [(1, 2 * MINUTE, fwd), (2, 5 * MINUTE, 5)]
    for stored in rows if first == 1 else reversed(rows):
        hold(table, *stored)
    assert collected(table) == event(2).id


def test_sec44_at_two_forwards_the_order_of_the_example_changes() -> None:
    """ "less than 2 times": at 2 both are 1/2 and the first goes; at 3 the two-minute event goes."""
    assert Fraction(2, 2 + 2) == Fraction(5, 5 + 5)
    for fwd, first, gone in ((2, 1, 1), (2, 2, 2), (3, 1, 1), (3, 2, 1)):
        table = EventTable(2, 100)
        rows = [(1, 2 * MINUTE, fwd), (2, 5 * MINUTE, 5)]
        for stored in rows if first == 1 else reversed(rows):
            hold(table, *stored)
        assert collected(table) == event(gone).id


# ----------------------------------------------------------------------------------------------------------- readings


def test_r1_valid_means_before_expiry() -> None:
    """Fig. 7 l. 7: an event is sent in the last microsecond of its validity, and not after it."""
    for validity_us, sent in ((SECOND // 2 + 1, [[event(1).id]]), (SECOND // 2, [])):
        node = Node(T0)
        node.events(7, event(1, validity_us=validity_us))
        node.heartbeat(1, T0)
        node.ids(1)
        node.advance(0.5)
        assert node.sent_ids() == sent


def test_r1_age_travels_with_the_event() -> None:
    node = Node(T0)
    node.heartbeat(1, T0)
    node.events(7, event(1, validity_us=10 * SECOND), age_us=4 * SECOND)
    node.advance(0.5)
    (frame,) = node.sent("event")
    assert frame.ages_us == [4.5 * SECOND]


def test_r1_an_event_at_the_end_of_its_validity_is_dropped() -> None:
    node = Node(T0)
    node.events(7, event(1, validity_us=SECOND), age_us=SECOND)
    node.events(7, event(2, validity_us=SECOND), age_us=SECOND - 1)
    assert [e.id for e in node.host.delivered] == [event(2).id]
    assert node.host.labels("drop") == ["expired"]


def test_r2_the_first_heartbeat_heard_brings_hb_delay_between_its_bounds() -> None:
    """Also a heartbeat of a node that is not kept: Fig. 6 l. 15 comes after the `end if`."""
    node = Node(T0)
    node.heartbeat(1, topic("other"))
    assert node.frugal.delays.hb_delay_us == SECOND
    assert node.frugal.delays.ngc_delay_us == 2.5 * SECOND


def test_r2_defaults_are_those_of_the_evaluation() -> None:
    params: Any = Frugal.params_class()
    assert (params.x, params.hb2bo, params.hb2ngc, params.hb_upper_s, params.hb_initial_s) == (40, 2, 2.5, 1, 15)


@pytest.mark.parametrize(("ids_on", "lists"), [("new", 1), ("heartbeat", 3)])
def test_r3_ids_on_a_new_neighbor_or_on_every_heartbeat(ids_on: str, lists: int) -> None:
    node = Node(T0, ids_on=ids_on)
    for _ in range(3):
        node.heartbeat(1, T0)
        node.advance(1)
    assert len(node.sent("ids")) == lists


def test_r4_a_neighbor_is_new_again_when_its_entry_expired() -> None:
    """Nothing is known about its events any more."""
    node = Node(T0, ids_on="new")
    node.events(7, event(1))
    node.heartbeat(1, T0)
    node.ids(1, event(1))
    node.advance(6)
    assert node.neighbors() == []
    node.sent("ids")
    node.heartbeat(1, T0)
    assert len(node.sent("ids")) == 1
    node.ids(1)
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]


def test_r5_the_smallest_gc_goes_first() -> None:
    """Compared with Equation 1 in fractions, in minutes and in microseconds: the order is the same."""
    rows = [(1, 1), (3, 1), (2, 7), (10, 7), (10, 0), (1, 30), (7, 30)]
    for unit in (MINUTE, 1):
        table = EventTable(10, 100)
        for number, (validity, fwd) in enumerate(rows):
            hold(table, number, validity * unit, fwd)
        order = [collected(table) for _ in rows]
        gc = {event(n).id: Fraction(v * unit, f + v * unit) for n, (v, f) in enumerate(rows)}
        assert order == sorted(gc, key=lambda id: (gc[id], id))


def test_r5_events_never_forwarded_go_in_the_order_they_came() -> None:
    table = EventTable(3, 100)
    for number, validity in ((1, 5), (2, 1), (3, 9)):
        hold(table, number, validity, 0)
    assert [collected(table) for _ in range(3)] == [event(n).id for n in (1, 2, 3)]


def test_r6_the_radio_range_belongs_to_the_scenario() -> None:
    """§5.1, footnotes 11 and 12: 442 m, the range at 1 Mbit/s, on the plain, and 44 m in the city."""
    assert load("baehni-waypoint").scenario().range_m == 442
    assert load("baehni-city").scenario().range_m == 44


def test_r1_of_the_city_cars_use_only_the_main_roads_or_all_roads() -> None:
    """§5.1: some roads are used more than others."""
    preset = load("baehni-city")
    assert "R1" in preset.sources["roads"]
    used = []
    for scenario in (preset.scenario(), preset.scenario({"roads": "all"})):
        mobility = build(scenario, 1)
        assert isinstance(mobility, CitySection)
        used.append({street.speed_mps for street in mobility.graph.streets})
    main, every = used
    assert main == {11.5, 13.0} and main < every


def test_r7_sharing_topics() -> None:
    assert overlap(T0, T2)
    assert overlap(T2, T0)
    assert overlap(T1, T1)
    assert overlap(topic(""), T1)
    assert not overlap(T1, topic("T0.T10"))
    assert not overlap(topic("T0.T10"), T1)


def test_r7_other_filters_share_unless_a_match_of_both_is_excluded() -> None:
    a = attr("a")
    assert overlap(a > 3, a < 5)
    assert not overlap(a > 5, a < 3)
    assert overlap(a > 5, attr("b") < 3)
    assert overlap(T1 & (a > 5), T0)
    assert not overlap(T1 & (a > 5), topic("T7"))
    assert overlap(EVERYTHING, T0)
    long = a.isin(*range(200))
    assert overlap(long, a.isin(*range(300, 500)))  # too long for one filter: a match of both is not excluded


def test_r8_the_sender_of_an_event_has_it() -> None:
    node = Node(T0)
    node.heartbeat(1, T0)
    node.events(1, event(1))
    assert BACK_OFF not in node.host.timers


def test_r9_a_neighbor_is_not_presumed_to_have_what_it_dropped() -> None:
    """Neighbour 1 was named for e2 of T1; it gets e1 of T0 when it subscribes to that."""
    node = Node(T0)
    node.heartbeat(1, T1)
    node.events(7, event(1, "T0"), event(2, "T0.T1"), to=(1,))
    assert node.ids_of(1) == [event(2).id]
    node.heartbeat(1, T0)
    node.ids(1, event(2))
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]


def test_r9_the_named_neighbors_also_count_for_a_stored_event() -> None:
    node = Node(T0)
    node.events(7, event(1))
    node.heartbeat(1, T1)
    node.events(7, event(1), to=(1,))
    assert node.ids_of(1) == []


def test_r9_a_copy_with_another_topic_counts_as_the_stored_event() -> None:
    node = Node(T0)
    node.events(7, event(1))
    node.heartbeat(1, T1)
    node.events(7, event(1, "T0.T1"), to=(1,))
    assert node.ids_of(1) == []


def test_r10_publishing_needs_a_neighbor_that_wants_this_event() -> None:
    """§4.3 against Fig. 9 l. 36: neighbour 1 shares T1 and does not want T0."""
    node = Node(T0)
    node.heartbeat(1, T1)
    node.frugal.on_publish(event(1, "T0"))
    assert node.sent_ids() == []


def test_r10_a_published_event_is_not_delivered_to_its_publisher() -> None:
    node = Node(T0)
    node.frugal.on_publish(event(1))
    node.events(7, event(1))
    assert node.host.delivered == []


def test_r11_a_publisher_without_subscriptions_serves_neighbors_that_want_its_event() -> None:
    node = Node()
    node.frugal.on_publish(event(1, validity_us=20 * SECOND))
    node.heartbeat(1, topic("other"))
    assert node.neighbors() == []
    node.heartbeat(2, T0)
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]
    node.heartbeat(2, T0)
    node.advance(0.5)
    assert node.sent_ids() == []
    assert node.sent("ids") == node.sent("heartbeat") == []


def test_r11_a_publisher_serves_a_topic_beside_its_subscriptions() -> None:
    """Neighbour 1 shares no topic; an event that the node only received is no reason to keep the neighbour."""
    node = Node(T0, topic("own"))
    node.events(7, event(1, "own"))
    node.frugal.on_unsubscribe(1)
    node.heartbeat(1, topic("own"))
    assert node.neighbors() == []
    node.frugal.on_publish(event(2, "own"))
    node.heartbeat(1, topic("own"))
    node.advance(0.5)
    assert node.sent_ids() == [[event(2).id]]


def test_r11_an_expired_own_event_is_no_reason_to_keep_a_neighbor() -> None:
    node = Node()
    node.frugal.on_publish(event(1, validity_us=SECOND))
    node.advance(1)
    node.heartbeat(1, T0)
    assert node.neighbors() == []


def test_r11_the_collection_stops_without_subscriptions_and_neighbors() -> None:
    node = Node()
    node.frugal.on_publish(event(1, validity_us=SECOND))
    node.heartbeat(1, T0)
    assert NEIGHBORHOOD_GC in node.host.timers
    node.advance(10)
    assert node.neighbors() == []
    assert node.host.timers == {}
    node.frugal.on_publish(event(2))
    node.heartbeat(1, T0)
    assert list(node.host.timers) == [NEIGHBORHOOD_GC, BACK_OFF]


def test_r12_a_collected_event_is_not_delivered_again() -> None:
    node = Node(T0, events_table_size=1)
    node.events(7, event(1), event(2), event(1))
    assert [e.id for e in node.host.delivered] == [event(1).id, event(2).id]


def test_r12_the_number_of_remembered_ids_is_limited() -> None:
    node = Node(T0, events_table_size=1, seen_limit=2)
    node.events(7, event(1), event(2), event(3), event(1))
    assert [e.id for e in node.host.delivered] == [event(n).id for n in (1, 2, 3, 1)]


def test_r13_events_to_send_are_recomputed_when_the_back_off_ends() -> None:
    """§4.3: the neighbourhood has changed: neighbour 2 has come and lacks e2."""
    node = Node(T0)
    node.events(7, event(1), event(2))
    node.heartbeat(1, T0)
    node.ids(1, event(2))
    node.heartbeat(2, T0)
    node.advance(0.5)
    assert [sorted(ids) for ids in node.sent_ids()] == [[event(1).id, event(2).id]]


def test_r13_an_event_that_expires_during_the_back_off_is_not_sent() -> None:
    """§4.3: events may expire during the back-off, so the events to send are computed again."""
    node = Node(T0)
    node.events(7, event(1, validity_us=SECOND // 10), event(2))
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(0.5)
    assert node.sent_ids() == [[event(2).id]]
    assert node.host.labels("drop") == ["expired"]


def test_r13_events_no_longer_needed_are_noted_in_the_order_they_would_have_been_sent() -> None:
    node = Node(T0)
    node.heartbeat(1, T1)
    node.heartbeat(2, T0)
    node.events(7, event(1), event(2, "T0.T1"))
    node.ids(1, event(2))
    node.ids(2, event(1), event(2))
    node.advance(2)
    noted = [note[2] for note in node.host.notes if note[1] == "no longer needed"]
    assert noted == [event(2).id, event(1).id]


def test_r13_the_back_off_is_for_the_total_number_of_events() -> None:
    """Footnote 10. By Fig. 7 l. 14 it would start at the first neighbour, for one event: half a second."""
    node = Node(T0)
    node.events(7, event(1, "T0.T1.T2"), event(2), event(3), event(4))
    node.heartbeat(1, T2)
    node.heartbeat(2, T0)
    node.ids(1)
    assert node.host.timers[BACK_OFF] == SECOND // 8


def test_r13_a_stopped_back_off_leaves_its_delay() -> None:
    """Fig. 9 l. 22 resets nothing, so the minimum of Fig. 8 l. 19 still is that of the four earlier events."""
    node = Node(T0)
    old = [event(n) for n in range(4)]
    node.events(7, *old)
    node.heartbeat(1, T0)
    node.ids(1)
    node.events(1, event(5), *old)
    assert BACK_OFF not in node.host.timers
    node.heartbeat(2, T0)
    node.ids(2, *old)
    assert node.host.timers[BACK_OFF] - node.host.clock_us == SECOND // 8
    node.advance(1)
    node.heartbeat(3, T0)
    node.ids(3, *old)
    assert node.host.timers[BACK_OFF] - node.host.clock_us == SECOND // 2


def test_r14_an_empty_id_list_is_sent() -> None:
    node = Node(T0)
    node.heartbeat(1, T0)
    assert [frame.fields()[0] for frame in node.sent("ids")] == [[]]


def test_r15_ids_heard_before_the_heartbeat_count_when_it_comes() -> None:
    node = Node(T0, ids_on="new")
    node.events(7, event(1), event(2))
    node.ids(1, event(2))
    node.heartbeat(1, T0)
    node.advance(0.5)
    assert node.sent_ids() == [[event(1).id]]


def test_r15_with_ids_on_every_heartbeat_early_ids_are_ignored() -> None:
    """Fig. 6 l. 26 as printed: the next heartbeat brings the next list."""
    node = Node(T0, ids_on="heartbeat")
    node.events(7, event(1))
    node.ids(1)
    node.heartbeat(1, T0)
    assert BACK_OFF not in node.host.timers


def test_r15_early_ids_are_forgotten_after_ngc_delay() -> None:
    node = Node(T0, ids_on="new")
    node.heartbeat(2, T0)
    node.ids(1)
    assert list(node.frugal.early_ids) == [1]
    node.advance(5.1)
    assert list(node.frugal.early_ids) == []


def test_r15_changed_subscriptions_make_a_neighbor_new() -> None:
    node = Node(T0, ids_on="new")
    for j, subscription in ((1, T0), (1, T0), (1, T1), (1, T1)):
        node.heartbeat(j, subscription)
    assert len(node.sent("ids")) == 2
    node.frugal.on_subscribe(5, topic("more"))
    node.heartbeat(1, T1)
    node.heartbeat(1, T1)
    assert len(node.sent("ids")) == 1


@pytest.mark.parametrize("ids_on", ["new", "heartbeat"])
@pytest.mark.parametrize("holder", [0, 1])
def test_r15_each_of_two_processes_that_meet_can_send(ids_on: str, holder: int) -> None:
    net = TinyNet(Frugal, 2, jitter_ms=0.0, ids_on=ids_on)
    net.start()
    for i in range(2):
        net.subscribe(i, T0)
    net.publish(holder, topic="T0")
    net.run(20)
    net.join(0, 1)
    net.run(20)
    assert len(net.delivered(1 - holder)) == 1


def test_r16_the_first_heartbeat_comes_at_a_random_phase() -> None:
    for draw in (0.0, 0.25, 0.9):
        host = ScriptHost(0)
        host.draws = [draw]
        Frugal(host, Frugal.params_class()).on_subscribe(1, T0)
        assert host.timers[HEARTBEAT] == draw * 15 * SECOND


def test_r16_a_shorter_delay_shortens_the_running_wait_in_proportion() -> None:
    """12 of 15 s are left, so 0.8 of 1 s; and 34.5 of 37.5 s of the collection."""
    node = Node(T0)
    node.advance(3)
    node.heartbeat(1, T0)
    assert node.host.timers[HEARTBEAT] - node.host.clock_us == pytest.approx(0.8 * SECOND, abs=20)
    assert node.host.timers[NEIGHBORHOOD_GC] - node.host.clock_us == 2.3 * SECOND


def test_r16_a_longer_delay_counts_from_the_next_heartbeat_on() -> None:
    node = Node(T0, hb_upper_s=5.0)
    node.heartbeat(1, T0, speed_mps=40.0)
    node.advance(1)
    node.sent("heartbeat")
    due_us = node.host.timers[HEARTBEAT]
    node.heartbeat(1, T0, speed_mps=10.0)
    assert node.host.timers[HEARTBEAT] == due_us
    node.advance(1)
    assert len(node.sent("heartbeat")) == 1
    assert node.host.timers[HEARTBEAT] == due_us + 4 * SECOND


def test_r17_answers_and_back_offs_have_a_random_part() -> None:
    node = Node(T0, jitter_ms=10.0)
    node.events(7, event(1))
    node.host.draws = [0.5, 0.25]
    node.heartbeat(1, T0)
    assert node.host.timers[EVENTS_IDS] - node.host.clock_us == 5000
    node.ids(1)
    assert node.host.timers[BACK_OFF] - node.host.clock_us == SECOND // 2 + 2500


def test_r17_answers_to_several_heartbeats_are_one_list() -> None:
    """It is sent at the time drawn for the first heartbeat."""
    node = Node(T0, jitter_ms=10.0)
    node.host.draws = [0.2, 0.9]
    node.events(7, event(1, "T0.T1"), event(2, "T0.T3"), event(3, "T0.T4"))
    node.heartbeat(1, T1)
    node.heartbeat(2, topic("T0.T3"))
    node.advance(0.002)
    assert [frame.fields()[0] for frame in node.sent("ids")] == [[event(1).id, event(2).id]]


def test_r17_one_list_for_several_has_valid_events_and_the_size_of_the_paper() -> None:
    node = Node(T0, jitter_ms=10.0, sizes="paper")
    node.host.draws = [0.2]
    node.events(7, event(1, "T0.T1", validity_us=1000), event(2, "T0.T3"), event(3, "T0.T1"))
    node.heartbeat(1, T1)
    node.heartbeat(2, topic("T0.T3"))
    node.advance(0.002)
    (frame,) = node.sent("ids")
    assert (frame.fields()[0], frame.size) == ([event(2).id, event(3).id], 32)


def test_r18_average_speed_is_over_the_neighbors_whose_speed_is_known() -> None:
    node = Node(T0, speed_mps=1000.0, hb_upper_s=10.0)
    node.heartbeat(1, T0)
    node.heartbeat(2, T0, speed_mps=10.0)
    node.heartbeat(3, T0, speed_mps=30.0)
    node.heartbeat(4, topic("other"), speed_mps=500.0)
    assert node.frugal.delays.hb_delay_us == 2 * SECOND


def test_r18_at_rest_hb_delay_is_its_upper_bound() -> None:
    node = Node(T0, hb_upper_s=3.0)
    node.heartbeat(1, T0, speed_mps=80.0)
    node.heartbeat(1, T0, speed_mps=0.0)
    assert node.frugal.delays.hb_delay_us == 3 * SECOND


def test_r18_ids_of_the_neighbor_itself_renew_its_store_time() -> None:
    node = Node(T0)
    node.heartbeat(1, T0)
    node.heartbeat(2, T0)
    node.advance(1)
    node.ids(1)
    node.events(7, event(1), to=(2,))
    table = node.frugal.neighborhood_table.rows
    assert (table[1].store_time_us, table[2].store_time_us) == (SECOND, 0)


def test_r19_paper_sizes() -> None:
    """§5.2: a heartbeat 50 bytes, an event 400, an event identifier 128 bits."""
    node = Node(T0, sizes="paper")
    node.events(7, event(1), event(2))
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(20)
    assert {frame.size for frame in node.sent("heartbeat")} == {50}
    assert [frame.size for frame in node.sent("ids")] == [32]
    assert [frame.size for frame in node.sent("event")] == [800]


def test_r19_events_that_do_not_fit_into_a_frame_go_in_several() -> None:
    node = Node(T0, sizes="paper", frame_limit=1000)
    node.events(7, *[event(n) for n in range(5)])
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(1)
    assert [len(ids) for ids in node.sent_ids()] == [2, 2, 1]


def test_r19_a_frame_may_be_exactly_full() -> None:
    node = Node(T0, sizes="paper", frame_limit=800)
    node.events(7, *[event(n) for n in range(3)])
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(1)
    assert [len(ids) for ids in node.sent_ids()] == [2, 1]


def test_r19_the_size_of_the_named_neighbors_counts() -> None:
    """Two events fit into a frame with one named neighbour, but not with two."""
    one = Events([event(1), event(2)], [SECOND // 8] * 2, [100_000]).size
    for names, batches in ((1, [2]), (2, [1, 1])):
        node = Node(T0, frame_limit=one)
        node.events(7, event(1), event(2))
        for j in range(100_000, 100_000 + names):
            node.heartbeat(j, T0)
        for j in range(100_000, 100_000 + names):
            node.ids(j)
        node.advance(1)
        frames = node.sent("event")
        assert [len(frame.carried) for frame in frames] == batches
        assert all(frame.size <= one and len(frame.neighbors_ids) == names for frame in frames)


def test_r19_beside_one_event_as_many_neighbors_are_named_as_there_is_room_for() -> None:
    node = Node(T0, frame_limit=Events([event(1)], [0], [100_000, 100_001]).size)
    for j in range(100_000, 100_004):
        node.heartbeat(j, T0)
    node.frugal.on_publish(event(1))
    (frame,) = node.sent("event")
    assert frame.neighbors_ids == [100_000, 100_001]
    assert frame.size == node.frugal.params.frame_limit
    for j in range(100_000, 100_004):
        node.ids(j)
    node.advance(1)
    assert node.sent_ids() == []  # all of them were in range


def test_r19_an_event_longer_than_a_frame_is_sent_nevertheless() -> None:
    node = Node(T0, frame_limit=1)
    node.events(7, event(1), event(2))
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(1)
    assert [(frame.events(), frame.neighbors_ids) for frame in node.sent("event")] == [([event(n)], []) for n in (1, 2)]


@pytest.mark.parametrize("need, sends", [("presumed", True), ("listed", False)])
def test_r20_a_neighbor_without_a_list_lacks_everything_or_nothing(need: str, sends: bool) -> None:
    """§3 compares the neighbour's list; by Fig. 7 l. 7 it is enough that the event is not in the table."""
    node = Node(T0, need=need)
    node.events(7, event(1))
    node.heartbeat(1, T0)
    node.heartbeat(2, T0)
    node.ids(1, event(1))
    assert (BACK_OFF in node.host.timers) is sends
    node.advance(2)
    assert node.sent_ids() == ([[event(1).id]] if sends else [])


def test_r20_a_list_shows_what_its_sender_lacks() -> None:
    node = Node(T0, need="listed")
    node.events(7, event(1), event(2))
    node.heartbeat(1, T0)
    node.ids(1, event(2))
    node.advance(2)
    assert node.sent_ids() == [[event(1).id]]


def test_r20_a_new_event_is_forwarded_to_neighbors_that_have_sent_a_list() -> None:
    node = Node(T0, need="listed")
    node.heartbeat(1, T0)
    node.events(7, event(1))
    assert BACK_OFF not in node.host.timers
    node.heartbeat(2, T0)
    node.ids(2)
    node.events(7, event(2))
    node.advance(2)
    (frame,) = node.sent("event")
    assert frame.carried == [event(1), event(2)]
    assert frame.neighbors_ids == [1, 2]


def test_r20_a_neighbor_that_comes_back_has_to_send_a_list_again() -> None:
    node = Node(T0, need="listed")
    node.heartbeat(1, T0)
    node.ids(1)
    node.advance(10)
    assert node.neighbors() == []
    node.heartbeat(1, T0)
    node.events(7, event(1))
    node.advance(1)
    assert node.sent_ids() == []


def test_r20_lists_sent_for_other_topics_do_not_count() -> None:
    """Neighbour 1 listed its events of T1, which shows nothing about T2. The node's own subscriptions may change
    (R15)."""
    node = Node(topic("T1"), need="listed")
    node.heartbeat(1, topic("T1"))
    node.ids(1)
    node.heartbeat(1, topic("T1"), topic("T2"))
    node.events(7, event(1, "T1"))
    node.advance(1)
    assert node.sent_ids() == [[event(1).id]]
    node.frugal.on_subscribe(5, topic("T2"))
    node.events(7, event(2, "T2"))
    node.advance(1)
    assert node.sent_ids() == []
    node.ids(1)
    node.advance(1)
    assert node.sent_ids() == [[event(2).id]]


def test_r20_a_neighbor_that_shares_no_topics_sends_no_list_and_is_served() -> None:
    """As in R11, under both readings."""
    node = Node(need="listed")
    node.frugal.on_publish(event(1))
    node.heartbeat(1, T0)
    node.advance(2)
    assert node.sent_ids() == [[event(1).id]]


# ---------------------------------------------------------------------------------------------------- how much is sent


@pytest.mark.parametrize("need", ["presumed", "listed"])
@pytest.mark.parametrize("ids_on", ["new", "heartbeat"])
@pytest.mark.parametrize("n", [2, 5, 12])
def test_in_a_clique_one_send_serves_all(n: int, ids_on: str, need: str) -> None:
    """§4.3: a process that overhears an event with its list of neighbours need not send it any more."""
    net = TinyNet(Frugal, n, links=[(i, j) for i in range(n) for j in range(i)], ids_on=ids_on, need=need)
    net.start()
    for i in range(n):
        net.subscribe(i, T0)
    net.run(20)
    sent = net.publish(0, topic="T0", validity_us=60 * SECOND)
    net.run(60)
    assert [(i, frame.events()) for _, i, _, frame in net.sends("event")] == [(0, [sent])]
    assert all(net.delivered(i) == [sent.id] for i in range(1, n))


def test_in_a_clique_with_other_nodes_only_the_subscribers_are_served() -> None:
    n = 8
    net = TinyNet(Frugal, n, links=[(i, j) for i in range(n) for j in range(i)])
    net.start()
    for i in range(n):
        net.subscribe(i, T0 if i % 2 else topic("other"))
    net.run(20)
    net.publish(1, topic="T0")
    net.run(60)
    assert len(net.sends("event")) == 1
    assert [len(net.delivered(i)) for i in range(n)] == [0, 0, 0, 1, 0, 1, 0, 1]


def test_along_a_line_each_hop_sends_once() -> None:
    n = 6
    net = TinyNet(Frugal, n, links=[(i, i + 1) for i in range(n - 1)])
    net.start()
    for i in range(n):
        net.subscribe(i, T0)
    net.run(20)
    net.publish(0, topic="T0", validity_us=60 * SECOND)
    net.run(60)
    assert [i for _, i, _, _ in net.sends("event")] == [0, 1, 2, 3, 4]
    assert [len(net.delivered(i)) for i in range(n)] == [0, 1, 1, 1, 1, 1]
