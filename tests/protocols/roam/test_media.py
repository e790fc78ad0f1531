"""Roam on media that order relays themselves, as LoRa meshes do (M12)."""

from __future__ import annotations

import pytest

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.roam.frames import Summary
from roamcast.protocols.roam.protocol import LIST, PUSH, Roam
from roamcast.pubsub.event import LOCAL, event_id
from roamcast.testing import ScriptHost, make
from tests.protocols.roam.nodes import DIFFERENT, SECOND, listing, news


def mesh_node(**params: float) -> tuple[Roam, ScriptHost]:
    host = ScriptHost()
    host.relay_us = 4 * SECOND
    protocol, _ = make(Roam, host, **params)
    assert isinstance(protocol, Roam)
    protocol.on_start()
    return protocol, host


def test_m12_a_new_event_waits_for_its_turn_among_the_relays() -> None:
    protocol, host = mesh_node()
    host.hear(protocol, EventFrame(news(1), 0, 5 * SECOND), 2)
    assert [(frame.id, first) for frame, first in host.relayed] == [(news(1).id, False)]
    assert host.notes == [("forward", "relay", news(1).id, 2, 0)]
    assert host.frames("event") == []


@pytest.mark.parametrize("copies", [2, 3])
def test_m12_a_relay_is_taken_back_when_enough_copies_were_heard(copies: int) -> None:
    protocol, host = mesh_node(copies=copies)
    for k in range(copies - 1):
        host.hear(protocol, EventFrame(news(1), 0, 0), 2 + k)
        assert len(host.relayed) == 1
    host.hear(protocol, EventFrame(news(1), 0, 0), 9)
    assert host.relayed == []
    assert host.labels("suppress") == ["many copies"]
    host.hear(protocol, EventFrame(news(1), 0, 0), 10)
    assert host.labels("suppress") == ["many copies"], "once"


def test_m12_an_own_event_is_sent_and_copies_of_it_change_nothing() -> None:
    protocol, host = mesh_node()
    protocol.on_publish(news(1))
    for k in range(3):
        host.hear(protocol, EventFrame(news(1), 0, 0), k + 2)
    assert (host.relayed, len(host.frames("event"))) == ([], 1)


def test_m12_a_node_remembers_a_bounded_number_of_relays() -> None:
    protocol, host = mesh_node()
    for n in range(1, 2000):
        host.hear(protocol, EventFrame(news(n), 0, 0), 2)
    assert len(protocol.relaying) == 1024
    host.hear(protocol, EventFrame(news(1), 0, 0), 3)
    assert len(host.relayed) == 1999, "the first one is not remembered, and is sent"


@pytest.mark.parametrize(("busy", "compares"), [(0.25, True), (0.26, False)])
def test_m12_nothing_is_compared_while_the_medium_is_busy(busy: float, compares: bool) -> None:
    protocol, host = mesh_node()
    protocol.on_publish(news(1))
    host.advance(protocol, 3 * SECOND)
    host.sent.clear()
    host.busy_share = busy
    host.hear(protocol, DIFFERENT, 2)
    assert (LIST in host.timers) is compares
    host.hear(protocol, listing(event_id(7, 7)), 2)
    assert (PUSH in host.timers) is compares
    host.advance(protocol, 60 * SECOND)
    assert bool(host.frames("summary")) is compares


@pytest.mark.parametrize("scope", [0, LOCAL])
def test_m12_relays_of_events_that_are_not_held_are_taken_back_as_well(scope: int) -> None:
    protocol, host = mesh_node(store=1)
    host.hear(protocol, EventFrame(news(1, scope=scope), 0, 0), 2)
    host.hear(protocol, EventFrame(news(2), 0, 0), 2)
    for k in range(3):
        host.hear(protocol, EventFrame(news(1, scope=scope), 7, 0), 3 + k)
    assert [frame.id for frame, _ in host.relayed] == [news(2).id]


def test_m12_what_is_due_when_the_medium_gets_busy_is_not_sent() -> None:
    protocol, host = mesh_node(retries=0)
    protocol.on_publish(news(1))
    host.advance(protocol, 3 * SECOND)
    host.hear(protocol, DIFFERENT, 2)
    host.hear(protocol, listing(event_id(7, 7)), 2)
    assert LIST in host.timers and PUSH in host.timers
    host.sent.clear()
    host.busy_share = 0.9
    host.advance(protocol, 10 * SECOND)
    assert host.sent == []
    host.busy_share = 0.0
    host.hear(protocol, Summary(1, 2, 600, 300), 2)
    host.hear(protocol, listing(event_id(7, 8)), 2)
    assert LIST in host.timers and PUSH in host.timers, "and later anew"


# -------------------------------------------------------------------------------------------- roles and echoes (M16)


