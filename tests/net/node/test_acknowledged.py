"""A subscription with `acknowledge` moves on when the application is done with an event, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.node.node import Node
from tests.conformance.real import network
from tests.net.node.nodes import config, pair, run, take, until


def test_what_is_not_done_comes_again(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        meeting = network()
        settings = config(key, state=str(tmp_path / "state"), network=meeting)
        async with Node(config(key, network=meeting)) as speaker, Node(settings) as node:
            first = node.subscribe("n >= 0", name="all", acknowledge=True)
            other = node.subscribe("n >= 0", name="usual")
            for n in range(5):
                await speaker.publish(attrs={"n": n})
            assert await take(first, 5) == [0, 1, 2, 3, 4]
            assert await take(other, 5) == [0, 1, 2, 3, 4]
            await first.done(first.position - 3)
        async with Node(settings) as node:
            assert {named.name: named.behind for named in node.status().named} == {"all": 3, "usual": 0}
            again = node.subscribe("n >= 0", name="all", acknowledge=True)
            assert await take(again, 3) == [2, 3, 4]

    run(go())


def test_events_that_do_not_match_do_not_hold_it_back(key: str) -> None:
    async def go() -> None:
        one, other = pair(key)
        async with Node(one) as speaker, Node(other) as node:
            node.subscribe("true", name="everything")
            even = node.subscribe("n in (0, 2, 4)", name="even", acknowledge=True)
            for n in range(6):
                await speaker.publish(attrs={"n": n})
            assert await take(even, 3) == [0, 2, 4]
            await until(lambda: node.store.received.end() == 6)
            await even.done(5)  # the position of 4
            await even.done(1)
            named = {one.name: one.cursor for one in node.store.subscriptions.all()}
            assert named["even"] >= 5, "and a cursor never goes back"

    run(go())


def test_without_a_name_there_is_nothing_to_remember(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            with pytest.raises(InputError, match="acknowledge: only a subscription with a name"):
                node.subscribe("true", acknowledge=True)

    run(go())
