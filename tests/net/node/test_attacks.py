"""Attacks by a member of the group on running nodes, over real sockets."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from roamcast.net.config import Config
from roamcast.net.node.node import Node
from roamcast.net.trust.keys import KeyRing
from roamcast.net.wire.codec import protocol_tag
from roamcast.net.wire.envelope import Envelope
from roamcast.net.wire.packet import FRAME, FramePart
from roamcast.protocols import registry
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.event import Event, event_id
from tests.net.node.nodes import config, run, take, until


class Insider:
    """Has the group's key, and sends frames in any name, to all nodes."""

    def __init__(self, key: str, config: Config) -> None:
        self._ring = KeyRing.load(key)
        self._protocol = registry.get(config.protocol)
        self._to = (config.network.group, config.network.port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(
            socket.IPPROTO_IP,
            socket.IP_MULTICAST_IF,
            socket.inet_aton("0.0.0.0") * 2 + socket.if_nametoindex("lo").to_bytes(4, "little"),
        )

    def close(self) -> None:
        self._socket.close()

    def send(self, name: int, frame: Frame, boot: int, counter: int = 0) -> None:
        envelope = Envelope(self._ring, name, lambda: boot, 4)
        envelope.counter = counter
        body = wire.encode(self._protocol, frame)
        part = FramePart(protocol_tag(self._protocol), -1, 0, 0, 1, body)
        self._socket.sendto(envelope.wrap(FRAME, part.packed()), self._to)


def unsealed_event() -> Frame:
    """It is refused as a frame, after it has counted as a datagram of its alleged sender."""
    return EventFrame(Event(event_id(7, 1), "x"), 1, 0)


@pytest.mark.parametrize("ahead", [1 << 20, 1 << 62])
def test_two_frames_in_a_node_s_name_do_not_silence_it(tmp_path: Path, key: str, ahead: int) -> None:
    """Both nodes hear them. The victim is heard afterwards, and after restarts of both."""
    common = config(key)
    insider = Insider(key, common)

    async def go() -> None:
        for n in range(0, 30, 10):
            victim, other = (
                Node(_with_state(common, tmp_path / "victim")),
                Node(_with_state(common, tmp_path / "other")),
            )
            async with victim, other:
                heard = other.subscribe("exists n", name="all")
                await victim.publish("news", {"n": n})
                assert await take(heard, 1) == [n]
                for i in (1, 2):
                    insider.send(victim.runner.id, unsealed_event(), victim.runner.codec.envelope.boot + i * ahead)
                dropped = victim.runner.tally.dropped
                await until(lambda dropped=dropped: dropped["own number"] == 2)
                for i in (1, 2, 3):
                    await victim.publish("news", {"n": n + i})
                assert await take(heard, 3) == [n + 1, n + 2, n + 3]

    try:
        run(go())
    finally:
        insider.close()


def _with_state(config: Config, state: Path) -> Config:
    return msgspec.structs.replace(config, state=str(state))
