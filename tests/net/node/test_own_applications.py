"""Applications on one machine talk through their node: it delivers its own events to its own subscriptions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from roamcast.errors import StoreError
from roamcast.log import reader
from roamcast.net.keep.store import Store
from roamcast.net.node.node import Node
from tests.net.node.nodes import config, run, take, until
from tests.support.log_metrics import metrics


@pytest.mark.parametrize("name", ["", "alarm"])
@pytest.mark.parametrize("protocol", ["gossip", "frugal"])
def test_a_node_delivers_its_own_event_to_its_own_subscription_once(key: str, name: str, protocol: str) -> None:
    async def go() -> None:
        async with Node(config(key, protocol=protocol, params={})) as node:
            wanted = node.subscribe("n > 1", name=name)
            for n in range(4):
                await node.publish("news", {"n": n}, b"content", validity_s=60)
            first = await anext(wanted)
            assert (first.attrs, first.payload, first.publisher) == ({"n": 2}, b"content", node.runner.id)
            assert await take(wanted, 1) == [3]
            status = node.status()
            assert (status.own, status.delivered, status.stored.received) == (2, 0, 2)

    run(go())


def test_an_own_event_waits_for_an_application_across_a_restart(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        settings = config(key, state=str(tmp_path / "a"))
        async with Node(settings) as node:
            node.subscribe("n >= 0", name="alarm")
            await node.publish(attrs={"n": 1})
        async with Node(settings) as node:  # it publishes the event again, but not to its own applications
            await until(lambda: node.status().published == 1)
            await node.publish(attrs={"n": 2})
            wanted = node.subscribe("n >= 0", name="alarm")
            assert await take(wanted, 2) == [1, 2]
            assert node.store.received.end() == 2

    run(go())


def test_an_own_event_that_comes_back_over_the_air_is_not_delivered_again(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        settings = config(key, protocol="flooding-periodic", params={"period_s": 0.1}, state=str(tmp_path / "a"))
        async with Node(msgspec.structs.replace(settings, state=str(tmp_path / "b"))) as relay:
            async with Node(settings) as node:
                wanted = node.subscribe("n >= 0", name="x")
                await node.publish(attrs={"n": 1})
                assert await take(wanted, 1) == [1]
                await until(lambda: relay.status().stored.held == 1)
            async with Node(settings) as node:
                wanted = node.subscribe("n >= 0", name="x")
                await until(lambda: node.runner.tally.frames_in > 2)
                await node.publish(attrs={"n": 2})
                assert await take(wanted, 1) == [2]

    run(go())


def test_own_deliveries_are_no_deliveries_in_the_log(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        settings = config(key, log=str(tmp_path / "log"), sample_s=0.0)
        async with Node(settings) as one, Node(settings) as other:
            here, there = one.subscribe("n >= 0"), other.subscribe("n >= 0")
            await one.publish(attrs={"n": 1})
            assert await take(here, 1) == await take(there, 1) == [1]

    run(go())
    tables = [reader.read(path) for path in (tmp_path / "log").glob("*.parquet")]
    measured = metrics(pa.concat_tables(tables).sort_by("t"))
    assert (measured["own"], measured["interested"], measured["deliveries"]) == (1, 1, 1)


def test_an_event_is_stored_for_neighbours_and_own_applications_or_for_nobody(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            wanted = node.subscribe("n >= 0")
            with monkeypatch.context() as failing:
                failing.setattr(type(node.store.received), "_make_room", _fail)
                with pytest.raises(StoreError):
                    await node.publish(attrs={"n": 1})
            assert _entries(node.store) == (0, 0)
            await node.publish(attrs={"n": 2})
            assert await asyncio.wait_for(take(wanted, 1), 20) == [2]
            assert _entries(node.store) == (1, 1)

    run(go())


def _fail(*_: Any) -> None:
    raise StoreError("the disk is full")


def _entries(store: Store) -> tuple[int, int]:
    counts = store.counts()
    return counts.publications, counts.received