def test_m16_a_publisher_that_hears_no_relay_sends_again_a_few_times() -> None:
    protocol, host = mesh_node(retries=2)
    protocol.on_publish(news(1))
    assert host.timers[news(1).id] == 8_500_000, "as long as relays take, and some time for a medium in use"
    host.advance(protocol, 60 * SECOND)
    sent = [frame for frame in host.frames("event") if isinstance(frame, EventFrame)]
    assert [frame.age_us for frame in sent] == [0, 8_500_000, 17_000_000]
    assert [note for note in host.notes if note[1] == "not relayed"] == [
        ("forward", "not relayed", news(1).id, -1, left) for left in (1, 0)
    ]
    assert not protocol.echoes.own and news(1).id in host.muted


def test_m16_a_relay_that_is_heard_is_an_acknowledgement() -> None:
    protocol, host = mesh_node()
    protocol.on_publish(news(1))
    host.hear(protocol, EventFrame(news(1), 0, 100), 4)
    assert news(1).id not in host.timers
    assert host.notes[-1] == ("note", "relayed", news(1).id, 4, 0)
    host.advance(protocol, 60 * SECOND)
    assert len(host.frames("event")) == 1


def test_m16_local_events_are_sent_again_with_all_their_hops() -> None:
    protocol, host = mesh_node(local_hops=5)
    protocol.on_publish(news(1, scope=LOCAL))
    host.advance(protocol, 10 * SECOND)
    sent = [frame for frame in host.frames("event") if isinstance(frame, EventFrame)]
    assert [frame.ttl for frame in sent] == [5, 5]


def test_m16_after_a_crash_a_publisher_still_waits_for_relays() -> None:
    protocol, host = mesh_node(retries=1)
    protocol.on_publish(news(1))
    host.timers.clear()
    protocol.on_start()
    host.advance(protocol, 60 * SECOND)
    assert len([frame for frame in host.frames("event") if isinstance(frame, EventFrame)]) == 2


@pytest.mark.parametrize("medium", [0, 4 * SECOND])
def test_m16_only_media_that_order_relays_have_echoes(medium: int) -> None:
    host = ScriptHost()
    host.relay_us = medium
    protocol, _ = make(Roam, host)
    protocol.on_start()
    protocol.on_publish(news(1))
    assert (news(1).id in host.timers) is (medium > 0)
    assert (news(1).id in host.muted) is (medium == 0)


@pytest.mark.parametrize(
    ("role", "first", "copies"), [("client", False, 2), ("router", True, 3), ("repeater", True, 3)]
)
def test_m16_routers_relay_first_and_stop_for_one_copy_more(role: str, first: bool, copies: int) -> None:
    host = ScriptHost()
    host.relay_us = 4 * SECOND
    host.mesh_role = role
    protocol, _ = make(Roam, host)
    protocol.on_start()
    for k in range(copies - 1):
        host.hear(protocol, EventFrame(news(1), 0, 0), 2 + k)
        assert [each for _, each in host.relayed] == [first]
    host.hear(protocol, EventFrame(news(1), 0, 0), 9)
    assert host.relayed == []


def test_m16_mute_nodes_hold_and_deliver_and_do_not_relay() -> None:
    host = ScriptHost()
    host.relay_us = 4 * SECOND
    host.mesh_role = "mute"
    protocol, _ = make(Roam, host)
    protocol.on_start()
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    assert host.relayed == [] and host.labels("suppress") == ["mute"]
    assert isinstance(protocol, Roam) and protocol.table.is_held(news(1).id)


def test_m16_an_event_that_may_go_one_hop_is_not_waited_for() -> None:
    protocol, host = mesh_node(local_hops=1)
    protocol.on_publish(news(1, scope=LOCAL))
    assert not protocol.echoes.own and news(1).id in host.muted


def test_m16_publishing_twice_does_not_end_the_wait_for_a_relay() -> None:
    protocol, host = mesh_node()
    for _ in range(2):
        protocol.on_publish(news(1))
    host.hear(protocol, EventFrame(news(1), 0, 0), 4)
    assert not protocol.echoes.own


def test_m16_a_bounded_number_of_events_waits_for_relays() -> None:
    protocol, host = mesh_node()
    for n in range(1, 1500):
        protocol.on_publish(news(n))
    assert len(protocol.echoes.own) == 1024 and news(1).id not in host.timers and news(1).id in host.muted


@pytest.mark.parametrize(("draw", "relays"), [(0.2, True), (0.3, False)])
def test_m15_little_effort_thins_the_flood_here_too(draw: float, relays: bool) -> None:
    protocol, host = mesh_node(effort=0.05)
    host.draws = [draw]
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    assert bool(host.relayed) is relays
