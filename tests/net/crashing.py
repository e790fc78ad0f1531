"""The processes of test_crash.py: until they are killed, they write to files, which survive."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from roamcast.net.air.medium import Network
from roamcast.net.config import Config
from roamcast.net.keep.database import Bounds
from roamcast.net.limits import Limits
from roamcast.net.node.node import Node

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

    async def go() -> None:
        acknowledged = LineFile(f"{folder}/acknowledged")
        async with Node(config(folder, "publisher", network, how)) as node:
            ready.set()
            for n in range(first, first + count):
                acknowledged.add(n, await node.publish("news", {"n": n}))
                await asyncio.sleep(pause_s)
            await asyncio.sleep(3600)

    asyncio.run(go())


def receive(folder: str, network: Network, ready: Any, how: dict[str, Any] = ONE_HOP) -> None:
    """One application that stores its position with its results, and one that relies on the node."""

    async def careful(node: Node) -> None:
        file = LineFile(f"{folder}/careful")
        earlier = file.lines()
        subscription = node.subscribe("exists n", name="careful", after=earlier[-1][1] if earlier else None)
        async for event in subscription:
            file.add(int(event.attrs["n"]), subscription.position)

    async def trusting(node: Node) -> None:
        file = LineFile(f"{folder}/trusting")
        async for event in node.subscribe("exists n", name="trusting"):
            file.add(int(event.attrs["n"]))

    async def go() -> None:
        async with Node(config(folder, "receiver", network, how)) as node:
            tasks = [asyncio.create_task(careful(node)), asyncio.create_task(trusting(node))]
            await asyncio.sleep(0)
            ready.set()
            await asyncio.gather(*tasks)

    asyncio.run(go())
