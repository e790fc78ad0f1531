"""The benchmark of real nodes, with few datagrams: it must go on fitting the nodes that it measures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import net


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net, "MANY", 200)
    monkeypatch.setattr(net, "FEW", 20)
    monkeypatch.setattr(net, "HOPS", 10)


def test_every_kind_of_datagram_has_a_rate() -> None:
    async def measured() -> dict[str, Any]:
        return net.rates()

    rates = asyncio.run(measured())
    assert list(rates) == ["new publications", "known publications", "replays", "forgeries", "garbage"]
    assert min(rates.values()) > 0


def test_events_hop_from_one_node_to_another() -> None:
    times = asyncio.run(net.hops())
    assert 0.0 < times["p50_ms"] <= times["p99_ms"]
