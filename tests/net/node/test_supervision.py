"""Work in the background: a failure is logged, and the work begins again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from roamcast.errors import NodeClosed, StoreError
from roamcast.net.keep.store import Store
from roamcast.net.node import supervision
from roamcast.net.node.node import Node
from roamcast.net.node.supervision import supervised
from tests.conformance.real import network
from tests.net.node.nodes import config, run, take, until


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "AGAIN_S", 0.05)


def test_work_that_fails_is_logged_and_tried_again_until_it_is_done(caplog: pytest.LogCaptureFixture) -> None:
    errors = [StoreError("disk full"), ZeroDivisionError("a mistake")]

    async def work() -> None:
        if errors:
            raise errors.pop(0)

    run(supervised(work))
    assert errors == []
    assert [record.message for record in caplog.records] == [
        "disk full; trying again in 0.05 s",
        "work in the background failed; trying again in 0.05 s",
    ]


def test_work_ends_with_the_node(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise NodeClosed("the node is not running")

    run(supervised(work))
    assert caplog.records == []


def test_events_of_earlier_boots_are_published_again_once_although_the_store_fails_at_first(
    key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        meeting = network()
        settings = config(key, state=str(tmp_path), network=meeting)
        async with Node(settings) as node:
            await node.publish(attrs={"n": 1})
            await node.publish(attrs={"n": 2}, validity_s=0.01)
        await asyncio.sleep(0.02)
        with Store(tmp_path) as store:  # the second has expired, and cannot be removed
            store.db.run("create trigger failing before delete on publications begin select raise(abort, 'bad'); end")
        async with Node(config(key, network=meeting)) as other, Node(settings) as node:
            wanted = other.subscribe("n >= 0")
            await until(lambda: "the node's store failed: bad; trying again" in caplog.text)
            assert node.status().published == 0
            node.store.db.run("drop trigger failing")
            await node.publish(attrs={"n": 3})
            assert sorted(await take(wanted, 2)) == [1, 3]
            assert node.status().published == 2

    run(go())
