"""Nodes for applications: publish, subscribe, slow applications, cancelled calls, restarts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import FilterError, InputError, NodeClosed, StoreError
from roamcast.log import reader
from roamcast.net.keep.database import Bounds
from roamcast.net.keep.store import Store
from roamcast.net.limits import Limits
from roamcast.net.node.node import Node
from roamcast.pubsub.event import FOREVER
from tests.net.keep import stores
from tests.net.node.commits import busy, fail_commits_of_events, prepared
from tests.net.node.nodes import PATIENCE_S, config, pair, run, take, until


def test_an_event_of_one_node_is_delivered_by_the_other_if_it_subscribed(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("temperature > 30")
            await one.publish("weather", {"temperature": 20})
            id = await one.publish("weather", {"temperature": 31}, b"hot", validity_s=60)
            event = await asyncio.wait_for(anext(wanted), PATIENCE_S)
            assert (event.id, event.topic, event.attrs, event.payload) == (id, "weather", {"temperature": 31}, b"hot")
            assert event.publisher == one.runner.id
            assert event.validity_us == 60_000_000
            assert other.status().stored.received == 1

    run(go())


@pytest.mark.parametrize(
    ("protocol", "params"), [("frugal", {"hb_initial_s": 0.2}), ("proximity", {"beacon_interval_s": 0.2})]
)
def test_filters_reach_the_publisher_with_protocols_that_advertise_them(key: str, protocol: str, params: Any) -> None:
    async def go() -> None:
        a, b = pair(key, protocol=protocol, params=params)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n > 1")
            await until(lambda: one.status().neighbours)
            for n in range(3):
                await one.publish("news", {"n": n}, validity_s=60)
            assert await take(wanted, 1) == [2]

    run(go())


def test_each_subscription_gets_its_own_events(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            even, large = other.subscribe("even = true"), other.subscribe("n >= 2")
            for n in range(4):
                await one.publish(attrs={"n": n, "even": n % 2 == 0})
            assert await take(even, 2) == [0, 2]
            assert await take(large, 2) == [2, 3]

    run(go())


def test_a_dropped_subscription_is_removed_from_the_protocol(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            first, second = node.subscribe("n > 1"), node.subscribe("n > 2")
            assert len(node.status().subscriptions) == 2
            first.close()
            with pytest.raises(StopAsyncIteration):
                await anext(first)
            del second
            assert node.status().subscriptions == {}

    run(go())


def test_a_slow_application_loses_the_oldest_events_and_their_number_is_counted(key: str) -> None:
    async def go() -> None:
        a, b = pair(key, bounds=Bounds(received=5))
        async with Node(a) as one, Node(b) as other:
            slow = other.subscribe("n >= 0", name="slow")
            for n in range(12):
                await one.publish(attrs={"n": n})
            await until(lambda: other.store.received.end() == 12)
            assert await take(slow, 5) == [7, 8, 9, 10, 11]
            assert slow.lost == 7
            assert other.runner.tally.drops()["application full"] == 7
            assert other.runner.tally.delivered == 12  # the protocol did not wait for the application

    run(go())


def test_expired_events_are_not_handed_over(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            slow = other.subscribe("n >= 0")
            await one.publish(attrs={"n": 1}, validity_s=0.05)
            await one.publish(attrs={"n": 2})
            await until(lambda: other.store.received.end() == 2)
            await asyncio.sleep(0.06)
            assert await take(slow, 1) == [2]
            assert slow.lost == 1

    run(go())


def test_lost_events_are_counted_once_and_a_waiting_subscription_does_not_poll(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            slow = other.subscribe("n >= 0")
            await one.publish(attrs={"n": 1}, validity_s=0.02)
            await until(lambda: other.store.received.end() == 1)
            await asyncio.sleep(0.03)
            looks, after = 0, other.store.received.after

            def looking(position: int, most: int) -> Any:
                nonlocal looks
                looks += 1
                return after(position, most)

            other.store.received.after = looking  # type: ignore[method-assign]
            waiting = asyncio.ensure_future(take(slow, 1))
            await asyncio.sleep(0.1)
            other._subscribers.written([])  # although nothing is new
            await asyncio.sleep(0.1)
            assert slow.lost == 1
            assert looks == 1
            await one.publish(attrs={"n": 2})
            assert await waiting == [2]
            assert slow.lost == 1

    run(go())


def test_a_cancelled_caller_gets_the_event_the_next_time(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n >= 0", name="patient")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(wanted), 0.05)
            for n in range(20):
                await one.publish(attrs={"n": n})
            await until(lambda: other.store.received.end() == 20)
            got: list[Any] = []
            while len(got) < 20:
                for wait in range(10):  # give up at every stage of the handing over
                    task = asyncio.ensure_future(anext(wanted))
                    for _ in range(wait):
                        await asyncio.sleep(0)
                    task.cancel()
                    try:
                        got.append((await task).attrs["n"])
                    except asyncio.CancelledError:
                        continue
                got += await take(wanted, min(1, 20 - len(got)))
            assert got == list(range(20))

    run(go())


def test_publishing_waits_for_room_in_the_queue(key: str) -> None:
    async def go() -> None:
        a, b = pair(key, limits=Limits(queue=4, rate_bps=200_000, airtime_share=1.0, airtime_burst_s=0.01))
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n >= 0")
            for n in range(30):
                await one.publish(attrs={"n": n})
            assert await take(wanted, 30) == list(range(30))
            assert "queue full" not in one.runner.tally.drops()

    run(go())


@pytest.mark.parametrize("how", ["one after another", "all at once"])
def test_all_published_events_arrive_within_the_default_limits(key: str, how: str) -> None:
    async def go() -> None:
        a, b = pair(key, params={"p": 0.0}, limits=Limits(), bounds=Bounds(publications=10_000))
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n >= 0")
            if how == "one after another":
                numbers = range(600)
                for n in numbers:
                    await one.publish(attrs={"n": n})
            else:
                numbers = range(200)
                await asyncio.gather(*(one.publish(attrs={"n": n}, payload=bytes(300)) for n in numbers))
            assert await take(wanted, len(numbers)) == list(numbers)
            assert (one.runner.tally.drops(), other.runner.tally.drops()) == ({}, {})

    run(go())


def test_an_event_that_cannot_be_published_takes_no_room(key: str) -> None:
    async def go() -> None:
        async with Node(config(key, limits=Limits(queue=1, rate_bps=1e9))) as node:
            node.store.db.run(
                "create trigger full before insert on publications begin select raise(abort, 'full'); end"
            )
            with pytest.raises(StoreError):
                await node.publish(attrs={"n": 1})
            node.store.db.run("drop trigger full")
            with pytest.raises(InputError):
                await node.publish(attrs={"n": float("nan")})
            await node.publish(attrs={"n": 2})

    run(go())


def test_a_cancelled_publish_is_still_completed(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            task = asyncio.ensure_future(node.publish(attrs={"n": 1}))
            await asyncio.sleep(0)
            task.cancel()
            await until(lambda: node.runner.tally.published == node.status().stored.publications == 1)

    run(go())


def test_a_filter_that_changes_under_a_name_replaces_the_old_one(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            node.subscribe("n > 1", name="x")
            node.subscribe("n > 2", name="x")
            assert list(node.status().subscriptions.values()) == ["n > 2"]

    run(go())


def test_each_kind_of_error_has_its_type(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        node = Node(config(key))
        with pytest.raises(NodeClosed):
            await node.publish("news")
        async with node:
            with pytest.raises(FilterError):
                node.subscribe("n >")
            with pytest.raises(InputError, match=r"^filter: 5 must be a text such as"):
                node.subscribe(5)  # type: ignore[arg-type]
            with pytest.raises(InputError, match="validity_s=0"):
                await node.publish("news", validity_s=0)
            for validity_s in (1e300, FOREVER / 1e6, float("inf"), float("nan")):
                with pytest.raises(InputError, match=r"validity_s=.*: must be below 4503599627 \(142 years\)"):
                    await node.publish("news", validity_s=validity_s)
            with pytest.raises(InputError, match="cannot publish"):
                await node.publish("news", {"x": [1]})  # type: ignore[dict-item]
            wanted = node.subscribe("n > 0")
        with pytest.raises(StopAsyncIteration):
            await anext(wanted)
        with pytest.raises(NodeClosed):
            node.subscribe("n > 0")

    run(go())


def test_a_failing_disk_is_reported_to_publishers_and_subscribers(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n > 0")
            for node, table in ((one, "publications"), (other, "received")):
                fail = f"create trigger full before insert on {table} begin select raise(abort, 'disk full'); end"
                node.store.db.run(fail)
            with pytest.raises(StoreError, match="disk full"):
                await one.publish(attrs={"n": 1})
            assert one.runner.tally.published == 0
            one.store.db.run("drop trigger full")
            await one.publish(attrs={"n": 2})
            with pytest.raises(StoreError, match="disk full"):
                await asyncio.wait_for(anext(wanted), PATIENCE_S)
            other.store.db.run("drop trigger full")
            await one.publish(attrs={"n": 3})
            await until(lambda: other.store.received.end() == 1)
            assert await take(wanted, 1) == [3]

    run(go())


def test_a_disk_that_fails_when_a_node_stops_does_not_prevent_it(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        node = Node(config(key, state=str(tmp_path / "state"), log=str(tmp_path / "log")))
        await node.start()
        fail = "create trigger full before insert on vault begin select raise(abort, 'disk full'); end"
        node.store.db.run(fail)
        await node.stop()
        with pytest.raises(NodeClosed):
            _ = node.store
        Store(tmp_path / "state").close()
        assert list((tmp_path / "log").glob("*.parquet"))

    run(go())


def test_a_busy_subscription_learns_about_an_earlier_failure(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n > 0")
            fail = "create trigger full before insert on received begin select raise(abort, 'disk full'); end"
            other.store.db.run(fail)
            await one.publish(attrs={"n": 1})
            await until(lambda: wanted._failure is not None)
            other.store.db.run("drop trigger full")
            await one.publish(attrs={"n": 2})
            await until(lambda: other.store.received.end() == 1)
            with pytest.raises(StoreError, match="disk full"):
                await anext(wanted)
            assert await take(wanted, 1) == [2]

    run(go())


def test_a_waiting_subscriber_is_released_when_the_node_stops(key: str) -> None:
    async def go() -> None:
        node = Node(config(key))
        await node.start()
        got = [event async for event in _stopping(node)]
        assert got == []

    async def _stopping(node: Node) -> Any:
        wanted = node.subscribe("n > 0")
        asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(node.stop()))
        async for event in wanted:
            yield event

    run(go())


def test_a_node_writes_files_that_can_be_read_while_it_runs(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        a, b = pair(key, log=str(tmp_path / "log"), log_rotate_s=0.2, sample_s=0.0)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n > 0")
            await one.publish(attrs={"n": 1})
            await take(wanted, 1)
            await until(lambda: len(list((tmp_path / "log").glob("*.parquet"))) >= 2)
            rows = [row for path in (tmp_path / "log").glob("*.parquet") for row in reader.rows(path)]
            assert {row.run for row in rows} == {"field"}
            assert {row.kind for row in rows} >= {"publish", "send"}
            number = one.runner.id
        files = sorted((tmp_path / "log").glob("*.parquet"))
        rows = [row for path in files for row in reader.rows(path)]
        assert {"deliver", "receive", "subscribe", "crash"} <= {row.kind for row in rows}
        assert [path for path in files if path.name.startswith(f"{number}-")]
        assert reader.summary(files[-1])["published"] in (0, 1)
        assert not list((tmp_path / "log").glob(".*"))

    run(go())


def test_a_subscription_that_begins_before_a_commit_fails_gets_the_next_event(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            writer = node._running.writer
            await node.publish()  # then the work of its start is done, which uses the store as well
            fail_commits_of_events(node.store)
            with busy(writer):
                writer.add_event(stores.event(1))
                await prepared(node.store)
                late = node.subscribe("n > 0")
            with pytest.raises(StoreError, match="FOREIGN KEY"):
                await asyncio.wait_for(anext(late), PATIENCE_S)
            node.store.db.run("drop trigger failing")
            writer.add_event(stores.event(2))
            assert await take(late, 1) == [2]

    run(go())
