"""Baehni, Chhabra, Guerraoui: readings R1 to R12, one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from roamcast.papers.presets import load
from roamcast.protocols.frugal.event_table import EventTable
from roamcast.protocols.frugal.neighbors import overlap
from roamcast.protocols.frugal.protocol import BACK_OFF, NEIGHBORHOOD_GC, Frugal
from roamcast.pubsub.filters import EVERYTHING, attr, topic
from roamcast.world.mobility import build
from roamcast.world.mobility.city import CitySection
from tests.paper.baehni_nodes import MINUTE, SECOND, T0, T1, T2, Node, collected, event, hold


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
