"""Gossip: an event is forwarded with probability p at its first reception, after a random delay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.protocols.gossip import Gossip, GossipParams
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.parameters import build
from roamcast.protocols.roam.frames import Summary
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet


def news(sequence: int = 1) -> Event:
    return Event(event_id(7, sequence), "news")


def hear(draws: list[float], **params: Any) -> ScriptHost:
    protocol, host = make(Gossip, **params)
    host.draws = list(draws)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    return host


@pytest.mark.parametrize("draw, sends", [(0.0, True), (0.2999, True), (0.3, False), (0.9, False)])
def test_the_draw_must_be_below_p(draw: float, sends: bool) -> None:
    host = hear([draw, 0.0], p=0.3)
    assert bool(host.timers) is sends
    assert host.notes == ([] if sends else [("suppress", "not drawn", news().id, 3, 0)])


@pytest.mark.parametrize("draw", [0.0, 0.5, 0.999])
def test_with_p_0_only_the_publisher_sends(draw: float) -> None:
    assert hear([draw], p=0.0).timers == {}
    protocol, host = make(Gossip, p=0.0)
    protocol.on_publish(news())
    assert len(host.frames("event")) == 1


def test_with_p_1_every_node_sends_and_only_the_delay_is_drawn() -> None:
    assert hear([0.999], p=1.0, jitter_ms=10.0).timers == {news().id: 9990}


@given(st.floats(0.0, 1.0, exclude_max=True), st.sampled_from([0.0, 0.5, 10.0, 1000.0]))
def test_the_delay_is_a_random_share_of_the_jitter(draw: float, jitter_ms: float) -> None:
    (due_us,) = hear([0.0, draw], p=0.5, jitter_ms=jitter_ms).timers.values()
    assert due_us == int(draw * (jitter_ms * 1000.0))
    assert 0 <= due_us <= jitter_ms * 1000


def test_it_notes_why_it_sent() -> None:
    protocol, host = make(Gossip, p=1.0)
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    host.advance(protocol, 10_000)
    assert host.notes == [("forward", "drawn", news().id, -1, 0)]


@pytest.mark.parametrize("p", [0.25, 0.5, 0.9])
def test_about_a_share_p_of_events_is_forwarded(p: float) -> None:
    protocol, host = make(Gossip, p=p)
    n = 2000
    for k in range(1, n + 1):
        host.hear(protocol, EventFrame(news(k), 0, 0), 3)
    host.advance(protocol, 10_000)
    assert abs(len(host.frames("event")) - p * n) < 4 * (n * p * (1 - p)) ** 0.5
    assert host.labels("suppress") == ["not drawn"] * (n - len(host.frames("event")))


def test_a_second_copy_does_not_draw_again() -> None:
    protocol, host = make(Gossip, p=0.5)
    host.draws = [0.9, 0.0, 0.0]
    host.hear(protocol, EventFrame(news(), 0, 0), 3)
    host.hear(protocol, EventFrame(news(), 0, 0), 4)
    assert host.timers == {}
    assert host.draws == [0.0, 0.0]


def test_defaults() -> None:
    assert (GossipParams().p, GossipParams().ttl, GossipParams().jitter_ms) == (0.5, 0, 10.0)


# ---- repair (R1)


def meeting(repair: bool, **params: Any) -> tuple[TinyNet, list[int]]:
    """Two nodes whose link is cut while two events are published; the second one subscribes."""
    net = TinyNet(Gossip, 2, [], repair=repair, **params)
    net.start()
    net.subscribe(1, topic("news"))
    net.run(1.0)
    return net, [net.publish(0, topic="news", validity_us=600_000_000).id for _ in range(2)]


@pytest.mark.parametrize("repair", [False, True])
def test_what_was_lost_comes_later_only_with_repair(repair: bool) -> None:
    net, missed = meeting(repair)
    net.run(0.5)
    net.join(0, 1)
    net.run(15.0)
    assert sorted(net.delivered(1)) == (missed if repair else [])


def test_with_repair_the_draw_is_still_that_of_gossip_and_copies_are_not_counted() -> None:
    protocol, host = make(Gossip, p=0.3, repair=True, jitter_ms=10.0)
    host.draws = [0.3, 0.2, 0.5]
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    host.hear(protocol, EventFrame(news(2), 0, 0), 3)
    assert [key for key in host.timers if key > 0] == [news(2).id]
    for _ in range(9):
        host.hear(protocol, EventFrame(news(2), 0, 0), 3)
    host.advance(protocol, 10_000)
    assert [event.id for frame in host.frames("event") for event in frame.events()] == [news(2).id]


def test_frames_of_a_neighbour_that_repairs_are_ignored_without_repair() -> None:
    protocol, host = make(Gossip)
    host.hear(protocol, Summary(1, 1, 600, 600), 3)
    assert (host.timers, host.sent) == ({}, [])


def test_hops_cannot_be_limited_with_repair() -> None:
    with pytest.raises(InputError, match="needs repair=false"):
        build(Gossip, {"ttl": 3, "repair": True})
