"""Whoever does not know whether something was published can ask again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from roamcast.errors import StoreError
from roamcast.net.durable import MemoryValues
from roamcast.net.node.node import Node
from roamcast.net.node.publication_keys import MOST, PublicationKeys
from tests.net.node.nodes import config, run


def test_a_repeated_publication_is_published_once_also_after_a_restart(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        settings = config(key, state=str(tmp_path / "state"))
        async with Node(settings) as node:
            first = await node.publish("news", key="7", repeated=True)
            assert await node.publish("news", key="7", repeated=True) == first
            assert await node.publish("news", key="8", repeated=True) != first
            again = await node.publish("news", key="7")
            assert again != first, "it was not said to be a repetition"
        async with Node(settings) as node:
            assert await node.publish("news", key="7", repeated=True) == again
            assert len(node.store.own.valid()) == 3

    run(go())


def test_the_last_keys_are_remembered() -> None:
    values = MemoryValues()
    keys = PublicationKeys(values)
    for n in range(MOST + 1):
        keys.add(str(n), n)
    assert (keys.find("0"), keys.find("1"), keys.find(str(MOST))) == (None, 1, MOST)
    assert len(values.values["keys"]) == 16 * MOST


def test_many_at_once_lose_no_key(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            ids = await asyncio.gather(*(node.publish(key=str(n)) for n in range(50)))
            assert [await node.publish(key=str(n), repeated=True) for n in range(50)] == ids

    run(go())


def test_a_repetition_finds_a_publication_that_is_still_under_way_also_if_its_caller_gave_up(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            first = asyncio.create_task(node.publish("news", key="7"))
            await asyncio.sleep(0)
            second = asyncio.create_task(node.publish("news", key="7", repeated=True))
            await asyncio.sleep(0)
            first.cancel()
            id = await second
            assert await node.publish("news", key="7", repeated=True) == id
            assert [own.event.id for own in node.store.own.valid()] == [id]

    run(go())


def test_a_repetition_of_one_that_fails_is_published() -> None:
    async def go() -> None:
        keys = PublicationKeys(MemoryValues())
        failed = asyncio.Event()

        async def fail() -> int:
            await failed.wait()
            raise StoreError("the disk is full")

        async def succeed() -> int:
            return 8

        first = asyncio.create_task(keys.once("7", False, fail))
        await asyncio.sleep(0)
        second = asyncio.create_task(keys.once("7", True, succeed))
        await asyncio.sleep(0)
        failed.set()
        with pytest.raises(StoreError):
            await first
        assert await second == 8

    asyncio.run(go())
