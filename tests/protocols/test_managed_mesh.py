"""Managed flooding where the medium orders relays: roles, hop limits, implicit acknowledgements, repetitions."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.managed import Managed
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make

NEWS = Event(event_id(7, 1), "news", payload=bytes(40))
OWN = Event(event_id(0, 1), "news", payload=bytes(40))
ECHO_US = 2_000_000
WAIT_US = ECHO_US + 4_500_000


def on_mesh(listed: str = "", **params: Any) -> tuple[Managed, ScriptHost]:
    host = ScriptHost()
    host.relay_us = ECHO_US
    host.mesh_role = listed
    protocol, _ = make(Managed, host, **params)
    assert isinstance(protocol, Managed)
    return protocol, host


def ttls(host: ScriptHost) -> list[int]:
    return [frame.ttl for frame in host.frames("event") if isinstance(frame, EventFrame)]


# ---- relays


def test_a_relay_is_left_to_the_medium() -> None:
    protocol, host = on_mesh()
    protocol.on_subscribe(1, topic("news"))
    host.hear(protocol, EventFrame(NEWS, 4, 10), 3)
    ((frame, first),) = host.relayed
    assert isinstance(frame, EventFrame) and (frame.ttl, frame.age_us, first) == (3, 10, False)
    assert host.delivered == [NEWS] and host.sent == [] and host.timers == {}
    assert host.labels("forward") == ["relay"]


def test_a_client_takes_its_relay_back_when_it_hears_the_event_again() -> None:
    protocol, host = on_mesh()
    for sender in (3, 4, 5):
        host.hear(protocol, EventFrame(NEWS, 4, 0), sender)
    assert host.relayed == [] and host.labels("suppress") == ["heard again"]
    assert host.heard(NEWS.id) == 1  # after the second copy it is muted


def test_a_relay_that_has_gone_is_not_taken_back() -> None:
    protocol, host = on_mesh()
    host.hear(protocol, EventFrame(NEWS, 4, 0), 3)
    host.relayed.clear()
    host.hear(protocol, EventFrame(NEWS, 4, 0), 4)
    assert host.labels("suppress") == [] and NEWS.id in host.muted


@pytest.mark.parametrize("role", ["router", "repeater"])
def test_a_router_goes_first_and_stops_only_for_two_more_copies(role: str) -> None:
    protocol, host = on_mesh(role)
    host.hear(protocol, EventFrame(NEWS, 4, 0), 3)
    assert host.relayed[0][1] is True
    host.hear(protocol, EventFrame(NEWS, 4, 0), 4)
    assert len(host.relayed) == 1
    host.hear(protocol, EventFrame(NEWS, 4, 0), 5)
    assert host.relayed == []


def test_a_mute_client_delivers_and_never_relays() -> None:
    protocol, host = on_mesh("mute")
    protocol.on_subscribe(1, topic("news"))
    host.hear(protocol, EventFrame(NEWS, 4, 0), 3)
    assert host.delivered == [NEWS] and host.relayed == [] and host.labels("suppress") == ["mute"]


def test_the_parameter_overrides_the_role_of_the_list() -> None:
    protocol, _ = on_mesh("router", role="mute")
    assert protocol.role == "mute" and on_mesh("router")[0].role == "router" and on_mesh()[0].role == "client"


# ---- hop limit


@pytest.mark.parametrize("hops, ttl", [(None, 4), (3, 4), (7, 8), (0, 1)])
def test_an_event_goes_one_hop_more_than_it_is_relayed(hops: int | None, ttl: int) -> None:
    """M1"""
    protocol, host = on_mesh(**({} if hops is None else {"hops": hops}))
    protocol.on_publish(OWN)
    assert ttls(host) == [ttl]


def test_an_event_that_was_relayed_often_enough_goes_no_farther() -> None:
    protocol, host = on_mesh()
    host.hear(protocol, EventFrame(NEWS, 1, 0), 3)
    assert host.relayed == [] and host.labels("suppress") == ["ttl"]


def test_elsewhere_ttl_decides_unless_hops_is_given() -> None:
    for params, ttl in (({}, 7), ({"hops": 2}, 3)):
        protocol, host = make(Managed, **params)
        protocol.on_publish(OWN)
        assert ttls(host) == [ttl] and host.timers == {}


# ---- implicit acknowledgement


def test_a_publisher_that_hears_no_relay_sends_again_three_times() -> None:
    protocol, host = on_mesh()
    protocol.on_publish(OWN)
    host.advance(protocol, 10 * WAIT_US)
    assert len(host.frames("event")) == 4 and host.labels("forward") == ["source"] + ["not relayed"] * 3
    ages = [frame.age_us for frame in host.frames("event") if isinstance(frame, EventFrame)]
    assert ages == [0, WAIT_US, 2 * WAIT_US, 3 * WAIT_US]
    assert host.timers == {} and OWN.id in host.muted and protocol.echoes.own == {}


def test_a_frame_that_still_waits_for_the_medium_is_taken_back_before_it_is_sent_again() -> None:
    protocol, host = on_mesh()
    protocol.on_publish(OWN)
    host.relayed = [(frame, False) for frame in host.frames("event")]  # the channel has been busy since
    host.take()
    host.advance(protocol, WAIT_US)
    assert [effect.split()[0] for effect in host.take() if effect.startswith(("withdraw", "broadcast"))] == [
        "withdraw",
        "broadcast",
    ]
    assert host.relayed == []


def test_a_publisher_that_hears_its_event_relayed_is_content() -> None:
    protocol, host = on_mesh()
    protocol.on_publish(OWN)
    host.advance(protocol, WAIT_US)
    host.hear(protocol, EventFrame(OWN, 3, 0), 5)
    host.advance(protocol, 10 * WAIT_US)
    assert len(host.frames("event")) == 2 and host.labels("note") == ["relayed"]
    assert host.relayed == [] and host.delivered == []


def test_an_event_that_has_expired_is_not_sent_again() -> None:
    protocol, host = on_mesh()
    protocol.on_publish(Event(OWN.id, "news", validity_us=WAIT_US))
    host.advance(protocol, 10 * WAIT_US)
    assert len(host.frames("event")) == 1


@pytest.mark.parametrize("params", [{"retries": 0}, {"hops": 0}])
def test_without_retries_or_relays_no_publisher_waits(params: dict[str, int]) -> None:
    protocol, host = on_mesh(**params)
    protocol.on_publish(OWN)
    assert host.timers == {} and OWN.id in host.muted


def test_retries_work_on_other_media_if_asked_for() -> None:
    protocol, host = make(Managed, retries=1)
    protocol.on_publish(OWN)
    assert host.timers == {OWN.id: 120_000 + 4_500_000}
    host.advance(protocol, 20_000_000)
    assert len(host.frames("event")) == 2


def test_a_node_that_crashed_and_kept_its_tables_goes_on_listening() -> None:
    protocol, host = on_mesh()
    protocol.on_publish(OWN)
    host.timers.clear()
    protocol.on_start()
    assert host.timers == {OWN.id: WAIT_US}


# ---- sizes


def test_frames_of_a_mesh_are_as_long_as_their_content() -> None:
    """M2"""
    protocol, host = on_mesh(sizes="mesh")
    protocol.on_publish(OWN)
    host.hear(protocol, EventFrame(NEWS, 4, 0), 3)
    assert host.frames("event")[0].size == host.relayed[0][0].size == 40
    usual, host = on_mesh()
    usual.on_publish(OWN)
    assert host.frames("event")[0].size > 40
