"""The thread that writes: changes share a commit, and a waiting caller learns about a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from roamcast.errors import NodeClosed, RoamcastError, StoreError
from roamcast.net.keep.received import Received
from roamcast.net.keep.store import Store
from roamcast.net.node.subscribers import Subscribers
from roamcast.net.node.subscription import Subscription
from roamcast.net.node.writer import GROUP_MAX, WAITING_MAX, Writer
from roamcast.net.refusal import Tally
from roamcast.pubsub.text import parse_subscription
from tests.net.keep.stores import event, ids
from tests.net.node.commits import busy, fail_commits_of_events, prepared
from tests.net.node.nodes import run


class Observer:
    def __init__(self) -> None:
        self.writes = 0
        self.new: list[Received] = []
        self.failures: list[RoamcastError] = []

    def written(self, new: list[Received]) -> None:
        self.writes += 1
        self.new += new

    def write_failed(self, error: RoamcastError) -> None:
        self.failures.append(error)


class CountingStore(Store):
    commits = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        self.commits += 1
        with super().together():
            yield


def test_changes_that_come_together_are_written_in_one_commit() -> None:
    async def go() -> None:
        store, observer = CountingStore(None), Observer()
        writer = Writer(store, Tally(), observer)
        await asyncio.sleep(0)  # now the writer waits
        jobs = [asyncio.create_task(writer.write(lambda: store.own.add([event(3), event(4)])))]
        for n in (1, 2, 1):
            writer.add_event(event(n))
        writer.add_frame(lambda: store.carried.add("Gossip", "group", 7, b"frame", 1_000_000))
        await asyncio.gather(*jobs)
        assert (store.commits, observer.writes) == (1, 1)
        assert (ids(store.received.after(0, 9)), writer.duplicates) == ([1, 2], 1)
        assert (store.counts().publications, store.counts().held) == (2, 1)
        assert await writer.read(1) == (2, store.received.after(1, 9))
        await writer.close()

    run(go())


def test_a_failure_is_raised_in_the_waiting_caller_and_nothing_is_half_written() -> None:
    async def go() -> None:
        store, observer = Store(None), Observer()
        fail = "create trigger full before insert on publications begin select raise(abort, 'disk full'); end"
        store.db.run(fail)
        writer = Writer(store, Tally(), observer)
        writer.add_event(event(1))
        with pytest.raises(StoreError, match="disk full"):
            await writer.write(lambda: store.own.add([event(2)]))
        assert [str(error) for error in observer.failures] == ["the node's store failed: disk full"]
        assert (store.received.end(), store.counts().received_bytes) == (0, 0)
        store.db.run("drop trigger full")
        await writer.write(lambda: store.own.add([event(2)]))
        await writer.close()

    run(go())


def test_closing_a_writer_writes_what_waits_and_then_it_accepts_nothing() -> None:
    async def go() -> None:
        store = Store(None)
        writer = Writer(store, Tally(), Observer())
        writer.add_event(event(1))
        await writer.close()
        assert ids(store.received.after(0, 9)) == [1]
        for call in (writer.write(lambda: None), writer.read(0)):
            with pytest.raises(NodeClosed):
                await call

    run(go())


def test_a_limited_number_of_events_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        store, tally = Store(None), Tally()
        writer = Writer(store, tally, Observer())
        jobs: list[Any] = []
        for n in range(WAITING_MAX + 3):
            writer._events.append(event(1)) if n < WAITING_MAX else writer.add_event(event(n))
            writer.add_frame(lambda: jobs.append(1))
        assert tally.drops() == {"application full": 3}
        writer._events.clear()
        await writer.close()
        assert len(jobs) == WAITING_MAX

    run(go())


def test_a_long_queue_is_written_in_groups_and_in_order() -> None:
    async def go() -> None:
        store, observer = CountingStore(None), Observer()
        writer = Writer(store, Tally(), observer)
        for n in range(1, 2 * GROUP_MAX + 2):
            writer.add_event(event(n))
        await writer.close()
        assert store.commits == 3
        assert ids(observer.new) == list(range(1, 2 * GROUP_MAX + 2))
        assert writer.end == 2 * GROUP_MAX + 1

    run(go())


def test_cursors_that_nobody_waits_for_are_stored_soon_and_at_the_latest_when_the_writer_is_closed() -> None:
    async def go() -> None:
        store = CountingStore(None)
        store.subscriptions.set("news", "n > 0")
        writer = Writer(store, Tally(), Observer())
        for cursor in (3, 4, 9):
            writer.move_later("news", cursor)
        await writer.close()
        assert [named.cursor for named in store.subscriptions.all()] == [9]
        assert store.commits == 1

    run(go())


def test_a_subscriber_that_is_behind_gets_no_event_whose_commit_fails_and_all_later_ones() -> None:
    async def go() -> None:
        store, subscribers = Store(None), Subscribers()
        writer = Writer(store, Tally(), subscribers)
        await writer.write(lambda: store.received.add([event(1)]) and None)
        behind = Subscription(store, writer, parse_subscription("n > 0"), "", 0, None)
        subscribers.add(behind)
        fail_commits_of_events(store)
        with busy(writer):
            first = asyncio.create_task(anext(behind))
            await asyncio.sleep(0)  # now its read is the next that the thread does
            writer.add_event(event(2))
            await prepared(store)
        assert (await first).attrs == {"n": 1}
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            await anext(behind)
        store.db.run("drop trigger failing")
        writer.add_event(event(3))
        assert (await anext(behind)).attrs == {"n": 3}
        assert behind.lost == 0
        await writer.close()

    run(go())


def test_a_page_that_is_read_before_a_commit_ends_where_the_disk_ends() -> None:
    async def go() -> None:
        store, observer = Store(None), Observer()
        writer = Writer(store, Tally(), observer)
        await writer.write(lambda: store.received.add([event(1)]) and None)
        with busy(writer):
            page = asyncio.create_task(writer.read(0))
            await asyncio.sleep(0)
            writer.add_event(event(2))
            await prepared(store)
        end, received = await page
        assert (end, ids(received)) == (1, [1])
        await writer.close()
        assert (writer.end, ids(observer.new)) == (2, [2])

    run(go())


def test_an_error_in_the_program_fails_its_group_and_the_writer_goes_on() -> None:
    def broken() -> None:
        raise TypeError("not a row")

    async def go() -> None:
        with Store(None) as store:
            observer = Observer()
            writer = Writer(store, Tally(), observer)
            writer.add_event(event(1))
            with pytest.raises(StoreError, match="not a row"):
                await writer.write(broken)
            assert len(observer.failures) == 1
            await writer.write(lambda: store.own.add([event(2)]))
            assert len(store.own.valid()) == 1
            await writer.close()

    run(go())
