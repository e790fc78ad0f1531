"""Differences of one event, which need no list (M11)."""

from __future__ import annotations

import pytest

from roamcast.protocols.roam.frames import Summary
from roamcast.protocols.roam.held import mixed
from roamcast.protocols.roam.protocol import LIST, PUSH, Roam
from tests.protocols.roam.nodes import NEWS, SECOND, news, node, publish
from tests.support.net import TinyNet


def test_m11_the_only_event_that_a_neighbour_lacks_is_sent_without_a_list() -> None:
    protocol, host = node()
    for n in (1, 2, 3):
        protocol.on_publish(news(n))
    host.advance(protocol, 3 * SECOND)
    host.sent.clear()
    host.hear(protocol, Summary(2, mixed(news(1).id) ^ mixed(news(3).id), 600, 300), 2)
    assert LIST not in host.timers
    host.advance(protocol, host.timers[PUSH])
    assert [(frame.kind, [event.id for event in frame.events()]) for _, frame in host.sent] == [("event", [news(2).id])]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_m11_what_is_not_a_single_event_needs_a_list(count: int) -> None:
    """The digest is that of a single one, and the count says that something else differs, too."""
    protocol, host = node()
    for n in (1, 2, 3):
        protocol.on_publish(news(n))
    host.advance(protocol, 3 * SECOND)
    host.hear(protocol, Summary(count, mixed(news(1).id) ^ mixed(news(3).id), 600, 300), 2)
    assert (PUSH in host.timers, LIST in host.timers) == (count == 2, count != 2)


def test_m11_an_event_that_made_room_cannot_be_sent() -> None:
    protocol, host = node(store=1)
    protocol.on_publish(news(1))
    protocol.on_publish(news(2))
    host.advance(protocol, 3 * SECOND)
    host.hear(protocol, Summary(1, mixed(news(2).id), 600, 300), 2)
    assert (PUSH in host.timers, LIST in host.timers) == (False, True)


def test_m11_a_node_that_lacks_one_event_sends_its_summary_and_a_list_if_that_did_not_help() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 3 * SECOND)
    host.sent.clear()
    other = Summary(2, mixed(news(1).id) ^ mixed(news(2).id), 600, 300)
    host.hear(protocol, other, 2)
    host.advance(protocol, host.timers[LIST])
    assert [frame.kind for _, frame in host.sent] == ["summary"]
    host.advance(protocol, host.clock_us + SECOND)
    host.hear(protocol, other, 2)
    host.advance(protocol, host.timers[LIST])
    assert host.frames()[-1].kind == "ids"


@pytest.mark.parametrize(("singles", "lists"), [(True, False), (False, True)])
def test_m11_neighbours_that_differ_by_one_event_need_no_list(singles: bool, lists: bool) -> None:
    net = TinyNet(Roam, 2, [(0, 1)], singles=singles)
    net.start()
    net.subscribe(1, NEWS)
    publish(net, 10)
    net.run(30)
    net.cut(0, 1)
    publish(net, 1)
    net.join(0, 1)
    net.run(10)
    assert len(net.delivered(1)) == 11
    assert bool(net.sends("ids")) is lists
