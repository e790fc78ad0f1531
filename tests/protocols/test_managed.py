"""Managed flooding: weak signals go first, and a node that hears the event again suppresses it."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.managed import Managed, ManagedParams
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet

NEWS = Event(event_id(7, 1), "news")
FLOOR_DBM, STRONG_DBM = -93.0, -63.0


def due_us(signal_dbm: float, draw: float = 0.0, **params: Any) -> int:
    protocol, host = make(Managed, delay_ms=100.0, jitter_ms=20.0, **params)
    host.signal_dbm = signal_dbm
    host.draws = [draw]
    host.hear(protocol, EventFrame(NEWS, 0, 0), 3)
    assert host.notes == [("delay", "by signal", NEWS.id, 3, host.timers[NEWS.id])]
    return host.timers[NEWS.id]


@pytest.mark.parametrize(
    "signal_dbm, expected_us",
    [(-120.0, 0), (FLOOR_DBM, 0), (-78.0, 50_000), (STRONG_DBM, 100_000), (0.0, 100_000), (nan, 0)],
)
def test_the_delay_grows_from_the_weak_signal_to_the_strong_one(signal_dbm: float, expected_us: int) -> None:
    assert due_us(signal_dbm) == expected_us
    assert due_us(signal_dbm, 0.5) == expected_us + 10_000


@given(st.floats(-150.0, 20.0), st.floats(-150.0, 20.0), st.floats(0.0, 0.999))
def test_the_weaker_signal_never_waits_longer(a: float, b: float, draw: float) -> None:
    assert due_us(min(a, b), draw) <= due_us(max(a, b), draw) <= 120_000


def test_both_ends_of_the_scale_are_parameters() -> None:
    assert due_us(-50.0, weak_dbm=-60.0, strong_dbm=-40.0) == 50_000


def waiting() -> tuple[Managed, ScriptHost]:
    protocol, host = make(Managed)
    assert isinstance(protocol, Managed)
    protocol.on_subscribe(1, topic("news"))
    host.hear(protocol, EventFrame(NEWS, 7, 0), 3)
    return protocol, host


def test_a_node_that_hears_the_event_again_while_it_waits_never_forwards_it() -> None:
    protocol, host = waiting()
    host.hear(protocol, EventFrame(NEWS, 6, 0), 4)
    assert host.timers == {}
    assert protocol.waiting() == []
    assert host.notes[-1] == ("suppress", "heard again", NEWS.id, 4, 0)
    host.hear(protocol, EventFrame(NEWS, 6, 0), 5)
    host.advance(protocol, 1_000_000)
    assert host.sent == []
    assert host.delivered == [NEWS]
    assert host.heard(NEWS.id) == 1


def test_a_node_that_hears_no_copy_forwards_and_mutes_later_ones() -> None:
    protocol, host = waiting()
    host.advance(protocol, 120_000)
    assert [frame.fields()[0] for frame in host.frames("event")] == [6]
    assert host.notes[-1] == ("forward", "first", NEWS.id, -1, 0)
    host.hear(protocol, EventFrame(NEWS, 6, 0), 4)
    host.advance(protocol, 1_000_000)
    assert len(host.sent) == len(host.delivered) == 1


def test_an_event_that_expired_while_it_waited_is_not_accepted_again() -> None:
    protocol, host = make(Managed, delay_ms=100.0)
    protocol.on_subscribe(1, topic("news"))
    host.signal_dbm = STRONG_DBM
    brief = Event(NEWS.id, "news", validity_us=50_000)
    host.hear(protocol, EventFrame(brief, 0, 0), 3)
    host.advance(protocol, 120_000)
    host.hear(protocol, EventFrame(brief, 0, 0), 4)
    assert (len(host.delivered), host.sent, host.timers) == (1, [], {})


def test_the_far_node_suppresses_the_near_one() -> None:
    """0 publishes; 1 is near 0, 2 is far from 0, and both hear each other: only 2 forwards."""
    net = TinyNet(Managed, 3, [(0, 1), (0, 2), (1, 2)])
    net.hosts[1].signal_dbm, net.hosts[2].signal_dbm = -65.0, -92.0
    net.start()
    net.publish(0, topic="news")
    net.run(1)
    assert [sender for _, sender, _, _ in net.sends()] == [0, 2]
    assert net.hosts[1].labels("suppress") == ["heard again"]


def test_swapped_ends_of_the_scale_are_refused() -> None:
    for strong in (-93.0, -100.0):
        with pytest.raises(InputError, match=r"strong_dbm \(-\d+\) must be above weak_dbm \(-93\)"):
            parameters.build(Managed, {"strong_dbm": strong})


def test_defaults() -> None:
    defaults = ManagedParams()
    assert (defaults.ttl, defaults.delay_ms, defaults.jitter_ms) == (7, 100.0, 20.0)
