"""Real nodes from a program: one in it, and one that runs elsewhere on the machine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import roamcast as rc
from roamcast.net.control.server import Control
from tests.net.node.nodes import PATIENCE_S, network, run


class Quiet(rc.Protocol):
    """Keeps everything to itself."""


def settings(key: Path, **more: Any) -> dict[str, Any]:
    where = network()
    return {"key": key, "protocol": "gossip", "params": {"p": 1.0}, "interface": "lo", "group": where.group, **more}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    from roamcast.net.trust.keys import KeyRing

    KeyRing.new().save(tmp_path / "group.key")
    return tmp_path / "group.key"


def test_two_nodes_in_one_program_talk(key: Path) -> None:
    async def go() -> None:
        both = settings(key)
        async with rc.Node(**both) as one, rc.Node(**both) as other:
            wanted = other.subscribe("t > 30")
            await one.publish("a.b", {"t": 31})
            event = await asyncio.wait_for(anext(wanted), PATIENCE_S)
            assert (event.topic, event.attrs) == ("a.b", {"t": 31})

    run(go())


def test_settings_are_those_of_a_node_by_their_short_names(key: Path) -> None:
    node = rc.Node(key=key, interface="lo", mtu=900, queue=7, bounds={"received": 3}, protocol=Quiet)
    config = node.config
    assert (config.network.interface, config.network.mtu, config.limits.queue) == ("lo", 900, 7)
    assert (config.bounds.received, config.protocol) == (3, "tests.api.test_nodes:Quiet")


def test_a_file_of_settings_is_taken_and_the_others_win(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text('insecure = true\nprotocol = "frugal"\n[network]\nport = 7668\n')
    config = rc.Node(config=file, protocol="gossip").config
    assert (config.insecure, config.protocol, config.network.port) == (True, "gossip", 7668)
    with pytest.raises(rc.InputError, match=r"none\.toml"):
        rc.Node(config=tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"interfce": "lo"}, "unknown setting 'interfce'; did you mean 'interface'?"),
        ({"bounds": {"recieved": 3}}, "unknown setting 'bounds.recieved'; did you mean 'bounds.received'?"),
        ({"mtu": "wide"}, "network.mtu: must be a whole number, not a text"),
        ({"insecure": True}, "insecure and key exclude each other: without --insecure the key is used"),
    ],
)
def test_wrong_settings_are_one_line(key: Path, given: dict[str, Any], line: str) -> None:
    with pytest.raises(rc.InputError) as error:
        rc.Node(key=key, **given)
    assert str(error.value) == line


def test_a_running_node_serves_another_program(key: Path, tmp_path: Path) -> None:
    async def go() -> None:
        state = tmp_path / "node"
        both = settings(key)
        async with (
            rc.Node(state=state, **both) as near,
            Control(near),
            rc.Node(**both) as far,
            rc.connect(state) as node,
        ):
            wanted = node.subscribe("t > 30", name="alarm")
            await asyncio.sleep(0.1)
            id = await far.publish("a.b", {"t": 31}, b"hot", validity_s=60)
            event = await asyncio.wait_for(anext(wanted), PATIENCE_S)
            assert (event.id, event.topic, event.attrs, event.payload) == (id, "a.b", {"t": 31}, b"hot")
            assert wanted.position == event.position
            mine = await node.publish("c", {"n": 1})
            status = await node.status()
            assert mine >> 32 == status.node
            assert [named.name for named in status.named] == ["alarm"]
            await wanted.close()
            await node.forget("alarm")
            assert (await node.status()).named == []

    run(go())


def test_many_requests_at_once_each_get_their_own_answer(key: Path, tmp_path: Path) -> None:
    async def go() -> None:
        async with (
            rc.Node(state=tmp_path / "node", **settings(key)) as near,
            Control(near),
            rc.connect(tmp_path / "node") as node,
        ):
            ids = await asyncio.gather(*(node.publish("x", {"n": n}) for n in range(20)))
            assert len(set(ids)) == 20

    run(go())


def test_a_wrong_filter_and_a_node_that_is_not_there_are_one_line(key: Path, tmp_path: Path) -> None:
    async def go() -> None:
        with pytest.raises(rc.InputError, match="no node runs on the state"):
            async with rc.connect(tmp_path / "nowhere"):
                pass
        with pytest.raises(rc.InputError, match="not connected"):
            await rc.connect(tmp_path / "node").publish("x")
        async with (
            rc.Node(state=tmp_path / "node", **settings(key)) as near,
            Control(near),
            rc.connect(tmp_path / "node") as node,
        ):
            with pytest.raises(rc.InputError, match="expected"):
                await anext(node.subscribe("t >"))

    run(go())


def test_when_the_node_stops_its_subscribers_hear_of_it(key: Path, tmp_path: Path) -> None:
    async def go() -> None:
        near = rc.Node(state=tmp_path / "node", **settings(key))
        await near.start()
        control = Control(near)
        await control.__aenter__()
        async with rc.connect(tmp_path / "node") as node:
            wanted = node.subscribe("t > 30")
            waiting = asyncio.ensure_future(anext(wanted))
            await asyncio.sleep(0.1)
            await control.__aexit__(None, None, None)
            await near.stop()
            with pytest.raises(rc.InputError, match="the node has"):
                await asyncio.wait_for(waiting, PATIENCE_S)
            with pytest.raises(rc.InputError, match="the node has stopped"):
                await node.status()

    run(go())
