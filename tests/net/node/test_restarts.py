"""Nodes that stop or are killed, and start again."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from roamcast.errors import InputError
from roamcast.log import reader, schema
from roamcast.net.config import Config
from roamcast.net.keep.store import Store
from roamcast.net.node.node import Node
from roamcast.net.node.status import NamedStatus
from roamcast.net.trust.identity import Identity, node_number
from roamcast.net.trust.keys import KeyRing
from tests.conformance.real import network
from tests.net.node.nodes import FAST, PATIENCE_S, config, pair, run, take, until
from tests.support.log_metrics import metrics


def test_own_events_are_published_again_with_the_rest_of_their_validity(key: str, tmp_path: Path) -> None:
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
def test_events_of_others_survive_the_restart_of_the_node_that_holds_them(key: str, tmp_path: Path, end: str) -> None:
    """The publisher stops before the third node starts, and the node that received the events restarts in between."""

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
            if end == "killed":  # only the files of a killed node remain
                shutil.copytree(tmp_path / "holder", tmp_path / "left")
        if end == "killed":
            shutil.rmtree(tmp_path / "holder")
            (tmp_path / "left").rename(tmp_path / "holder")
        await asyncio.sleep(1.0)  # one event has expired now
        async with Node(holder) as other, Node(config(key, network=a.network, **how)) as late:
            missed = late.subscribe("n >= 0")
            assert await take(missed, 1) == [2]
            again = other.subscribe("n >= 0", name="x")
            await late.publish("news", {"n": 3}, validity_s=60)
            assert await take(again, 1) == [3]  # and no event that it had before

    run(go())


@pytest.mark.parametrize("before", ["another group", "insecure"])
def test_in_a_new_group_events_of_the_old_one_are_sealed_again_or_dropped(
    key: str, tmp_path: Path, before: str
) -> None:
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
            await other.publish("news", {"n": 2}, b"some content" * 20)
            await until(lambda: other.store.counts().held == 1)
            await until(lambda: other.store.counts().received == 2)
        async with (
            Node(Config(state=str(tmp_path / "holder"), key=key, **how)) as other,
            Node(Config(key=key, **how)) as late,
        ):
            assert other.runner.tally.delivered == 0
            assert len(other.store.received.after(0, 9)) == (0 if before == "insecure" else 2)
            wanted = late.subscribe("n >= 0")
            await other.publish("news", {"n": 3}, validity_s=60)
            got = [await asyncio.wait_for(anext(wanted), PATIENCE_S) for _ in range(2)]
            assert sorted((e.attrs["n"], e.payload) for e in got) == [(2, b"some content" * 20), (3, b"")]  # type: ignore[type-var]
            assert late.runner.tally.drops() == {}

    run(go())


def test_forwarded_events_are_not_forwarded_again(key: str, tmp_path: Path) -> None:
    async def go() -> None:
        a = config(key)
        relay = Config(
            key=key,
            protocol="gossip",
            params={"p": 1.0, "repair": False},
            network=a.network,
            limits=FAST,
            state=str(tmp_path / "relay"),
        )
        async with Node(a) as one:
            async with Node(relay) as other:
                for n in range(3):
                    await one.publish(attrs={"n": n})
                await until(lambda: other.runner.tally.frames_out == 3)
                await until(lambda: other.store.counts().held == 3)
                await asyncio.sleep(
                    0.2
                )  # longer than any delay that a later boot may draw: all frames were sent in this one
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
            async with Node(b) as other:  # no application has subscribed yet, but the named subscription exists
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


def test_an_application_without_results_gets_its_first_event_again_from_position_0(key: str) -> None:
    """The node has stored that the event was handed over; the application was killed before it could write it down."""

    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            killed = other.subscribe("n >= 0", name="careful", after=0)
            await one.publish(attrs={"n": 1})
            assert await take(killed, 1) == [1]
            await one.publish(attrs={"n": 2})
            await until(lambda: other.store.received.end() == 2)
            assert await take(other.subscribe("n >= 0", name="careful", after=0), 2) == [1, 2]
            assert await take(other.subscribe("n >= 0", name="careful", after=1), 1) == [2]

    run(go())


@pytest.mark.parametrize("name", ["", "x"])
@pytest.mark.parametrize("after", [500, 2**70, -(2**70)])
def test_an_unknown_position_stands_for_the_nearest_one(key: str, after: int, name: str) -> None:
    async def go() -> None:
        a, b = pair(key)
        async with Node(a) as one, Node(b) as other:
            first = other.subscribe("n >= 0", name="w")
            await one.publish(attrs={"n": 1})
            assert await take(first, 1) == [1]
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
            async with Node(a) as one:  # it publishes the event again
                await until(lambda: other.status().delivered_before == 1)
                await one.publish(attrs={"n": 2})
                assert await take(wanted, 1) == [2]

    run(go())


def test_the_log_notes_that_a_node_is_back(key: str, tmp_path: Path) -> None:
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
def test_a_subscription_of_an_earlier_boot_does_not_count_as_interest(key: str, tmp_path: Path, end: str) -> None:
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
    measured = metrics(pa.concat_tables(tables).sort_by("t"))
    assert (measured["interested"], measured["deliveries"], measured["parasites"]) == (1, 1, 4)
