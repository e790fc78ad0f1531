"""Nodes as applications see them: publish, subscribe, be slow, be cancelled, restart."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from roamcast.errors import FilterError, InputError, NodeClosed, StoreError
from roamcast.log import reader, schema
from roamcast.log.metrics import metrics
from roamcast.net.config import Config
from roamcast.net.keep.database import Bounds
from roamcast.net.keep.store import Store
from roamcast.net.limits import Limits
from roamcast.net.node.node import Node
from roamcast.net.node.status import NamedStatus
from roamcast.net.node.subscription import Subscription
from roamcast.net.trust.identity import Identity, node_number
from roamcast.net.trust.keys import KeyRing
from tests.conformance.real import network

FAST = Limits(rate_bps=1e9)
PATIENCE_S = 20.0


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


@pytest.fixture
def key(tmp_path: Path) -> str:
    KeyRing.new().save(tmp_path / "group.key")
    return str(tmp_path / "group.key")


def config(key: str, **more: Any) -> Config:
    said: dict[str, Any] = {"protocol": "gossip", "params": {"p": 1.0}, "network": network(), "limits": FAST}
    return Config(**{"key": key, **said, **more})


def pair(key: str, **more: Any) -> tuple[Config, Config]:
    one = config(key, **more)
    return one, one


async def take(subscription: Subscription, n: int) -> list[int]:
    return [(await asyncio.wait_for(anext(subscription), PATIENCE_S)).attrs["n"] for _ in range(n)]  # type: ignore[misc]


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


# ---- from one to the other


def test_what_one_publishes_the_other_gets_if_it_asked_for_it(key: str) -> None:
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
def test_content_is_asked_for_by_protocols_that_know_interests(key: str, protocol: str, params: Any) -> None:
    async def go() -> None:
        a, b = pair(key, protocol=protocol, params=params)
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n > 1")
            await until(lambda: one.status().neighbours)
            for n in range(3):
                await one.publish("news", {"n": n}, validity_s=60)
            assert await take(wanted, 1) == [2]

    run(go())


def test_subscriptions_each_get_their_own(key: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            even, large = other.subscribe("even = true"), other.subscribe("n >= 2")
            for n in range(4):
                await one.publish(attrs={"n": n, "even": n % 2 == 0})
            assert await take(even, 2) == [0, 2]
            assert await take(large, 2) == [2, 3]

    run(go())


def test_a_subscription_that_is_dropped_is_taken_back(key: str) -> None:
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


# ---- slow applications


def test_a_slow_application_loses_the_oldest_and_knows_how_many(key: str) -> None:
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
            assert other.runner.tally.delivered == 12  # nobody waited for the application

    run(go())


def test_events_that_are_over_are_not_handed_over(key: str) -> None:
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


def test_what_is_gone_is_counted_once_and_who_waits_does_not_look_all_the_time(key: str) -> None:
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
            other._subscribers.written()  # for nothing
            await asyncio.sleep(0.1)
            assert slow.lost == 1
            assert looks == 2
            await one.publish(attrs={"n": 2})
            assert await waiting == [2]
            assert slow.lost == 1

    run(go())


def test_who_stops_waiting_gets_the_event_next_time(key: str) -> None:
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
def test_whatever_is_published_arrives_within_the_default_limits(key: str, how: str) -> None:
    async def go() -> None:
        a, b = pair(key, params={"p": 0.0}, limits=Limits(), bounds=Bounds(publications=10_000))
        async with Node(a) as one, Node(b) as other:
            wanted = other.subscribe("n >= 0")
            if how == "one after another":
                said = range(600)
                for n in said:
                    await one.publish(attrs={"n": n})
            else:
                said = range(200)
                await asyncio.gather(*(one.publish(attrs={"n": n}, payload=bytes(300)) for n in said))
            assert await take(wanted, len(said)) == list(said)
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


def test_who_gives_up_publishing_leaves_nothing_half_done(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            task = asyncio.ensure_future(node.publish(attrs={"n": 1}))
            await asyncio.sleep(0)
            task.cancel()
            await until(lambda: node.runner.tally.published == node.status().stored.publications == 1)

    run(go())


# ---- restarts


def test_publications_are_published_again_with_what_is_left_of_their_validity(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        a, b = config(key, state=str(tmp_path / "a")), config(key)
        b = Config(key=key, protocol="gossip", params={"p": 1.0}, network=a.network, limits=FAST)
        async with Node(a) as one:
            await one.publish(attrs={"n": 1}, validity_s=60)
            await one.publish(attrs={"n": 2})
            await one.publish(attrs={"n": 3}, validity_s=0.01)
        await asyncio.sleep(0.02)
        async with Node(b) as other:
            wanted = other.subscribe("n >= 0")
            async with Node(a):
                first, second = [await asyncio.wait_for(anext(wanted), PATIENCE_S) for _ in range(2)]
        assert (first.attrs, second.attrs) == ({"n": 1}, {"n": 2})
        assert 50_000_000 < first.validity_us < 60_000_000
        assert second.validity_us == 1 << 52

    run(go())


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_events_of_others_outlive_who_holds_them(key: str, tmp_path: Path, end: str) -> None:
    """Who published it is gone before anybody else comes, and who has heard it was away meanwhile."""

    async def go() -> None:
        how = {"protocol": "frugal", "params": {"hb_initial_s": 0.2}}
        a = config(key, **how)
        holder = Config(key=key, network=a.network, limits=FAST, state=str(tmp_path / "holder"), **how)
        async with Node(holder) as other:
            wanted = other.subscribe("n >= 0", name="x")
            async with Node(a) as one:
                await until(lambda: one.status().neighbours)
                await one.publish("news", {"n": 1}, validity_s=1.0)
                await one.publish("news", {"n": 2}, validity_s=60)
                assert sorted(await take(wanted, 2)) == [1, 2]
            await until(lambda: other.store.counts().held >= 1)
            if end == "killed":  # all that a killed node leaves is its files
                shutil.copytree(tmp_path / "holder", tmp_path / "left")
        if end == "killed":
            shutil.rmtree(tmp_path / "holder")
            (tmp_path / "left").rename(tmp_path / "holder")
        await asyncio.sleep(1.0)  # one is over now
        async with Node(holder) as other, Node(config(key, network=a.network, **how)) as late:
            missed = late.subscribe("n >= 0")
            assert await take(missed, 1) == [2]
            again = other.subscribe("n >= 0", name="x")
            await late.publish("news", {"n": 3}, validity_s=60)
            assert await take(again, 1) == [3]  # and nothing that it had

    run(go())


@pytest.mark.parametrize("before", ["another group", "insecure"])
def test_in_a_new_group_nothing_is_said_by_the_rules_of_the_old_one(key: str, tmp_path: Path, before: str) -> None:
    async def go() -> None:
        how: dict[str, Any] = {"protocol": "frugal", "params": {"hb_initial_s": 0.2}, "limits": FAST}
        how["network"] = network()
        KeyRing.new().save(tmp_path / "old.key")
        with Store(tmp_path / "holder") as store:
            number = node_number(Identity.of(store.values).public)
        old: dict[str, Any] = {"insecure": True} if before == "insecure" else {"key": str(tmp_path / "old.key")}
        mine: dict[str, Any] = {"number": number} if before == "insecure" else {}
        async with (
            Node(Config(state=str(tmp_path / "holder"), **old, **mine, **how)) as other,
            Node(Config(**old, **how)) as one,
        ):
            other.subscribe("n >= 0", name="x")
            await until(lambda: one.status().neighbours)
            await one.publish("news", {"n": 1}, bytes(200), validity_s=60)
            await other.publish("news", {"n": 2}, b"what was said" * 20)
            await until(lambda: other.store.counts().held == 1)
            await until(lambda: other.store.counts().received == 1)
        async with (
            Node(Config(state=str(tmp_path / "holder"), key=key, **how)) as other,
            Node(Config(key=key, **how)) as late,
        ):
            assert other.runner.tally.delivered == 0
            assert len(other.store.received.after(0, 9)) == (0 if before == "insecure" else 1)
            wanted = late.subscribe("n >= 0")
            await other.publish("news", {"n": 3}, validity_s=60)
            got = [await asyncio.wait_for(anext(wanted), PATIENCE_S) for _ in range(2)]
            assert sorted((e.attrs["n"], e.payload) for e in got) == [(2, b"what was said" * 20), (3, b"")]  # type: ignore[type-var]
            assert late.runner.tally.drops() == {}

    run(go())


def test_what_was_passed_on_is_not_passed_on_again(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        a = config(key)
        relay = Config(
            key=key, protocol="gossip", params={"p": 1.0}, network=a.network, limits=FAST, state=str(tmp_path / "relay")
        )
        async with Node(a) as one:
            async with Node(relay) as other:
                for n in range(3):
                    await one.publish(attrs={"n": n})
                await until(lambda: other.runner.tally.frames_out == 3)
                await until(lambda: other.store.counts().held == 3)
                await asyncio.sleep(0.2)  # longer than any delay that a later life may draw: all was said in this one
            async with Node(relay) as other:
                await one.publish(attrs={"n": 3})
                await until(lambda: other.runner.tally.frames_out > 0)
                assert other.runner.status().decisions == {"forward: drawn": 1}

    run(go())


def test_a_named_subscription_goes_on_where_it_was(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        a = config(key, state=str(tmp_path / "a"))
        b = Config(key=key, protocol="gossip", network=a.network, limits=FAST, state=str(tmp_path / "b"))
        async with Node(a) as one:
            async with Node(b) as other:
                wanted = other.subscribe("n >= 0", name="alarm")
                for n in range(3):
                    await one.publish(attrs={"n": n})
                assert await take(wanted, 2) == [0, 1]
                await until(lambda: other.store.received.end() == 3)
            async with Node(b) as other:  # nobody has asked yet, but the subscription is there
                assert other.status().named == [NamedStatus("alarm", "n >= 0", 1)]
                await one.publish(attrs={"n": 3})
                await until(lambda: other.store.received.end() == 4)
                wanted = other.subscribe("n >= 0", name="alarm")
                assert await take(wanted, 2) == [2, 3]
                again = other.subscribe("n >= 0", after=2)
                assert await take(again, 2) == [2, 3]
                assert again.position == 4
                other.forget("alarm")
                assert other.status().subscriptions == {2: "n >= 0"}
                with pytest.raises(InputError, match="no subscription 'alarm'"):
                    other.forget("alarm")

    run(go())


@pytest.mark.parametrize("name", ["", "x"])
@pytest.mark.parametrize("after", [500, 2**70, -(2**70)])
def test_a_position_that_is_not_there_is_the_nearest_one(key: str, after: int, name: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            other.subscribe("n >= 0", name="w")
            await one.publish(attrs={"n": 1})
            await until(lambda: other.store.received.end() == 1)
            wanted = other.subscribe("n >= 0", name=name, after=after)
            await one.publish(attrs={"n": 2})
            assert await take(wanted, 1 if after > 0 else 2) == ([2] if after > 0 else [1, 2])
            assert (wanted.position, wanted.lost) == (2, 0)

    run(go())


def test_an_event_that_comes_again_after_a_restart_is_not_handed_over_again(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        a = config(key, state=str(tmp_path / "a"))
        b = Config(key=key, protocol="gossip", network=a.network, limits=FAST, state=str(tmp_path / "b"))
        async with Node(b) as other:
            wanted = other.subscribe("n >= 0", name="x")
            async with Node(a) as one:
                await one.publish(attrs={"n": 1})
                assert await take(wanted, 1) == [1]
        async with Node(b) as other:
            wanted = other.subscribe("n >= 0", name="x")
            async with Node(a) as one:  # says it again
                await until(lambda: other.status().delivered_before == 1)
                await one.publish(attrs={"n": 2})
                assert await take(wanted, 1) == [2]

    run(go())


def test_a_filter_that_changes_under_a_name_replaces_the_old_one(key: str) -> None:
    async def go() -> None:
        async with Node(config(key)) as node:
            node.subscribe("n > 1", name="x")
            node.subscribe("n > 2", name="x")
            assert list(node.status().subscriptions.values()) == ["n > 2"]

    run(go())


# ---- errors


def test_errors_have_types(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        node = Node(config(key))
        with pytest.raises(NodeClosed):
            await node.publish("news")
        async with node:
            with pytest.raises(FilterError):
                node.subscribe("n >")
            with pytest.raises(InputError, match="validity_s=0"):
                await node.publish("news", validity_s=0)
            with pytest.raises(InputError, match="cannot publish"):
                await node.publish("news", {"x": [1]})  # type: ignore[dict-item]
            wanted = node.subscribe("n > 0")
        with pytest.raises(StopAsyncIteration):
            await anext(wanted)
        with pytest.raises(NodeClosed):
            node.subscribe("n > 0")

    run(go())


def test_a_failing_disk_is_said_to_publishers_and_subscribers(key: str) -> None:
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


def test_a_disk_that_fails_when_a_node_stops_does_not_keep_it_from_ending(key: str, tmp_path: Path) -> None:
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


def test_a_subscription_that_was_busy_hears_of_a_failure_that_is_over(key: str) -> None:
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


def test_a_subscriber_that_waits_is_let_go_when_the_node_stops(key: str) -> None:
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


# ---- the log


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


def test_a_node_that_comes_back_says_so_in_its_log(key: str, tmp_path: Path) -> None:
    async def live(folder: str) -> None:
        async with Node(config(key, state=str(tmp_path / "a"), log=str(tmp_path / folder), sample_s=0.0)) as node:
            node.subscribe("n > 0", name="x")

    def kinds(folder: str) -> list[str]:
        return [row.kind for path in (tmp_path / folder).glob("*.parquet") for row in reader.rows(path)]

    run(live("first"))
    run(live("second"))
    assert kinds("first") == ["subscribe", "crash"]
    assert kinds("second") == ["recover", "subscribe", "crash"]


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_who_subscribed_in_an_earlier_life_is_not_interested_any_more(key: str, tmp_path: Path, end: str) -> None:
    async def go() -> None:
        a = config(key, params={"p": 0.0}, log=str(tmp_path / "log"), sample_s=0.0)
        b = msgspec.structs.replace(a, state=str(tmp_path / "b"))
        async with Node(a) as one:
            async with Node(b) as other:
                other.subscribe("n >= 0", name="stays")
                gone = other.subscribe("m >= 0")
                if end == "killed":
                    other.runner.journal._kinds -= {schema.CRASH}
            async with Node(b) as other:
                wanted = other.subscribe("n >= 0", name="stays")
                for m in range(4):
                    await one.publish(attrs={"m": m})
                await one.publish(attrs={"n": 1})
                assert await take(wanted, 1) == [1]
            gone.close()

    run(go())
    tables = [reader.read(path) for path in (tmp_path / "log").glob("*.parquet")]
    found = metrics(pa.concat_tables(tables).sort_by("t"))
    assert (found["interested"], found["deliveries"], found["parasites"]) == (1, 1, 4)
