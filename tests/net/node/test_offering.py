"""Nothing that was acknowledged is lost silently: a late subscriber gets everything that is valid, and drops count."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from roamcast.net.config import Config
from roamcast.net.keep.database import Bounds
from roamcast.net.node import offering
from roamcast.net.node.node import Node
from tests.conformance.real import network
from tests.net.node.nodes import FAST, PATIENCE_S, config, run, until

EVENTS = 300


def live(key: str, protocol: str, **params: Any) -> Config:
    """As people run it, except that nobody waits long."""
    return Config(key=key, protocol=protocol, params=params, network=network(), limits=FAST)


async def numbers(subscriber: Node, how_many: int) -> list[int]:
    wanted = subscriber.subscribe("n >= 0")
    async with asyncio.timeout(PATIENCE_S):
        return [int((await anext(wanted)).attrs["n"]) for _ in range(how_many)]


QUICK = {"hb_upper_s": 0.3, "hb_initial_s": 0.3}


@pytest.mark.parametrize(("protocol", "params"), [("roam", {}), ("frugal", QUICK)])
def test_a_subscriber_that_joins_later_gets_all_acknowledged_publications(
    key: str, protocol: str, params: dict[str, Any]
) -> None:
    async def go() -> None:
        settings = live(key, protocol, **params)
        async with Node(settings) as publisher:
            for n in range(EVENTS):
                await publisher.publish("news", {"n": n}, validity_s=600)
            async with Node(settings) as late:
                assert sorted(await numbers(late, EVENTS)) == list(range(EVENTS))
            assert publisher.status().dropped.get("protocol full", 0) == 0

    run(go())


def test_a_table_that_is_too_small_is_filled_again_from_the_store_and_drops_are_counted(
    key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(offering, "PERIOD_S", 0.3)

    async def go() -> None:
        settings = live(key, "frugal", events_table_size=30, hb_upper_s=0.2, hb_initial_s=0.2, hb_lower_s=0.05)
        async with Node(settings) as publisher:
            for n in range(80):
                await publisher.publish("news", {"n": n}, validity_s=600)
            assert publisher.status().dropped["protocol full"] == 50
            async with Node(settings) as late:
                assert sorted(await numbers(late, 80)) == list(range(80))

    with caplog.at_level(logging.WARNING):
        run(go())
    assert len([r for r in caplog.records if "no room for all valid events" in r.message]) >= 1


def test_nothing_is_offered_while_nobody_is_in_range(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offering, "PERIOD_S", 0.01)

    async def go() -> None:
        async with Node(live(key, "frugal", events_table_size=5)) as publisher:
            for n in range(10):
                await publisher.publish("news", {"n": n})
            await asyncio.sleep(0.2)
            assert publisher.status().dropped["protocol full"] == 5

    run(go())


def test_no_more_drops_are_remembered_than_events_are_stored_and_those_are_the_newest(key: str) -> None:
    async def go() -> None:
        async with Node(config(key, bounds=Bounds(publications=3))) as publisher:
            waiting = offering.Offering(publisher.runner, publisher.store)
            own = publisher.runner.id << 32
            for n in (2, 1, 4, 3, 5):
                waiting.dropped(own | n)
            assert sorted(id & 0xFF for id in waiting._dropped) == [3, 4, 5]

    run(go())


def test_own_events_that_the_store_has_no_room_for_are_counted(key: str) -> None:
    async def go() -> None:
        settings = Config(key=key, network=network(), limits=FAST, bounds=Bounds(publications=3))
        async with Node(settings) as publisher:
            for n in range(5):
                await publisher.publish("news", {"n": n})
            await until(lambda: publisher.status().dropped.get("publications full", 0) == 2)

    run(go())


@pytest.mark.parametrize(("protocol", "warns"), [("frugal", True), ("flooding-interest", True), ("roam", False)])
def test_a_protocol_that_needs_all_to_subscribe_says_so_at_the_start(
    key: str, protocol: str, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        async with Node(live(key, protocol)):
            pass

    run(go())
    assert any("does not cross other nodes" in record.message for record in caplog.records) is warns
