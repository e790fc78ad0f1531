"""Counter-based flooding: an event is forwarded unless it was heard often enough during the delay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.counter import Counter, CounterParams
from roamcast.protocols.kit.frames import EventFrame
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet

NEWS = Event(event_id(7, 1), "news")


def hear(times: int, **params: Any) -> ScriptHost:
    """Receive `times` copies within the delay, and three more after it."""
    protocol, host = make(Counter, **params)
    host.draws = [0.5]
    for sender in range(times):
        host.hear(protocol, EventFrame(NEWS, 0, 0), sender)
        host.advance(protocol, host.clock_us + 10)
    host.advance(protocol, 10_000)
    for sender in range(3):
        host.hear(protocol, EventFrame(NEWS, 0, 0), sender)
    host.advance(protocol, 100_000)
    return host


@pytest.mark.parametrize("copies", [1, 2, 3, 5])
@pytest.mark.parametrize("times", [1, 2, 3, 4, 5])
def test_an_event_is_forwarded_if_fewer_than_the_given_copies_were_heard(copies: int, times: int) -> None:
    host = hear(times, copies=copies)
    if times < copies:
        assert len(host.frames("event")) == 1
        assert host.notes == [("forward", "few copies", NEWS.id, -1, times)]
    else:
        assert host.sent == []
        assert host.notes == [("suppress", "many copies", NEWS.id, -1, times)]


@pytest.mark.parametrize("draw, due_us", [(0.0, 0), (0.25, 5000), (0.9999, 19_998)])
def test_the_delay_is_random_up_to_its_longest(draw: float, due_us: int) -> None:
    protocol, host = make(Counter, delay_ms=20.0)
    host.draws = [draw]
    host.hear(protocol, EventFrame(NEWS, 0, 0), 3)
    assert host.timers == {NEWS.id: due_us}


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(0, 99))
def test_where_all_nodes_hear_each_other_about_the_given_copies_are_sent(n: int, copies: int, seed: int) -> None:
    """All nodes hear each other, a millisecond later; a node whose delay ends before the limit is reached still
    sends."""
    links = [(i, j) for i in range(n) for j in range(i)]
    net = TinyNet(Counter, n, links, seed=seed, copies=copies, delay_ms=1000.0)
    for i in range(n):
        net.subscribe(i, topic("news"))
    net.start()
    event = net.publish(0, topic="news")
    net.run(2)
    sent_us = [t for t, *_ in net.sends()]
    assert len(sent_us) >= min(n, copies)
    late = sorted(sent_us)[copies - 1] + 1000 if len(sent_us) >= copies else 0
    assert all(t <= late for t in sent_us[copies:])
    assert all(net.delivered(i) == [event.id] for i in range(1, n))


def test_defaults() -> None:
    assert (CounterParams().copies, CounterParams().delay_ms, CounterParams().ttl) == (3, 20.0, 0)
