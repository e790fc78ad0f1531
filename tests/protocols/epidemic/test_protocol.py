"""Epidemic dissemination: it floods, carries, compares and repairs. C1 to C6 are its choices."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.protocols.epidemic.frames import ID_MAX, MOST, IdList, Missing, Summary, id_lists
from roamcast.protocols.epidemic.held import mixed
from roamcast.protocols.epidemic.protocol import LIST, PUSH, Epidemic
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.parameters import build
from roamcast.protocols.kit.wire import decode, encode
from roamcast.pubsub.event import FOREVER, LOCAL, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet
from tests.support.storm import plans, weather

NEWS = topic("news")
SECOND = 1_000_000


def node(**params: Any) -> tuple[Epidemic, ScriptHost]:
    protocol, host = make(Epidemic, **params)
    assert isinstance(protocol, Epidemic)
    protocol.on_start()
    return protocol, host


def news(n: int, validity_us: int = FOREVER, scope: int = 0) -> Event:
    return Event(event_id(99, n), "news", validity_us=validity_us, scope=scope)


def row(n: int, **more: Any) -> TinyNet:
    net = TinyNet(Epidemic, n, [(i, i + 1) for i in range(n - 1)], **more)
    net.start()
    return net


def publish(net: TinyNet, count: int, pause_s: float = 0.2) -> list[int]:
    ids = []
    for _ in range(count):
        ids.append(net.publish(0, topic="news", validity_us=600 * SECOND).id)
        net.run(pause_s)
    return ids


# ------------------------------------------------------------------------------------------------------------ the whole


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.1, 0.4]))
def test_every_event_crosses_relays_that_do_not_subscribe_and_arrives_once(seed: int, loss: float) -> None:
    net = row(5, seed=seed, loss=loss)
    net.subscribe(4, NEWS)
    sent = publish(net, 20)
    net.run(60)
    assert sorted(net.delivered(4)) == sent
    assert [net.delivered(i) for i in range(4)] == [[], [], [], []]


def test_a_node_that_joins_late_gets_what_is_valid() -> None:
    net = row(3)
    net.cut(1, 2)
    net.subscribe(2, NEWS)
    expired = net.publish(0, topic="news", validity_us=SECOND).id
    sent = publish(net, 100, 0.1)
    net.join(1, 2)
    net.run(30)
    assert sorted(net.delivered(2)) == sent
    assert expired not in net.delivered(2)


def test_two_halves_that_meet_exchange_what_they_have() -> None:
    net = TinyNet(Epidemic, 6, [(0, 1), (1, 2), (3, 4), (4, 5)])
    net.start()
    for i in range(6):
        net.subscribe(i, NEWS)
    ours = [net.publish(0, topic="news").id for _ in range(5)]
    theirs = [net.publish(5, topic="news").id for _ in range(5)]
    net.run(60)
    net.join(2, 3)
    net.run(60)
    for i in range(6):
        own = ours if i == 0 else theirs if i == 5 else []
        assert sorted(net.delivered(i)) == sorted({*ours, *theirs} - {*own})


def test_neighbours_that_agree_hardly_send_anything() -> None:
    net = TinyNet(Epidemic, 20, [(i, j) for i in range(20) for j in range(i)])
    net.start()
    publish(net, 10)
    net.run(60)
    net.log.clear()
    net.run(400)
    assert {frame.kind for _, _, _, frame in net.log} == {"summary"}
    assert len(net.log) < 0.65 * 20 * 100, "most stay silent in every second interval of 4 s"


def test_nodes_at_the_edges_of_two_rooms_soon_find_each_other() -> None:
    """All in each room agree, so that most of them stay silent."""
    rooms = [(i, j) for first in (0, 5) for i in range(first, first + 5) for j in range(first, i)]
    for seed in range(10):
        net = TinyNet(Epidemic, 10, rooms, seed=seed)
        net.start()
        net.subscribe(5, NEWS)
        publish(net, 3)
        net.run(60)
        net.join(4, 5)
        net.run(9)
        assert len(net.delivered(5)) == 3, seed


def test_in_a_room_few_nodes_forward_and_few_answer_a_newcomer() -> None:
    net = TinyNet(Epidemic, 20, [(i, j) for i in range(20) for j in range(i)], delay_ms=100.0)
    for i in range(19):
        net.cut(i, 19)
    net.start()
    sent = publish(net, 30, 1.0)
    assert len(net.sends("event")) < 6 * 30
    net.log.clear()
    net.subscribe(19, NEWS)
    for i in range(19):
        net.join(i, 19)
    net.run(20)
    assert sorted(net.delivered(19)) == sent
    assert sum(len(frame.events()) for _, _, _, frame in net.sends("event")) < 6 * 30


# ---------------------------------------------------------------------------------------------------------- the choices


def test_c1_an_event_is_summarised_when_the_flood_should_be_over() -> None:
    protocol, host = node(settle_s=0.5)
    protocol.on_publish(news(1))
    host.advance(protocol, 499_999)
    assert {frame.fields()[0] for frame in host.frames("summary")} <= {0}
    host.advance(protocol, 2 * SECOND)
    assert host.frames("summary")[-1].fields() == [1, protocol.table.digest]


def test_c1_only_settled_events_are_sent_to_a_neighbour_that_lacks_them() -> None:
    protocol, host = node(settle_s=0.5)
    protocol.on_publish(news(1))
    host.hear(protocol, id_lists([7], 1, 1200)[0], 2)
    assert PUSH not in host.timers
    host.advance(protocol, SECOND)
    host.hear(protocol, id_lists([7], 1, 1200)[0], 2)
    assert PUSH in host.timers


@pytest.mark.parametrize(("age_s", "forwarded"), [(9, True), (10, False)])
def test_c2_a_late_event_is_flooded_on_if_it_is_young(age_s: int, forwarded: bool) -> None:
    protocol, host = node(fresh_s=10.0)
    host.hear(protocol, Missing([EventFrame(news(1), 0, age_s * SECOND)]), 2)
    host.advance(protocol, SECOND)
    assert len([frame for frame in host.frames("event") if isinstance(frame, EventFrame)]) == forwarded
    assert ("old" in host.labels("suppress")) is not forwarded
    host.hear(protocol, EventFrame(news(2), 0, age_s * SECOND), 2)
    host.advance(protocol, 2 * SECOND)
    assert ("forward", "few copies", news(2).id, -1, 1) in host.notes, "a flood goes on at any age"


def test_c3_an_event_that_a_neighbour_never_takes_is_sent_ever_more_seldom() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    times: list[int] = []
    while host.clock_us < 60 * SECOND:
        host.advance(protocol, host.clock_us + 50_000)
        host.hear(protocol, id_lists([], 5, 1200)[0], 2)
        if len(host.frames("event")) > len(times) + 1:
            times.append(host.clock_us)
    assert 5 <= len(times) <= 10
    gaps = [b - a for a, b in pairwise(times)]
    assert gaps == sorted(gaps)
    assert len(host.frames("ids")) <= 25, "nor are equal lists repeated often"


def test_c3_a_new_neighbour_is_answered_at_once_again() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    for _ in range(100):
        host.advance(protocol, host.clock_us + 300_000)
        host.hear(protocol, Summary(1, 1), 2)
    lists = len(host.frames("ids"))
    host.advance(protocol, host.clock_us + SECOND)
    host.hear(protocol, Summary(1, 1), 2)
    host.advance(protocol, host.clock_us + 100_000)
    assert len(host.frames("ids")) == lists
    host.hear(protocol, Summary(1, 1), 3)
    host.advance(protocol, host.clock_us + 100_000)
    assert len(host.frames("ids")) == lists + 1


def test_c4_a_late_subscription_gets_what_its_node_carries_once() -> None:
    net = row(2)
    first = net.publish(0, topic="news")
    net.publish(0, topic="weather")
    expired = net.publish(0, topic="news", validity_us=SECOND)
    net.run(2)
    net.subscribe(1, NEWS, 1)
    net.subscribe(1, topic(""), 2)
    assert net.delivered(1) == [first.id, first.id + 1]
    assert expired.id not in net.delivered(1)
    net.subscribe(0, NEWS)
    assert net.delivered(0) == [], "its own application published them"


def test_c5_local_events_are_sent_once_and_not_carried() -> None:
    net = row(3)
    for i in (1, 2):
        net.subscribe(i, NEWS)
    event = net.publish(0, topic="news", scope=LOCAL)
    net.run(20)
    assert [net.delivered(i) for i in (1, 2)] == [[event.id], []]
    assert len(net.sends("event")) == 1
    assert net.sends("ids") == []


def test_c6_an_event_that_is_published_again_is_carried_and_not_flooded() -> None:
    protocol, host = node()
    protocol.on_publish_again(news(1))
    protocol.on_publish_again(news(2, scope=LOCAL))
    host.advance(protocol, SECOND)
    assert host.frames("event") == []
    assert list(protocol.table.known) == [news(1).id]
    host.hear(protocol, id_lists([], 0, 1200)[0], 2)
    host.hear(protocol, id_lists([7], 7, 1200)[0], 2)
    host.advance(protocol, 2 * SECOND)
    assert [event.id for frame in host.frames("event") for event in frame.events()] == [news(1).id]


# -------------------------------------------------------------------------------------------------------------- details


def test_who_hears_another_node_send_a_missing_event_does_not_send_it() -> None:
    protocol, host = node()
    for n in (1, 2):
        protocol.on_publish(news(n))
    host.advance(protocol, SECOND)
    host.sent.clear()
    host.hear(protocol, id_lists([7], 7, 1200)[0], 2)
    host.hear(protocol, Missing([EventFrame(news(1), 0, SECOND)]), 3)
    host.advance(protocol, 2 * SECOND)
    assert [event.id for frame in host.frames("event") for event in frame.events()] == [news(2).id]
    assert ("suppress", "sent by another", news(1).id, 3, 0) in host.notes


def test_a_list_that_says_the_same_makes_the_own_one_useless() -> None:
    protocol, host = node()
    host.hear(protocol, Summary(1, 1), 2)
    assert LIST in host.timers
    host.hear(protocol, IdList(0, 0, 0, 10, []), 3)
    assert LIST not in host.timers


def test_a_difference_that_has_gone_needs_no_list() -> None:
    protocol, host = node(settle_s=0.0, answer_ms=1000.0)
    other, other_host = node(settle_s=0.0)
    other.on_publish(news(1))
    other_host.advance(other, SECOND)
    host.hear(protocol, other_host.frames("summary")[-1], 2)
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.advance(protocol, 5 * SECOND)
    assert host.frames("ids") == []


def test_missing_events_leave_in_bursts_of_full_frames() -> None:
    protocol, host = node(burst=2, frame_limit=200, pause_ms=200.0)
    for n in range(1, 41):
        protocol.on_publish(Event(event_id(99, n), "news", payload=bytes(30)))
    host.advance(protocol, SECOND)
    host.sent.clear()
    host.hear(protocol, id_lists([7], 7, 1200)[0], 2)
    host.advance(protocol, SECOND + 150_000)
    first = [frame for frame in host.frames("event") if isinstance(frame, Missing)]
    assert len(first) == 2
    host.advance(protocol, 10 * SECOND)
    frames = [frame for frame in host.frames("event") if isinstance(frame, Missing)]
    assert sorted(event.id for frame in frames for event in frame.events()) == [event_id(99, n) for n in range(1, 41)]
    assert all(frame.size <= 200 + 6 for frame in frames)


def test_an_event_that_is_about_to_expire_is_not_sent_again() -> None:
    protocol, host = node()
    protocol.on_publish(news(1, validity_us=SECOND))
    host.advance(protocol, 800_000)
    host.hear(protocol, id_lists([7], 7, 1200)[0], 2)
    assert PUSH not in host.timers


def test_an_event_that_has_expired_here_is_not_taken_again() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, Missing([EventFrame(news(1, validity_us=SECOND), 0, 0)]), 2)
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, Missing([EventFrame(news(1, validity_us=SECOND), 0, 999_000)]), 2)
    assert [event.id for event in host.delivered] == [news(1).id]


def test_an_own_event_that_made_room_is_taken_again() -> None:
    protocol, host = node(store=1)
    protocol.on_publish(news(1, validity_us=100 * SECOND))
    protocol.on_publish(news(2))
    assert host.labels("drop") == ["store full"]
    host.advance(protocol, 60 * SECOND)
    protocol.on_publish_again(news(1, validity_us=40 * SECOND))
    assert protocol.table.is_held(news(1).id) and not protocol.table.is_held(news(2).id)
    host.advance(protocol, 61 * SECOND)
    host.hear(protocol, id_lists([7], 7, 1200)[0], 2)
    host.advance(protocol, 62 * SECOND)
    (each,) = [each for frame in host.frames("event") if isinstance(frame, Missing) for each in frame.carried]
    assert (each.event.id, each.event.validity_us) == (news(1).id, 40 * SECOND)
    assert SECOND <= each.age_us < 2 * SECOND, "its age counts from the time at which that much validity was left"
    other, _ = node()
    other.on_frame(Missing([each]), 1)
    assert other.table.is_held(news(1).id)
    host.advance(protocol, 99 * SECOND)
    assert protocol.table.is_held(news(1).id)
    host.advance(protocol, 105 * SECOND)
    assert news(1).id not in protocol.table.known


def test_publishing_an_event_twice_sends_it_once() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    protocol.on_publish(news(1))
    assert len(host.frames("event")) == 1


def test_memory_counts_events_and_neighbours() -> None:
    protocol, host = node()
    assert protocol.memory() == (0, 0)
    protocol.on_publish(news(1))
    host.hear(protocol, Summary(0, 0), 2)
    assert protocol.memory() == (2, news(1).size + 16 + 8)


@pytest.mark.parametrize("validity_us", [5 * SECOND, 1000 * SECOND, FOREVER])
def test_state_stays_bounded(validity_us: int) -> None:
    protocol, host = node(store=20, seen_limit=50)
    for n in range(1, 501):
        host.hear(protocol, EventFrame(news(n, validity_us), 0, 0), n)
        host.advance(protocol, host.clock_us + 100_000)
    table = protocol.table
    assert table.count <= 20
    assert len(table.known) <= 20 + 50
    assert len(table.seen) <= 50
    assert len(host.muted) <= 20 + 2 * 50
    assert len(protocol.neighbours) <= 100
    assert len(table.settling) + len(table.expiries) <= 200
    digest = 0
    for id in table.settled_ids():
        digest ^= mixed(id)
    assert (table.digest, table.settled) == (digest, len(table.settled_ids()))


def test_an_event_that_is_no_longer_known_is_neither_listed_nor_taken_again() -> None:
    protocol, host = node(store=1, seen_limit=2, settle_s=0.0)
    protocol.on_subscribe(1, NEWS)
    for n in range(1, 6):
        host.hear(protocol, EventFrame(news(n), 0, 0), 2)
        host.advance(protocol, host.clock_us + SECOND)
        host.hear(protocol, Summary(9, 9), 2)
        host.advance(protocol, host.clock_us + SECOND)
    assert host.frames("ids")[-1].spans() == [(news(3).id, news(5).id + 1)]
    host.hear(protocol, Missing([EventFrame(news(2), 0, 0)]), 2)
    assert [event.id for event in host.delivered] == [news(n).id for n in range(1, 6)]


def test_a_short_frame_that_claims_many_ids_costs_no_more_than_others() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, SECOND)
    frame = decode(Epidemic, encode(Epidemic, IdList(MOST, 7, 0, ID_MAX, [news(1).id, MOST])))
    assert frame.size < 40
    tracemalloc.start()
    host.hear(protocol, frame, 2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000, "bytes, and not some for each of the ids"
    assert LIST in host.timers, "the sender knows events that this node has never seen"
    assert PUSH not in host.timers, "and it has the one that this node holds"


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="must not be above summary_max_s"):
        build(Epidemic, {"summary_min_s": 5, "summary_max_s": 1})


@settings(max_examples=40, deadline=None)
@given(plans(), st.sampled_from([{}, {"store": 2, "seen_limit": 4}, {"settle_s": 0.0, "copies": 1}]))
def test_in_bad_weather_the_invariants_hold(plan: Any, params: dict[str, Any]) -> None:
    if params.get("seen_limit"):
        plan = replace(plan, duplication=0.0, loss=0.0)
    weather(Epidemic, plan, **{name: value for name, value in params.items() if name != "seen_limit"})


@settings(max_examples=20, deadline=None)
@given(plans())
def test_clocks_that_disagree_change_nothing(plan: Any) -> None:
    agreeing = weather(Epidemic, replace(plan, skew_us=0))
    skewed = weather(Epidemic, replace(plan, skew_us=86_400_000_000))
    assert [host.effects for host in agreeing.hosts] == [host.effects for host in skewed.hosts]


@settings(max_examples=20, deadline=None)
@given(plans())
def test_a_frame_is_never_changed_after_it_was_sent(plan: Any) -> None:
    for host in weather(Epidemic, plan).hosts:
        shown = [line for line in host.effects if line.startswith("broadcast")]
        assert shown == [f"broadcast {frame.kind} {frame.fields()}" for _, frame in host.sent]
