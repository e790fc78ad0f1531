"""Nodes for tests, and what to do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from roamcast.net.config import Config
from roamcast.net.limits import Limits
from roamcast.net.node.subscription import Subscription
from tests.conformance.real import network

FAST = Limits(rate_bps=1e9)


PATIENCE_S = 20.0


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


def config(key: str, **more: Any) -> Config:
    settings: dict[str, Any] = {
        "protocol": "gossip",
        "params": {"p": 1.0, "repair": False},
        "network": network(),
        "limits": FAST,
    }
    return Config(**{"key": key, **settings, **more})


def pair(key: str, **more: Any) -> tuple[Config, Config]:
    one = config(key, **more)
    return one, one


async def take(subscription: Subscription, n: int) -> list[int]:
    return [(await asyncio.wait_for(anext(subscription), PATIENCE_S)).attrs["n"] for _ in range(n)]  # type: ignore[misc]


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)
