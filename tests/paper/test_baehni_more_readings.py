"""Baehni, Chhabra, Guerraoui: readings R13 to R20, one by one."""

from __future__ import annotations

import pytest

from roamcast.protocols.frugal.frames import Events
from roamcast.protocols.frugal.protocol import BACK_OFF, EVENTS_IDS, HEARTBEAT, NEIGHBORHOOD_GC, Frugal
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost
from tests.paper.baehni_nodes import SECOND, T0, T1, T2, Node, event
from tests.support.net import TinyNet


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
