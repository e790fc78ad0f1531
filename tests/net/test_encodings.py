"""An event is sealed once and stored as it was sealed; a frame is encoded once and stored as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roamcast.net.keep import content
from roamcast.net.node.node import Node
from roamcast.net.trust.identity import Identity
from roamcast.net.trust.keys import KeyRing
from roamcast.net.wire.codec import FrameCodec
from roamcast.protocols.kit import wire
from roamcast.pubsub.event import Event, event_from_fields
from tests.conformance.driver import Ping
from tests.net.node.nodes import config, run, take, until


class Counts:
    """Calls of the functions that seal and encode, and the frames that went to the datagrams."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.signed = self.frames = self.stored = 0
        self.bodies: list[bytes] = []
        sign = Identity.sign

        def seal(identity: Identity, message: bytes) -> bytes:
            self.signed += message.startswith(b"roamcast event")  # and not a position
            return sign(identity, message)

        patch.setattr(Identity, "sign", seal)
        patch.setattr(wire, "encode", self._counted("frames", wire.encode))
        stored = self._counted("stored", content.encoded)
        for part in ("own_events", "received"):
            patch.setattr(f"roamcast.net.keep.{part}.encoded", stored)
        outgoing = FrameCodec.outgoing

        def sent(codec: FrameCodec, body: bytes, *others: Any) -> Any:
            self.bodies.append(body)
            return outgoing(codec, body, *others)

        patch.setattr(FrameCodec, "outgoing", sent)

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            setattr(self, name, getattr(self, name) + 1)
            return function(*arguments)

        return counted


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return Counts(monkeypatch)


@pytest.fixture
def key(tmp_path: Path) -> str:
    KeyRing.new().save(tmp_path / "group.key")
    return str(tmp_path / "group.key")


def event_in(body: bytes) -> Event:
    """The event in a frame of gossip."""
    return event_from_fields(msgspec.msgpack.decode(body)[-1])


def test_an_event_is_sealed_once_and_its_frame_encoded_once(key: str, tmp_path: Path, counts: Counts) -> None:
    async def go() -> None:
        a = config(key, params={"p": 0.0, "repair": False}, state=str(tmp_path / "a"))
        b = msgspec.structs.replace(a, state=str(tmp_path / "b"))
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n > 0")
            await one.publish("news", {"n": 1})
            assert await take(wanted, 1) == [1]
            await until(lambda: other.store.counts().held == 1)
            assert (counts.signed, counts.frames) == (1, 1)
            assert counts.stored == 2, "once where it was published, and once where it was received"
            (body,) = counts.bodies
            assert [frame.body for frame in carried(other)] == [body]
            (own,) = one.store.own.valid()
            assert (own.event, own.group) == (event_in(body), KeyRing.load(key).group)

    def carried(node: Node) -> Any:
        return node.store.carried.valid("Gossip", node.runner.membership.group_name)

    run(go())


@pytest.mark.parametrize(("validity_s", "seals"), [(None, 1), (600.0, 2)])
def test_a_restart_seals_an_event_again_only_if_a_part_of_its_validity_has_passed(
    key: str, tmp_path: Path, counts: Counts, validity_s: float | None, seals: int
) -> None:
    async def go() -> None:
        a = config(key, params={"p": 0.0, "repair": False}, state=str(tmp_path / "a"))
        for starts in (1, 2):
            async with Node(a) as node:
                if starts == 1:
                    await node.publish("news", {"n": 1}, validity_s=validity_s)
                await until(lambda: node.runner.tally.frames_out == 1)
        first, second = (event_in(body) for body in counts.bodies)
        assert counts.signed == seals
        assert (first == second) == (seals == 1)

    run(go())


def test_in_another_group_an_event_is_sealed_again(key: str, tmp_path: Path, counts: Counts) -> None:
    async def go() -> None:
        KeyRing.new().save(tmp_path / "other.key")
        a = config(key, params={"p": 0.0, "repair": False}, state=str(tmp_path / "a"))
        for group in (key, str(tmp_path / "other.key")):
            async with Node(msgspec.structs.replace(a, key=group)) as node:
                if group == key:
                    await node.publish("news", {"n": 1}, b"payload")
                await until(lambda: node.runner.tally.frames_out == 1)
                await asyncio.sleep(0)
        first, second = (event_in(body) for body in counts.bodies)
        assert counts.signed == 2
        assert len(first.payload) == len(second.payload)
        assert first.payload != second.payload
        assert first.payload.startswith(b"payload") and second.payload.startswith(b"payload")

    run(go())


def test_a_frame_that_is_repeated_is_encoded_once(real: Any, counts: Counts) -> None:
    driver = real([0.0])
    driver.do(0, lambda probe, _: probe.host.send(9, Ping(1)))
    driver.run(2.0)
    assert driver.runners[0].tally.frames_out == 6
    assert (counts.frames, len(counts.bodies), len(set(counts.bodies))) == (1, 6, 1)
