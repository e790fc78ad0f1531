"""Baehni, Chhabra, Guerraoui: sending and collecting events (Figs. 9 and 10), and how much is sent."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roamcast.protocols.frugal.event_table import EventTable
from roamcast.protocols.frugal.protocol import BACK_OFF, NEIGHBORHOOD_GC, Frugal
from roamcast.pubsub.filters import topic
from tests.paper.baehni_nodes import MINUTE, SECOND, T0, T1, T2, Node, collected, event, hold
from tests.support.net import TinyNet

# ---- Fig. 9, §4.3


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


# ---- Fig. 10, §4.4


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


# ---- how much is sent


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
