"""The processes of test_crash.py: until they are killed, they write to files, which survive."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roamcast.net.air.medium import Network
from roamcast.net.air.udp import UdpMedium
from roamcast.net.config import Config
from roamcast.net.keep.database import Bounds
from roamcast.net.limits import Limits
from roamcast.net.node.node import Node
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.packet import read_header

UNBOUNDED = Limits(
    rate_bps=1e9,
    sender_signatures_per_s=1e6,
    sender_frames_per_s=1e6,
    sender_bytes_per_s=1e9,
    strangers_per_s=1e6,
    address_per_s=1e6,
)


ONE_HOP: dict[str, Any] = {"protocol": "gossip", "params": {"p": 0.0}}


def config(folder: str, name: str, network: Network, how: dict[str, Any] = ONE_HOP) -> Config:
    return Config(
        state=f"{folder}/{name}",
        key=f"{folder}/group.key",
        **how,
        network=network,
        limits=UNBOUNDED,
        bounds=Bounds(publications=100_000),
    )


class Between(UdpMedium):
    """Does not hear one node, as if that were out of range."""

    def __init__(self, network: Network, unheard: int) -> None:
        super().__init__(network)
        self._unheard = unheard

    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        def heard(datagram: bytes, address: Address) -> None:
            if read_header(datagram).sender != self._unheard:
                receive(datagram, address)

        super().open(heard)


def node_at(folder: str, place: int, network: Network) -> Node:
    """A node of a line of three; its number is its place. Those at the ends do not hear each other."""
    how = {"protocol": "roam", "roster": f"{folder}/roster.toml"}
    unheard = {1: 3, 3: 1}.get(place, -1)
    return Node(config(folder, str(place), network, how), medium=Between(network, unheard))


class LineFile:
    """A file of lines. Each is one write, so it is complete or missing if the process is killed."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, *values: int) -> None:
        os.write(self._fd, (" ".join(map(str, values)) + "\n").encode())

    def lines(self) -> list[list[int]]:
        return [[int(word) for word in line.split()] for line in self.path.read_text().splitlines()]


def publish(
    folder: str,
    network: Network,
    ready: Any,
    first: int,
    count: int,
    how: dict[str, Any] = ONE_HOP,
    pause_s: float = 0.0,
) -> None:
    """Publish `count` numbers from `first` on; the file `acknowledged` gets those that were acknowledged, with their
    event."""
    asyncio.run(_publish(Node(config(folder, "publisher", network, how)), folder, ready, first, count, pause_s))


def publish_at_the_end(folder: str, network: Network, ready: Any, first: int, count: int, pause_s: float) -> None:
    asyncio.run(_publish(node_at(folder, 1, network), folder, ready, first, count, pause_s))


def relay(folder: str, network: Network, ready: Any) -> None:
    """It subscribes to nothing."""

    async def go() -> None:
        async with node_at(folder, 2, network):
            ready.set()
            await asyncio.sleep(3600)

    asyncio.run(go())


def receive_at_the_end(folder: str, network: Network, ready: Any) -> None:
    asyncio.run(_receive(node_at(folder, 3, network), folder, ready))


async def _publish(node: Node, folder: str, ready: Any, first: int, count: int, pause_s: float) -> None:
    acknowledged = LineFile(f"{folder}/acknowledged")
    async with node:
        ready.set()
        for n in range(first, first + count):
            acknowledged.add(n, await node.publish("news", {"n": n}))
            await asyncio.sleep(pause_s)
        await asyncio.sleep(3600)


def receive(folder: str, network: Network, ready: Any, how: dict[str, Any] = ONE_HOP) -> None:
    """One application that stores its position with its results, and one that relies on the node."""
    asyncio.run(_receive(Node(config(folder, "receiver", network, how)), folder, ready))


async def _receive(node: Node, folder: str, ready: Any) -> None:
    async with node:
        tasks = [asyncio.create_task(_careful(node, folder)), asyncio.create_task(_trusting(node, folder))]
        await asyncio.sleep(0)
        ready.set()
        await asyncio.gather(*tasks)


async def _careful(node: Node, folder: str) -> None:
    file = LineFile(f"{folder}/careful")
    earlier = file.lines()
    # without results it begins at 0: with None it would not get an event again that it had when it was killed
    subscription = node.subscribe("exists n", name="careful", after=earlier[-1][1] if earlier else 0)
    async for event in subscription:
        file.add(int(event.attrs["n"]), subscription.position)


async def _trusting(node: Node, folder: str) -> None:
    file = LineFile(f"{folder}/trusting")
    async for event in node.subscribe("exists n", name="trusting"):
        file.add(int(event.attrs["n"]))
