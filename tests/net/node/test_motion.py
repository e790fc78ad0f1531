"""A node that moves: its application says so, or a program on its machine does."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from roamcast.errors import InputError, NodeClosed
from roamcast.net.control.remote import RemoteNode
from roamcast.net.control.server import Control
from roamcast.net.host.senses import Motion, Senses
from roamcast.net.node.node import Node
from tests.net.node.nodes import config, run, take


def test_speeds_between_the_limits_change_nothing() -> None:
    motion = Motion()
    steps = [(0.4, False), (0.6, True), (0.4, False), (0.2, True), (0.4, False), (float("nan"), False)]
    assert [motion.set(speed) for speed, _ in steps] == [changes for _, changes in steps]
    assert not motion.moving


def test_an_application_s_own_instruments_count_until_a_speed_is_set() -> None:
    class Tachometer(Senses):
        def speed(self) -> float:
            return 3.0

        def battery(self) -> float:
            return 0.5

    motion = Motion(Tachometer())
    assert (motion.speed(), motion.battery()) == (3.0, 0.5)
    motion.set(1.0)
    assert (motion.speed(), motion.battery()) == (1.0, 0.5)


def test_psamanet_passes_publications_on_where_its_node_stops(key: str) -> None:
    """The carrier hears an event, drives off, and stops near a node that was not there when it was published."""

    async def go() -> None:
        common = config(key, protocol="psamanet", params={"pb_max": 5})
        async with Node(common) as carrier:
            async with Node(common) as publisher:
                carried = carrier.subscribe("exists n")
                await publisher.publish("news", {"n": 1}, validity_s=600)
                assert await take(carried, 1) == [1]
            carrier.motion(8.0)
            async with Node(common) as late:
                waiting = late.subscribe("exists n")
                before = carrier.status().decisions.get("forward: stopped", 0)
                carrier.motion(0.0)
                assert await take(waiting, 1) == [1]
                assert carrier.status().decisions["forward: stopped"] == before + 1

    run(go())


def test_without_any_source_a_protocol_that_needs_motion_says_so(key: str, caplog: pytest.LogCaptureFixture) -> None:
    async def start(**more: object) -> None:
        async with Node(config(key, **{"protocol": "psamanet", "params": {}, **more})):
            pass

    with caplog.at_level(logging.WARNING):
        run(start(protocol="gossip"))
        assert "moves" not in caplog.text
        run(start())
    assert caplog.text.count("psamanet must know when its node moves: use --gps gpsd://HOST:PORT") == 1


def test_another_program_says_how_fast_the_node_moves(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        node, remote = Node(config(key, state=str(tmp_path / "node"))), RemoteNode(tmp_path / "node")
        async with node, Control(node), remote:
            await remote.motion(2.5)
            assert ((await remote.status()).speed_mps, node.runner.host.speed()) == (2.5, 2.5)
            await remote.motion(None)
            assert (await remote.status()).speed_mps is None
            with pytest.raises(InputError, match="speed_mps=-1: must be from 0 to 1e"):
                await remote.motion(-1)
        with pytest.raises(NodeClosed):
            node.motion(1.0)

    run(go())
